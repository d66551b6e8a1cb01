"""All subscribers of a live view, and who gets which part of a diff.

Subscribers that compare the same columns by ``=`` are found by the values of a changed row, in one hash table: what a
diff costs does not depend on how many they are. Other conditions are computed once for all who have the same.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator

from rollview.engine.expressions import Settings
from rollview.errors import named_error
from rollview.live.core import Core
from rollview.live.interning import Words
from rollview.live.net import Change, Net
from rollview.live.serve.condition import Condition, Selection, identities
from rollview.live.serve.diff import PIECE, Diff, selected
from rollview.live.serve.envelopes import filtered
from rollview.live.serve.subscription import Behind, CutOff, Subscription

Value = tuple[int, ...]

#: The columns that are compared by ``=``, and the text of the rest.
Asked = tuple[tuple[int, ...], str]


class _Lane:
    """Subscribers whose conditions compare the same columns, and are the same in the rest."""

    def __init__(self, core: Core, condition: Condition, settings: Settings) -> None:
        self._core, self._columns = core, condition.columns
        self._rest = Selection(core, Condition({}, condition.rest, condition.text), settings)
        self.whole = condition.whole
        self.by_value: dict[Value, list[Subscription]] = {}
        self.progress: list[Subscription] = []

    def add(self, value: Value, subscription: Subscription) -> None:
        self.by_value.setdefault(value, []).append(subscription)
        if subscription.options.progress:
            self.progress.append(subscription)

    def remove(self, value: Value, subscription: Subscription) -> None:
        found = self.by_value[value]
        found.remove(subscription)
        if not found:
            del self.by_value[value]
        if subscription.options.progress:
            self.progress.remove(subscription)

    def all(self) -> list[Subscription]:
        return [subscription for found in list(self.by_value.values()) for subscription in found]

    def parts(self, diff: Diff) -> Iterator[tuple[Subscription, Diff]]:
        """The part of a diff that each subscriber gets; none for those that it does not concern."""
        told: set[int] = set()
        for value, part in self._by_value(diff):
            for subscription in list(self.by_value.get(value, ())):
                told.add(id(subscription))
                yield subscription, part
        left = [each for each in list(self.progress) if id(each) not in told]
        if left:
            nothing = Diff(diff.core, _part(diff, []), diff.before, diff.after)
            yield from ((each, nothing) for each in left)

    def _by_value(self, diff: Diff) -> Iterator[tuple[Value, Diff]]:
        if not self._columns:
            if self.whole:
                yield (), diff
            else:
                part = selected(diff, (filtered(*piece, self._rest.rest(piece[0])) for piece in _pieces(diff)))
                if not part.empty:
                    yield (), part
            return
        if diff.held <= PIECE:
            for value, places in self._hits(diff.change.rows).items():
                yield value, Diff(diff.core, _part(diff, places), diff.before, diff.after)
            return
        nets: dict[Value, Net] = {}
        for rows, weights in _pieces(diff):
            for value, places in self._hits(rows).items():
                nets.setdefault(value, diff.core.net()).add(rows[places], weights[places])
        for value, net in nets.items():
            yield value, Diff(diff.core, net.done(), diff.before, diff.after)

    def _hits(self, rows: Words) -> dict[Value, list[int]]:
        """The values that subscribers wait for, each with the rows that have it and satisfy the rest."""
        values = list(map(tuple, identities(self._core.layout, rows, self._columns).tolist()))
        waited = self.by_value
        hits = [at for at, value in enumerate(values) if value in waited]
        if hits and (kept := self._rest.rest(rows[hits])) is not None:
            hits = [at for at, is_kept in zip(hits, kept.tolist(), strict=True) if is_kept]
        found: dict[Value, list[int]] = {}
        for at in hits:
            found.setdefault(values[at], []).append(at)
        return found


class Subscribers:
    """The subscribers of one live view."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._holding: dict[int, Subscription] = {}  # those that hold up whoever changes the view
        self._all: dict[int, tuple[Subscription, Asked, Value]] = {}
        self._lanes: dict[Asked, _Lane] = {}

    def __len__(self) -> int:
        return len(self._all)

    def add(self, core: Core, subscription: Subscription) -> None:
        """Adds a subscriber; nobody changes the view meanwhile."""
        condition = subscription.options.condition
        asked: Asked = (condition.columns, condition.text if condition.rest else "")
        with core.lock:
            value = Selection(core, Condition(condition.values), self._settings).value or ()
        with self._lock:
            if subscription.ended:  # by another thread, meanwhile
                return
            if asked not in self._lanes:
                self._lanes[asked] = _Lane(core, condition, self._settings)
            self._lanes[asked].add(value, subscription)
            self._all[id(subscription)] = subscription, asked, value
            if subscription.options.behind is Behind.HOLD:
                self._holding[id(subscription)] = subscription

    def remove(self, subscription: Subscription) -> None:
        """Removes a subscriber, if it is still there."""
        with self._lock:
            self._holding.pop(id(subscription), None)
            if (found := self._all.pop(id(subscription), None)) is not None:
                _, asked, value = found
                self._lanes[asked].remove(value, subscription)
                if not self._lanes[asked].by_value:
                    del self._lanes[asked]

    def move(self, core: Core) -> None:
        """The view has another core now."""
        with self._lock:
            found = [subscription for subscription, _, _ in self._all.values()]
            self._all, self._lanes = {}, {}
        for subscription in found:
            self.add(core, subscription)

    def all(self) -> list[Subscription]:
        with self._lock:
            return [subscription for subscription, _, _ in self._all.values()]

    def check_reader(self) -> None:
        """Raises UserError if a change of the view would wait for the thread that makes it."""
        for subscription in list(self._holding.values()) if self._holding else ():
            subscription.check_reader()

    def deliver(self, diff: Diff) -> None:
        """Offers each subscriber its part of a diff. Those who cannot get theirs end with the reason."""
        try:
            self._deliver(diff)
        except BaseException:  # Ctrl-C: it is not known who has got it
            for subscription in self.all():
                subscription.end(CutOff(subscription.token, "a diff was interrupted while it was handed out"))
            raise

    def _deliver(self, diff: Diff) -> None:
        with self._lock:
            lanes = list(self._lanes.values())
        for lane in lanes:
            try:
                with diff.core.lock:
                    parts = list(lane.parts(diff))
            except Exception as error:  # a condition that fails over some row, or no room for the part
                for subscription in lane.all():
                    subscription.end(_failed(error))
                continue
            for subscription, part in parts:
                try:
                    subscription.offer(part)
                except Exception as error:  # no room for what is waiting
                    subscription.end(_failed(error))

    def numbers(self) -> set[int] | None:
        """The numbers of interned values that are still needed: by diffs that are waiting, and by conditions. None if
        that cannot be told, because a diff is in files."""
        with self._lock:
            found = {number for lane in self._lanes.values() for value in lane.by_value for number in value}
        for subscription in self.all():
            for diff in subscription.diffs():
                if not diff.in_memory:
                    return None
                found |= diff.numbers()
        return found


def _failed(error: Exception) -> Exception:
    return named_error("A subscriber could not be told of a diff", error)


def _part(diff: Diff, places: list[int]) -> Change:
    """Some rows of a diff in memory."""
    return Change([(diff.change.rows[places], diff.change.weights[places])], diff.change.key)


def _pieces(diff: Diff) -> Iterator[tuple[Words, Words]]:
    return diff.change.pieces(PIECE)
