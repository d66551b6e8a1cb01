"""The state of a live view: its core, where it stands, and its subscribers; how it moves, and what it was before.

One thread at a time moves it: it changes the core, and then hands the diff to the subscribers, so that each gets all
diffs in order. Those who read the core wait only while it is changed.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping

import pyarrow as pa

from rollview.errors import RollviewError, UserError
from rollview.limits import Limits
from rollview.live import memory
from rollview.live.core import Core, moved
from rollview.live.definition import Definition
from rollview.live.follow.source import Source, Step, Vector, load, now
from rollview.live.graph.protocol import LookAhead
from rollview.live.interning import Words
from rollview.live.serve.condition import NOWHERE, Condition, Selection, start_of
from rollview.live.serve.diff import PIECE, Diff, selected
from rollview.live.serve.envelopes import filtered
from rollview.live.serve.subscribers import Subscribers
from rollview.live.serve.subscription import Subscription
from rollview.live.serve.token import Place

#: Interned values are swept when there are twice as many as after the last time, and at least so many.
_SWEEP = 10_000

#: The memory that is left is looked at after changes of so many bytes.
_CHECKED_BYTES = 16_000_000


class _Moving:
    """The turn of the thread that moves a view, as a block."""

    def __init__(self, turn: threading.Lock) -> None:
        self._turn = turn
        self._mover: int | None = None

    def __enter__(self) -> None:
        me = threading.get_ident()
        if self._mover == me:
            raise UserError(
                "A subscriber cannot change the live view that calls it",
                why="each diff is handed to all subscribers before the next one is made",
                todo="put the change into a queue that another thread works off",
            )
        self._turn.acquire()
        self._mover = me

    def __exit__(self, *error: object) -> None:
        self._mover = None
        self._turn.release()


class State:
    """The state of one live view. ``push`` says whether diffs are computed."""

    def __init__(
        self, definition: Definition, source: Source, limits: Limits, *, push: bool, look_ahead: LookAhead
    ) -> None:
        self.definition, self.source, self.limits = definition, source, limits
        self._push, self._look_ahead = push, look_ahead
        self.subscribers = Subscribers(definition.settings)
        self._turn = threading.Lock()
        self._moving = _Moving(self._turn)
        self._swept = _SWEEP
        self._unchecked = 0
        self._by_key = False
        self.ended = False
        self.error: RollviewError | None = None
        self._row_bytes = memory.row_bytes(self._empty())
        vector = source.newest()
        self.counts = source.counts(vector)
        self.estimate = sum(count * self._row_bytes[table] for table, count in self.counts.items())
        memory.check(definition.title, self.estimate, limits)
        self.core = self._loaded(vector)
        self.place = Place(vector, 0, 0, now())

    @property
    def push(self) -> bool:
        return self._push

    def end(self, error: RollviewError | None) -> None:
        """Ends all subscriptions: the view is closed, or, with an error, cannot be what it was any more."""
        self.ended, self.error = True, error
        for subscription in self.subscribers.all():
            subscription.end(error)

    def subscribe(self, subscription: Subscription) -> None:
        """Adds a subscriber; inside of ``moving``."""
        self.subscribers.add(self.core, subscription)
        if self.ended:  # by another thread, meanwhile
            subscription.end(self.error)

    def nothing(self) -> Diff:
        """The diff from where the view stands to there."""
        return Diff(self.core, self.core.net().done(), self.place, self.place)

    def _empty(self) -> Core:
        core = Core(
            self.definition.shape,
            self.definition.settings,
            push=self._push,
            look_ahead=self._look_ahead,
            rows_in_memory=self.limits.live_rows_in_memory,
        )
        if self._by_key and self.definition.key is not None:
            core.put_together(self.definition.key)
        return core

    def _loaded(self, vector: Vector) -> Core:
        """A core with the rows of the tables at a vector."""
        core = self._empty()
        core.expect(self.counts)
        for _ in load(core, self.source.rows(vector)):
            memory.check(self.definition.title, core.bytes, self.limits, core.bytes)
        memory.check(self.definition.title, core.bytes, self.limits, core.bytes)  # with its groups
        return core

    def moving(self) -> _Moving:
        """Inside the block, no other thread moves the view."""
        return self._moving

    def take(self, step: Step, *, given: bool = False) -> Diff:
        """Moves the view by a step, which may be ``given`` by hand. The diff is not delivered yet. If it fails, nothing
        is changed."""
        self.subscribers.check_reader()
        core = self.core
        with core.lock:
            self._check_room(step.changes)
            change = core.apply(step.changes)
            before = self.place
            self.place = Place(step.vector, before.given + given, before.number + 1, step.time)
            return Diff(core, change, before, self.place)

    def _check_room(self, changes: Mapping[str, pa.Table]) -> None:
        """Raises TooLarge if there is no room for changed rows. Small changes are looked at together."""
        for table, rows in changes.items():
            self._unchecked += rows.num_rows * self._row_bytes[table]
        if self._unchecked > min(_CHECKED_BYTES, self.limits.live_bytes // 10):
            held = self.core.bytes
            memory.check(self.definition.title, held + self._unchecked, self.limits, held)
            self._unchecked = 0

    def deliver(self, diff: Diff) -> None:
        """Hands a diff to the subscribers, and forgets values that nobody has any more."""
        self.subscribers.deliver(diff)
        self._sweep()

    def tidy(self) -> None:
        """Forgets values that were only looked up, if there are many, and nobody moves the view just now."""
        if len(self.core.interner) > 2 * self._swept and self._turn.acquire(blocking=False):
            try:
                self._sweep()
            finally:
                self._turn.release()

    def _sweep(self) -> None:
        if len(self.core.interner) > 2 * self._swept and (needed := self.subscribers.numbers()) is not None:
            with self.core.lock:
                self.core.sweep(needed)
            self._swept = max(len(self.core.interner), _SWEEP)

    def rebuild(self) -> Diff:
        """Makes the core again, at the newest versions; the diff is what that changes."""
        old, before, vector = self.core, self.place, self.source.newest()
        core = self._loaded(vector)
        net = core.net()
        if self._push and len(self.subscribers):
            with old.lock:
                for rows, weights in old.rows():
                    net.add(moved(old, rows, core), -weights)
            for rows, weights in core.rows():
                net.add(rows, weights)
        with old.lock:
            self.core, self.place = core, Place(vector, 0, before.number + 1, now())
        self.subscribers.move(core)
        return Diff(core, net.done(), before, self.place)

    def put_together(self) -> None:
        """From now on, the rows of a diff that have the same key are side by side."""
        if not self._by_key and self.definition.key is not None:
            self._by_key = True
            self.core.put_together(self.definition.key)

    @contextlib.contextmanager
    def reading(self) -> Iterator[Core]:
        """The core; it is not changed inside the block."""
        while True:
            core = self.core
            with core.lock:
                if core is self.core:  # it may have been made again meanwhile
                    yield core
                    return

    def selection(self, condition: Condition) -> Selection:
        return Selection(self.core, condition, self.definition.settings)

    def rows(self, condition: Condition) -> Iterator[tuple[Words, Words]]:
        """The rows that satisfy a condition with the numbers of their copies; the core is not changed meanwhile."""
        core = self.core
        selection, start = self.selection(condition), start_of(core, condition)
        for rows, weights in core.rows(start) if start is not NOWHERE else ():
            yield filtered(rows, weights, selection.kept(rows))

    def snapshot(self, condition: Condition) -> Diff:
        """The rows that satisfy a condition, as the diff from nothing."""
        with self.reading() as core:
            net = core.net()
            for rows, weights in self.rows(condition):
                net.add(rows, weights)
            return Diff(core, net.done(), self.place._replace(before_all=True), self.place, snapshot=True)

    def since(self, vector: Vector, condition: Condition) -> Diff:
        """The exact net change from another vector to where the view stands: it goes there and comes back."""
        back = self.source.between(self.place.vector, vector)
        forth = self.source.between(vector, self.place.vector)
        core, here = self.core, self.place
        there = Place(vector, 0, here.number, here.time)
        with core.lock:
            self._check_room(back)
            core.apply(back)
            change = core.apply(forth)  # the inverse of a change that was possible
            diff = Diff(core, change, there, here)
            if condition.whole:
                return diff
            selection = self.selection(condition)
            pieces = diff.change.pieces(PIECE)
            return selected(diff, (filtered(rows, weights, selection.kept(rows)) for rows, weights in pieces))
