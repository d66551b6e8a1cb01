"""A live view: what a user calls.

``rv.live("v")`` makes one. It holds a join graph in memory, answers look-ups from it, and tells its subscribers what
each commit of the base tables does to the view.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa

from rollview.engine.protocol import Engine
from rollview.errors import UserError
from rollview.limits import Limits
from rollview.live.definition import Definition
from rollview.live.explain import explained
from rollview.live.follow.follower import Follower, poll
from rollview.live.follow.source import Source, Step, now
from rollview.live.given import Given
from rollview.live.graph.protocol import LookAhead
from rollview.live.serve.callbacks import Callback, Callbacks, Direct, OnEnd
from rollview.live.serve.condition import Where, condition
from rollview.live.serve.diff import Diff, Form
from rollview.live.serve.envelopes import Envelope, check
from rollview.live.serve.options import at_least_one, check_function, chosen, seconds
from rollview.live.serve.subscription import Behind, Options, Subscription
from rollview.live.serve.token import vector_in
from rollview.live.state import State


class Live:
    """A live view. Its methods may be called from several threads."""

    def __init__(
        self,
        definition: Definition,
        source: Source,
        engine: Engine,
        limits: Limits,
        *,
        push: bool = True,
        look_ahead: LookAhead = LookAhead.GLOBAL,
    ) -> None:
        self._definition, self._engine, self._limits = definition, engine, limits
        self._made: State | None = State(definition, source, limits, push=push, look_ahead=look_ahead)
        self._callbacks = Callbacks(limits.live_callbacks)
        self._follower: Follower | None = None
        self._given = Given(definition.shape)

    @property
    def _state(self) -> State:
        if self._made is None:
            raise UserError("This live view is closed", todo="make another one: rv.live(…)")
        if self._made.error is not None:
            raise self._made.error
        return self._made

    @property
    def columns(self) -> dict[str, str]:
        """The names and types of the view's columns."""
        return dict(zip(self._definition.labels, self._definition.types, strict=True))

    @property
    def key(self) -> tuple[str, ...] | None:
        """The columns that tell the rows apart: none if there is one row at most, None if no columns do."""
        key = self._definition.key
        return None if key is None else tuple(self._definition.labels[place] for place in key)

    @property
    def vector(self) -> dict[str, int | None]:
        """The versions of the base tables that the view shows."""
        return {table: identity.version for table, identity in self._state.place.vector.items()}

    @property
    def token(self) -> str:
        """Where the view stands: a subscription can begin there, with ``since``."""
        return self._state.place.token(self._definition.fingerprint)

    @property
    def error(self) -> Exception | None:
        """Why the view does not follow its tables at the moment; None if it does."""
        return self._follower.error if self._follower is not None else None

    def table(self, where: Where = None) -> pa.Table:
        """The view's rows, or those that satisfy a condition: SQL over its columns, or a dict of values of columns.

        If the condition gives a join key or the keys of a group by ``=``, only their rows are visited."""
        state = self._state
        asked = condition(self._definition.shape, self._definition.settings, where, self._definition.title)
        labels = list(self._definition.labels)
        with state.reading() as core:
            parts = []
            for rows, weights in state.rows(asked):
                copied = rows if (weights == 1).all() else np.repeat(rows, weights, axis=0)
                parts.append(pa.Table.from_arrays(core.layout.arrays(copied, core.interner), names=labels))
            if not parts:
                nothing = np.zeros((0, core.layout.width), dtype=np.int64)
                parts = [pa.Table.from_arrays(core.layout.arrays(nothing, core.interner), names=labels)]
        state.tidy()
        return pa.concat_tables(parts)

    def get(self, where: Mapping[str, Any] | None = None, /, **values: Any) -> list[dict[str, Any]]:
        """The rows that have these values in these columns, as dicts: ``live.get(city="Oslo")``. NULL is None."""
        if where is not None and not isinstance(where, Mapping):
            raise UserError("get takes values of columns", todo="live.table(where=…) takes a condition")
        rows: list[dict[str, Any]] = self.table({**(where or {}), **values}).to_pylist()
        return rows

    def explain(self) -> str:
        """What the join graph is made of, what it holds and takes, and how rows are found, as text."""
        return explained(self._state)

    def apply(self, changes: Mapping[str, pa.Table]) -> int:
        """Changes base tables by weighted rows: tables of Arrow with the columns that the view reads and ``__w``, how
        many copies come (or, if negative, go). Returns the number of rows of the diff that subscribers get.

        A live view is changed in this way, or it follows its store, not both."""
        state = self._state
        if self._follower is not None:
            raise UserError(
                "This live view follows its store",
                todo="commit the change to the table; or make a live view of its own",
            )
        if not isinstance(changes, Mapping):
            raise UserError("apply takes a dict of tables: live.apply({'t': arrow_table})")
        given = {table: self._given.checked(table, rows) for table, rows in changes.items()}
        with state.moving():
            diff = state.take(Step(given, state.place.vector, now()), given=True)
            state.deliver(diff)
        return diff.rows

    def poll(self, *, at_once: bool = False) -> int:
        """Takes over what was committed to the base tables, commit by commit or all ``at_once``; the number of
        diffs."""
        state = self._followed()
        with self._engine.beside():
            return poll(state, at_once=at_once)

    def follow(self, every: float = 0.05, *, at_once: bool = False, background: bool = True) -> Live:
        """Takes over every commit, looking for new ones ``every`` so many seconds: in a thread, or, without
        ``background``, here, until another thread closes the view."""
        state = self._followed()
        if self._follower is not None and self._follower.running:
            raise UserError("This live view follows its store already", todo="live.stop() ends that")
        pause, longest = seconds(every, "every"), self._limits.live_pause_seconds
        self._follower = Follower(state, self._engine, pause, longest, at_once=at_once)
        if background:
            self._follower.start()
        else:
            self._follower.run()
            if self._made is not None and self._made.error is not None:
                raise self._made.error
        return self

    def _followed(self) -> State:
        if self._state.place.given:
            raise UserError(
                "This live view has changes that are not in its store", todo="make another one to follow the store"
            )
        return self._state

    def stop(self) -> None:
        """Ends what ``follow`` has begun; the view stays as it is."""
        if self._follower is not None:
            self._follower.stop()
            self._follower = None

    def changes(
        self,
        *,
        where: Where = None,
        snapshot: bool = False,
        since: str | None = None,
        progress: bool = False,
        envelope: str = "weights",
        when_behind: str = "merge",
        batch_rows: int | None = None,
        waiting: int | None = None,
    ) -> Subscription:
        """A subscription: iterate over it, with ``for`` or ``async for``, to get each diff as batches.

        It begins with the rows that there are (``snapshot``), with the exact change since a ``token`` (``since``), or
        with the next diff. ``where`` selects a part of the view; ``progress`` asks for diffs without rows, too, which
        tell how far the view is. ``envelope`` is 'weights', 'changes' or 'upsert'. If more than ``waiting`` diffs wait,
        they are merged, the subscription is cut off, or the source is held up (``when_behind``: 'merge', 'cut',
        'hold')."""
        state = self._subscribed()
        options = self._options(where, progress, envelope, when_behind, batch_rows, waiting)
        with state.moving():
            first = self._first(options, snapshot=snapshot, since=since)
            subscription = Subscription(options, first, state.subscribers.remove)
            state.subscribe(subscription)
        return subscription

    def subscribe(
        self,
        callback: Callback,
        *,
        where: Where = None,
        snapshot: bool = False,
        since: str | None = None,
        progress: bool = False,
        envelope: str = "weights",
        when_behind: str = "merge",
        batch_rows: int | None = None,
        waiting: int | None = None,
        on_end: OnEnd | None = None,
    ) -> Subscription:
        """Calls a function with each batch; the options are those of ``changes``.

        With ``when_behind='hold'``, it is called by the thread that changes the view, which waits for it; otherwise by
        another one. If it raises an error, its subscription ends, and ``on_end`` is called with the error; the others
        go on."""
        state = self._subscribed()
        check_function(callback, "The callback")
        options = self._options(where, progress, envelope, when_behind, batch_rows, waiting)
        with state.moving():
            first = self._first(options, snapshot=snapshot, since=since)
            if options.behind is Behind.HOLD:
                direct = Direct(options, first, state.subscribers.remove, callback, on_end)
                state.subscribe(direct)
                direct.drain()
                return direct
            subscription = Subscription(options, first, state.subscribers.remove)
            state.subscribe(subscription)
        self._callbacks.serve(subscription, callback, on_end)
        return subscription

    def _subscribed(self) -> State:
        state = self._state
        if not state.push:
            raise UserError(
                "This live view has no diffs",
                why="it was made with push=False: only the graph is kept",
                todo="rv.live(…, push=True)",
            )
        return state

    def _options(
        self, where: Where, progress: bool, envelope: str, behind: str, batch_rows: int | None, waiting: int | None
    ) -> Options:
        definition, limits = self._definition, self._limits
        form = chosen(Envelope, envelope, "envelope")
        check(form, definition.key, definition.title)
        asked = condition(definition.shape, definition.settings, where, definition.title)
        most = at_least_one(batch_rows, "batch_rows", limits.live_batch_rows)
        made = Form(form, definition.key, definition.labels, most, definition.fingerprint)
        queue = at_least_one(waiting, "waiting", limits.live_waiting)
        return Options(asked, made, chosen(Behind, behind, "when_behind"), progress, queue, limits.live_waiting_rows)

    def _first(self, options: Options, *, snapshot: bool, since: str | None) -> Diff:
        """What a subscription begins with."""
        state = self._state
        if snapshot and since is not None:
            raise UserError("snapshot and since exclude each other", todo="give one of them")
        if options.form.envelope is not Envelope.WEIGHTS:
            state.put_together()
        if snapshot:
            return state.snapshot(options.condition)
        if since is None:
            return state.nothing()
        definition = self._definition
        vector = vector_in(since, state.place, definition.fingerprint, definition.title)
        if vector is None:
            return state.snapshot(options.condition)
        if vector == state.place.vector:
            return state.nothing()
        with self._engine.beside():
            return state.since(vector, options.condition)

    def close(self) -> None:
        """Ends the live view and its subscriptions, and frees its memory."""
        state, self._made = self._made, None
        if state is not None:
            state.end(None)
            self.stop()

    def __enter__(self) -> Live:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
