"""Refreshing and dropping views.

vector → changes → Δ-script → one write            or, where that cannot be, the whole query → one write
"""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from rollview.compile.script import AGGREGATE_MERGE, APPEND, has_one_value_each, refresh_script
from rollview.compile.view import TIME_DEPENDENT
from rollview.delta.weights import WEIGHT
from rollview.engine.protocol import Kept
from rollview.errors import (
    ColumnNotFound,
    Conflict,
    InternalError,
    InUse,
    NotIncremental,
    SchemaChanged,
    SqlError,
    TableNotFound,
    TooLargeToSend,
    VersionGone,
)
from rollview.parse.names import quote
from rollview.parse.view_statements import Policy
from rollview.plan.building import BaseTable
from rollview.plan.nodes import Node, Scan
from rollview.refresh.defining import Compiled, base_of, compiled_view, defined, is_ours, write_whole
from rollview.refresh.helping import drop_helpers, with_new_helpers, without_lost
from rollview.refresh.relations import changes_of, check_columns, few_changes_of, newest, query_at, size
from rollview.refresh.results import FULL, INEXACT, NO_OP, REASONS, RefreshResult, ViewStatus
from rollview.refresh.steps import Running
from rollview.refresh.views import Catalog, Reflected, View, stamp_metadata
from rollview.store.protocol import Identity, Stamp

_TRIES = 5

#: Up to so many changed rows of a table are read in this process.
_FEW = 1_000_000

#: Up to so many changed rows are followed, whatever part of the tables they are.
_NEVER_TOO_MUCH = 100_000

#: To follow a changed row takes about as long as so many rows of a recomputation: new rows are just written, groups are
#: few, and other rows have to be found first. See docs/benchmarks.md.
_COSTS = {APPEND: 1, AGGREGATE_MERGE: 10}
_MOST_COSTLY = 25


def refresh_view(
    catalog: Catalog, name: str, *, full: bool = False, fixed: Mapping[str, Identity] | None = None
) -> RefreshResult:
    """Brings a view to the newest versions of its base tables, or to those that are ``fixed``."""
    begin = time.monotonic()
    for _ in range(_TRIES):
        view = without_lost(catalog, catalog.get(name))
        before = catalog.reflected(view)
        helped: list[RefreshResult] = []
        target = _target(catalog, view, before, fixed or {}, full, helped)
        if target is None:  # then it is not the first to go there
            fixed = None
            continue
        if before.vector == target and not full and view.always_full != TIME_DEPENDENT:
            versions = view.shown(before.vector)
            return RefreshResult(name, NO_OP, None, versions, versions, 0, 0, time.monotonic() - begin)
        with catalog.engine.settings(view.settings):
            done = _refreshed(catalog, view, before, target, full)
        if done is not None:
            was, now = view.shown(before.vector), view.shown(target)
            seconds = time.monotonic() - begin
            read = done.read + sum(result.rows_read for result in helped)
            written = done.written + sum(result.rows_written for result in helped)
            strategy, reason = _strategy_of_all(done, helped)
            return RefreshResult(name, strategy, reason, was, now, read, written, seconds)
    raise Conflict(
        f"{catalog.get(name).title} was refreshed or replaced by other sessions {_TRIES} times meanwhile",
        todo="try again",
    )


def _strategy_of_all(done: _Done, helped: Sequence[RefreshResult]) -> tuple[str, str | None]:
    """How a view was refreshed with its helpers: recomputed if one of them was; nothing was done if all agree."""
    each = [(done.strategy, done.reason), *((result.strategy, result.reason) for result in helped)]
    whole = [(strategy, reason) for strategy, reason in each if strategy == FULL]
    some = [(strategy, reason) for strategy, reason in each if strategy != NO_OP]
    return next(iter(whole or some or each))


def _target(
    catalog: Catalog,
    view: View,
    before: Reflected,
    fixed: Mapping[str, Identity],
    full: bool,
    helped: list[RefreshResult],
) -> dict[str, Identity] | None:
    """Where a refresh goes, with the helpers brought there; None if another session has brought one further. What was
    done to the helpers is added to ``helped``. A view does not go back: what it shows already is not fixed any more.
    """
    target = newest(catalog, view, fixed)
    for table, shown in before.vector.items():
        if table in target and target[table].table_id == shown.table_id and target[table].version < shown.version:
            target[table] = shown
    for helper in view.helpers:
        helped.append(refresh_view(catalog, helper.name, full=full, fixed=target))
    for helper in view.helpers:  # some of them read others
        reached = catalog.identity(helper.name)
        vector = catalog.reflected(catalog.get(helper.name)).vector
        if any(vector[table] != target[table] for table in helper.tables) or catalog.identity(helper.name) != reached:
            return None
        target[helper.name] = reached
    return target


class _TooMuch(Exception):
    """So many rows have changed that a recomputation costs less."""


@dataclass(frozen=True)
class _Done:
    strategy: str
    reason: str | None
    read: int
    written: int


def _refreshed(
    catalog: Catalog, view: View, before: Reflected, target: Mapping[str, Identity], full: bool
) -> _Done | None:
    """One attempt; None if another session's commit came first."""
    reason = why_full(catalog, view, before, target, full)
    if reason is None:
        try:
            try:
                return _followed(catalog, view, before, target)
            except TooLargeToSend:  # a few changed rows have very many partners
                return _followed(catalog, view, before, target, sending=False)
        except VersionGone:
            reason = "history_gone"
        except _TooMuch:
            reason = "too_much_changed"
        except InternalError as error:
            raise InternalError(
                f"{view.title} could not be refreshed incrementally; it is as it was",
                why=error.why or str(error),
                todo=f"REFRESH MATERIALIZED VIEW {quote(view.title)} FULL recomputes it; please report the query",
            ) from error
    if view.policy is Policy.STRICT and not full:
        raise NotIncremental(
            f"{view.title} cannot be refreshed incrementally now",
            why=f"{reason}: {REASONS[reason]}; its policy is INCREMENTAL STRICT, so nothing was done",
            todo=f"REFRESH MATERIALIZED VIEW {quote(view.title)} FULL recomputes it",
        )
    return _recomputed(catalog, view, before, target, reason)


def why_full(catalog: Catalog, view: View, before: Reflected, target: Mapping[str, Identity], full: bool) -> str | None:
    """The reason why a refresh has to recompute the view; None if it need not."""
    if full:
        return "requested"
    if view.policy is Policy.FULL:
        return "policy"
    if view.always_full is not None:
        return view.always_full
    if any(t not in before.vector or before.vector[t].table_id != i.table_id for t, i in target.items()):
        return "table_replaced"
    if any(base_of(catalog, table).key != base.key for table, base in view.bases.items()):
        return "key_changed"
    state = compiled_view(catalog, view).state
    if state is None or (state.columns, state.on, state.show) != (
        view.layout.columns,
        view.layout.on,
        view.layout.show,
    ):
        return "layout_changed"
    return None if has_one_value_each(state) else "layout_changed"


def _recomputed(
    catalog: Catalog, view: View, before: Reflected, target: Mapping[str, Identity], reason: str
) -> _Done | None:
    """The whole query, over the tables as they look now."""
    old = view
    anew = reason in ("table_replaced", "key_changed", "layout_changed")
    if anew:
        view = _over_tables_now(catalog, view)
    with _schema_errors(view):
        frame = query_at(catalog, view, target)
        with catalog.engine.errors(view.query):
            columns = catalog.engine.columns(frame)
    _check_same_columns(view, columns)
    view, rows = defined(catalog, view, target, frame)
    if anew and view.always_full == INEXACT:
        view, rows, target = with_new_helpers(catalog, view, target)
    commit = write_whole(catalog, view, rows, target, before.sequence + 1, old)
    lost, kept = (view, old) if commit is None else (old, view)
    drop_helpers(catalog, [helper for helper in lost.helpers if helper not in kept.helpers])
    return None if commit is None else _Done(FULL, reason, size(catalog, target), commit.rows or 0)


def _over_tables_now(catalog: Catalog, view: View) -> View:
    """The view over tables that were made anew: of the columns that it knew those that are there, and the keys."""
    bases = {}
    for table, base in view.bases.items():
        now = base_of(catalog, table)
        kinds = {name.casefold(): kind for name, kind in now.columns}
        there = tuple((name, kinds[name.casefold()]) for name, _ in base.columns if name.casefold() in kinds)
        bases[table] = BaseTable(table, there, now.key)
    return replace(view, bases=bases)


def _followed(
    catalog: Catalog, view: View, before: Reflected, target: Mapping[str, Identity], *, sending: bool = True
) -> _Done | None:
    """The changes of the base tables, carried through the view's Δ-script. ``sending``: as in ``Running``."""
    compiled = compiled_view(catalog, view)
    assert compiled.state is not None
    kept: list[Kept] = []
    try:
        changes = _changes(catalog, view, compiled, before, target, kept)
        read = sum(change.rows for change in changes.values())
        growing = {table for table, change in changes.items() if _only_adds(catalog, change)}
        script = refresh_script(compiled.state, changes, growing) if changes else None
        if script is not None and view.policy is Policy.AUTO and _too_much(read, script.strategy, catalog, target):
            raise _TooMuch
        sequence = before.sequence + 1
        strategy = NO_OP if script is None else script.strategy
        stamp = Stamp(stamp_metadata(target, sequence, strategy, uuid.uuid4().hex), view.id, sequence)
        state = catalog.state(view.name)
        with catalog.engine.errors(view.query):
            versions = {table: identity.version for table, identity in target.items()}
            run = Running(catalog, view, changes, before.versions(), versions, kept, sending=sending)
            rows = None if script is None else run.rows(script)
            if script is None or rows is None:  # the commit says how far the view has come
                commit = catalog.store.append(state, catalog.engine.nothing(catalog.store.read(state)), stamp=stamp)
            elif script.append:
                commit = catalog.store.append(state, rows, stamp=stamp)
            else:
                dialect = catalog.engine.dialect
                combine = {column: value.sql(dialect) for column, value in script.combine.items()}
                gone = None if script.gone is None else script.gone.sql(dialect)
                commit = catalog.store.merge(
                    state, rows, view.layout.on, combine=combine, gone=gone, copies=script.copies, stamp=stamp
                )
        return _Done(strategy, None, read, commit.rows or 0) if is_ours(commit, stamp) else None
    finally:
        catalog.engine.forget(kept)


def _too_much(changed: int, strategy: str, catalog: Catalog, target: Mapping[str, Identity]) -> bool:
    cost = changed * _COSTS.get(strategy, _MOST_COSTLY)
    return changed > _NEVER_TOO_MUCH and cost > size(catalog, target)


def _changes(
    catalog: Catalog,
    view: View,
    compiled: Compiled,
    before: Reflected,
    target: Mapping[str, Identity],
    kept: list[Kept],
) -> dict[str, Kept]:
    """The net changes of the tables that changed in the columns that the view uses."""
    assert compiled.state is not None
    found = {}
    read = {node.table for node in compiled.state.root.walk() if isinstance(node, Scan)}
    for table, base in view.bases.items():
        if table not in read:  # whole partitions of a window: no change goes on from there
            continue
        after, upto = before.vector[table].version, target[table].version
        if after != upto:
            used = _used(compiled.state.root, base.name, [name for name, _ in base.columns])
            check_columns(catalog, base, used, upto)
            with _unreadable_feed(base):
                change = few_changes_of(catalog, base, used, after, upto, _FEW) or catalog.engine.keep(
                    changes_of(catalog, base, used, after, upto)
                )
            kept.append(change)
            if change.rows:
                found[table] = change
    return found


@contextlib.contextmanager
def _unreadable_feed(base: BaseTable) -> Iterator[None]:
    """The columns that the view uses are as they were: a feed that a change of others makes unreadable is gone."""
    try:
        yield
    except SchemaChanged as error:
        raise VersionGone(f"The changes of {base.name} cannot be read", why=error.what) from error


def _used(plan: Node, table: str, order: list[str]) -> list[str]:
    """The columns of a table that a plan reads; at least one."""
    scans = [node for node in plan.walk() if isinstance(node, Scan) and node.table == table]
    names = {source for scan in scans for source in scan.sources}
    return [name for name in order if name in names] or order[:1]


def _only_adds(catalog: Catalog, change: Kept) -> bool:
    if change.local is not None:
        return all(weight > 0 for weight in change.local.column(WEIGHT.label).to_pylist())
    return catalog.engine.is_empty(change.frame, f"{WEIGHT.label} < 0")


@contextlib.contextmanager
def _schema_errors(view: View) -> Iterator[None]:
    """A query that was right when the view was made and is not any more: a base table has changed its shape."""
    try:
        yield
    except (SqlError, ColumnNotFound) as error:
        raise SchemaChanged(
            f"The query of {view.title} no longer fits its base tables: {error.what}",
            where=None if view.owner else error.where,
            why=error.why or "a base table was replaced by one with another schema; the view is as it was",
            todo="bring the column back, or define the view anew with CREATE OR REPLACE MATERIALIZED VIEW",
        ) from error


def _check_same_columns(view: View, now: list[tuple[str, str]]) -> None:
    was = [(column.name, column.type) for column in view.columns]
    if now == was:
        return
    differing = [
        f"{a[0]} was {a[1].upper()} and is {b[1].upper()}" if a[0] == b[0] else f"{a[0]} is now {b[0]}"
        for a, b in zip(was, now, strict=False)
        if a != b
    ]
    if len(now) != len(was):
        differing.append(f"there were {len(was)} columns and there are {len(now)}")
    raise SchemaChanged(
        f"The columns of {view.title} would change: {'; '.join(differing)}",
        why="a base table was replaced by one with another schema; the view is as it was",
        todo="define the view anew with CREATE OR REPLACE MATERIALIZED VIEW",
    )


def drop_view(catalog: Catalog, name: str) -> None:
    """Drops a view that no other view reads."""
    view = catalog.get(name)
    if readers := catalog.readers(name):
        raise InUse(
            f"{name} cannot be dropped",
            why=f"{', '.join(readers)} read it",
            todo="drop these first: " + "; ".join(f"DROP MATERIALIZED VIEW {quote(r)}" for r in readers),
        )
    catalog.store.unpublish_view(name)
    catalog.store.drop(catalog.state(name))
    drop_helpers(catalog, view.helpers)


def status(catalog: Catalog, view: View) -> ViewStatus:
    """How fresh a view is."""
    reflected = catalog.reflected(view)
    behind: dict[str, int | None] = {}
    for table in view.tables:
        shown = reflected.vector[table]
        try:
            now = catalog.identity(table)
        except TableNotFound:
            behind[table] = None
            continue
        if now.table_id != shown.table_id:
            behind[table] = None
        elif now.version != shown.version:
            behind[table] = now.version - shown.version
    return ViewStatus(
        view.name,
        view.policy.value,
        view.shown(reflected.vector),
        behind,
        reflected.time,
        reflected.strategy,
        view.comment,
    )
