"""Refreshing and dropping views.

vector → changes → Δ-script → one write            or, where that cannot be, the whole query → one write
"""

from __future__ import annotations

import contextlib
import functools
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rollview.codegen.printer import printed
from rollview.engine.protocol import Kept
from rollview.errors import (
    Conflict,
    Damaged,
    InternalError,
    InUse,
    NotIncremental,
    SchemaChanged,
    TooLargeToSend,
    VersionGone,
)
from rollview.frontend.query import TIME_DEPENDENT
from rollview.frontend.sql import BaseTable
from rollview.parse.names import quote
from rollview.parse.views import Policy
from rollview.plan.nodes import Node, Scan
from rollview.plan.reserved import WEIGHT
from rollview.refresh.execute import Running, TooManyRows
from rollview.refresh.repair import repaired
from rollview.store.edits import Append, TakeCopies, Upsert
from rollview.store.protocol import Identity, Stamp
from rollview.strategy.script import AGGREGATE_MERGE, APPEND, has_one_value_each
from rollview.views.catalog import Catalog, Reflected, stamp_metadata
from rollview.views.define import Compiled, base_of, compiled_view, defined, is_ours, not_understood, write_whole
from rollview.views.definition import View
from rollview.views.freshness import Freshness
from rollview.views.helpers import drop_helpers, helpers_of, with_new_helpers, without_lost
from rollview.views.relation import changes_of, check_columns, few_changes_of, newest, query_at, size
from rollview.views.results import FULL, INEXACT, NO_OP, REASONS, RefreshResult, ViewStatus, since
from rollview.views.shape import check_same_columns, over_tables_now, schema_errors


def refresh_view(
    catalog: Catalog,
    name: str,
    *,
    full: bool = False,
    fixed: Mapping[str, Identity] | None = None,
    freshness: Freshness | None = None,
) -> RefreshResult:
    """Brings a view to the newest versions of its base tables, or to those that are ``fixed``. ``freshness`` is what is
    known already of the views upstream. Raises Damaged if the view's definition or vector cannot be read, unless it is
    refreshed in ``full``: then it is stored again."""
    begin = time.monotonic()
    freshness = freshness or Freshness(catalog, fixed)
    if full and catalog.has(name) and (damage := catalog.damage(name)) is not None:
        return repaired(catalog, name, damage, fixed or {})
    attempts = catalog.limits.refresh_attempts
    for _ in range(attempts):
        view = without_lost(catalog, catalog.get(name))
        before = catalog.reflected(view)
        helped: list[RefreshResult] = []
        target = _target(catalog, view, before, fixed or {}, full, helped, freshness)
        if target is None:  # then it is not the first to go there
            fixed = None
            continue
        lost = catalog.store.damage(catalog.state(name)) is not None
        if before.vector == target and not full and not lost and not _may_differ(view, target):
            versions = view.shown(before.vector)
            stale = freshness.stale(view)
            stuck = freshness.stuck(stale)
            return RefreshResult(name, NO_OP, None, versions, versions, 0, 0, since(begin), stale, stuck=stuck)
        with catalog.engine.settings(view.settings):
            done = _refreshed(catalog, view, before, target, full, lost)
        if done is not None:
            was, now = view.shown(before.vector), view.shown(target)
            read = done.read + sum(result.rows_read for result in helped)
            written = done.written + sum(result.rows_written for result in helped)
            strategy, reason = _strategy_of_all(done, helped)
            stale = freshness.stale(view)
            part = not_understood(view) if reason == "not_compiled" else None
            what = part.what if part else ""
            stuck = freshness.stuck(stale)
            return RefreshResult(name, strategy, reason, was, now, read, written, since(begin), stale, what, stuck)
    raise Conflict(
        f"{catalog.get(name).title} was refreshed or replaced by other sessions {attempts} times meanwhile",
        todo="try again",
    )


def _may_differ(view: View, vector: Mapping[str, Identity]) -> bool:
    """Whether the query may return other rows at one and the same vector."""
    return view.always_full == TIME_DEPENDENT or any(identity.version is None for identity in vector.values())


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
    freshness: Freshness,
) -> dict[str, Identity] | None:
    """Where a refresh goes, with the helpers brought there; None if another session has brought one further. What was
    done to the helpers is added to ``helped``. A view does not go back: what it shows already is not fixed any more.
    """
    target = newest(catalog, view, fixed)
    for table, shown in before.vector.items():
        if table in target and target[table].table_id == shown.table_id and _is_later(shown, target[table]):
            target[table] = shown
    for helper in view.helpers:
        helped.append(refresh_view(catalog, helper.name, full=full, fixed=target, freshness=freshness))
    for helper in view.helpers:  # some of them read others
        reached = catalog.identity(helper.name)
        vector = catalog.reflected(catalog.get(helper.name)).vector
        if any(vector[table] != target[table] for table in helper.tables) or catalog.identity(helper.name) != reached:
            return None
        target[helper.name] = reached
    return target


def _is_later(one: Identity, other: Identity) -> bool:
    return one.version is not None and other.version is not None and one.version > other.version


class _TooMuch(Exception):
    """So many rows have changed that a recomputation costs less."""


@dataclass(frozen=True)
class _Done:
    strategy: str
    reason: str | None
    read: int
    written: int


def _refreshed(
    catalog: Catalog, view: View, before: Reflected, target: Mapping[str, Identity], full: bool, lost: bool
) -> _Done | None:
    """One attempt; None if another session's commit came first. ``lost``: stored rows of the view are missing."""
    reason = why_full(catalog, view, before, target, full) or ("damaged" if lost else None)
    if reason is None:
        try:
            try:
                return _followed(catalog, view, before, target)
            except TooLargeToSend:  # a few changed rows have very many partners
                return _followed(catalog, view, before, target, sending=False)
        except (VersionGone, Damaged):  # if the newest version of a table is damaged, recomputing says so
            reason = "history_gone"
        except _TooMuch:
            reason = "too_much_changed"
        except TooManyRows:
            reason = "too_many_rows_differ"
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
    if _replaced(before, target):
        return "table_replaced"
    if view.always_full is not None:
        return view.always_full
    if any(_key(base_of(catalog, table)) != _key(base) for table, base in view.bases.items()):
        return "key_changed"
    state = compiled_view(catalog, view).state
    if state is None or (state.columns, state.on, state.show) != (
        view.layout.columns,
        view.layout.on,
        view.layout.show,
    ):
        return "layout_changed"
    return None if has_one_value_each(state) else "layout_changed"


def _replaced(before: Reflected, target: Mapping[str, Identity]) -> bool:
    """Whether a base table is another one than when the view was refreshed last."""
    return any(t not in before.vector or before.vector[t].table_id != i.table_id for t, i in target.items())


def _key(base: BaseTable) -> tuple[object, ...]:
    return base.key, base.not_null


def _recomputed(
    catalog: Catalog, view: View, before: Reflected, target: Mapping[str, Identity], reason: str
) -> _Done | None:
    """The whole query, over the tables as they look now."""
    old = view
    anew = reason in ("key_changed", "layout_changed") or _replaced(before, target)
    if anew:
        view = over_tables_now(catalog, view)
    with schema_errors(view):
        frame = query_at(catalog, view, target)
        with catalog.engine.errors(view.query):
            columns = catalog.engine.columns(frame)
    check_same_columns(view, columns)
    view, rows = defined(catalog, view, target, frame)
    if view.always_full == INEXACT and (anew or old.always_full is None):  # its helpers fit no more, or are lost
        view, rows, target = with_new_helpers(catalog, view, target)
    commit = write_whole(catalog, view, rows, target, before.sequence + 1, old)
    lost, kept = (view, old) if commit is None else (old, view)
    drop_helpers(catalog, [helper for helper in lost.helpers if helper not in kept.helpers])
    return None if commit is None else _Done(FULL, reason, size(catalog, target), commit.rows or 0)


def _followed(
    catalog: Catalog, view: View, before: Reflected, target: Mapping[str, Identity], *, sending: bool = True
) -> _Done | None:
    """The changes of the base tables, carried through the view's Δ-script. ``sending``: as in ``Running``."""
    compiled = compiled_view(catalog, view)
    assert compiled.state is not None
    kept: list[Kept] = []
    try:
        with catalog.engine.errors(view.query):  # Spark Connect reads the changes only here
            changes = _changes(catalog, view, compiled, before, target, kept)
        read = sum(change.rows for change in changes.values())
        growing = {table for table, change in changes.items() if _only_adds(catalog, change)}
        script = compiled.script(changes, growing) if changes else None
        most = None
        if script is not None and view.policy is Policy.AUTO:
            most = functools.cache(functools.partial(_most_followed, catalog, view, target, script.strategy))
            if read > catalog.limits.always_followed and read > most():
                raise _TooMuch
        sequence = before.sequence + 1
        strategy = NO_OP if script is None else script.strategy
        stamp = Stamp(stamp_metadata(target, sequence, strategy, uuid.uuid4().hex), view.id, sequence)
        state = catalog.state(view.name)
        with catalog.engine.errors(view.query):
            versions = {table: identity.version for table, identity in target.items()}
            run = Running(catalog, view, changes, before.versions(), versions, kept, sending=sending, most=most)
            rows = None if script is None else run.rows(script)
            if script is None or rows is None:  # the commit says how far the view has come
                commit = catalog.store.commit(state, [], stamp)
            elif script.append:
                commit = catalog.store.commit(state, [Append(rows)], stamp)
            elif script.copies is not None:
                commit = catalog.store.commit(state, [TakeCopies(rows, view.layout.on, script.copies)], stamp)
            else:
                dialect = catalog.engine.dialect
                combine = {column: printed(value, dialect) for column, value in script.combine.items()}
                gone = None if script.gone is None else printed(script.gone, dialect)
                commit = catalog.store.commit(state, [Upsert(rows, view.layout.on, combine, gone)], stamp)
        return _Done(strategy, None, read, commit.rows or 0) if is_ours(commit, stamp) else None
    finally:
        catalog.engine.forget(kept)


def _most_followed(catalog: Catalog, view: View, target: Mapping[str, Identity], strategy: str) -> int:
    """The most rows that cost less to follow than a recomputation, which reads the tables and writes the view."""
    recomputed, limits = size(catalog, target) + catalog.store.count(catalog.state(view.name)), catalog.limits
    cost = {APPEND: limits.append_cost, AGGREGATE_MERGE: limits.merge_cost}.get(strategy, limits.row_cost)
    return max(limits.always_followed, recomputed // cost)


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
        if after is not None and upto is not None and after != upto:
            used = _used(compiled.state.root, base.name, [name for name, _ in base.columns])
            check_columns(catalog, base, used, upto)
            with _unreadable_feed(base):
                change = few_changes_of(
                    catalog, base, used, after, upto, catalog.limits.changes_here
                ) or catalog.engine.keep(changes_of(catalog, base, used, after, upto))
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


def drop_view(catalog: Catalog, name: str) -> None:
    """Drops a view that no other view reads, damaged or not."""
    view = catalog.known(name) if catalog.has(name) else catalog.get(name)
    if readers := catalog.readers(name):
        raise InUse(
            f"{name} cannot be dropped",
            why=f"{', '.join(readers)} read it",
            todo="drop these first: " + "; ".join(f"DROP MATERIALIZED VIEW {quote(r)}" for r in readers),
        )
    helpers = helpers_of(catalog, name) if view is None else view.helpers
    catalog.store.forget_name(name)
    catalog.store.drop(catalog.state(name))
    drop_helpers(catalog, helpers)


def status_of(catalog: Catalog, name: str, freshness: Freshness) -> ViewStatus:
    """How fresh a view is, or what is known of it if it is damaged."""
    try:
        return status(catalog, catalog.get(name), freshness)
    except Damaged as error:
        view = catalog.known(name)
        policy, comment = (None, None) if view is None else (view.policy.value, view.comment)
        return ViewStatus(name, policy, {}, {}, None, None, comment, damage=error.why)


def status(catalog: Catalog, view: View, freshness: Freshness | None = None) -> ViewStatus:
    """How fresh a view is. ``freshness`` is what is known already of the views upstream. Raises Damaged if the view's
    vector cannot be read."""
    freshness = freshness or Freshness(catalog)
    reflected = catalog.reflected(view)
    stale = freshness.stale(view)
    return ViewStatus(
        view.name,
        view.policy.value,
        view.shown(reflected.vector),
        freshness.behind(view, reflected.vector),
        reflected.time,
        reflected.strategy,
        view.comment,
        stale,
        freshness.unversioned(view, reflected.vector),
        freshness.damage(view),
        freshness.stuck(stale),
    )
