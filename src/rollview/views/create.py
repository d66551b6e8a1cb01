"""CREATE MATERIALIZED VIEW: text → plan → state → the state table's first commit, with definition, rows and vector."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from rollview.engine.protocol import Frame
from rollview.engine.work import Work
from rollview.errors import Conflict, Damaged, InUse
from rollview.frontend.query import Query
from rollview.garbage import collected_rarely
from rollview.parse.views import CreateView, Policy
from rollview.store.protocol import Commit, Identity
from rollview.strategy.full import FULL
from rollview.strategy.no_op import NO_OP
from rollview.strategy.reasons import INEXACT
from rollview.views.catalog import DEFINITION, Catalog, Reflected
from rollview.views.checks import check_functions, check_no_cycle, check_output, check_policy, is_taken, sources_of
from rollview.views.define import Defined, defined, undefined
from rollview.views.definition import View
from rollview.views.freshness import Freshness
from rollview.views.goal import NEWEST, Goal
from rollview.views.helpers import drop_helpers, with_helpers
from rollview.views.relation import query_at, relation
from rollview.views.results import RefreshResult, since
from rollview.views.write import publish, write_whole

logger = logging.getLogger("rollview")


@dataclass(frozen=True)
class _Before:
    """The view that has the name so far, if there is one. If it is damaged, ``known`` is what can be read of it."""

    view: View | None = None
    damage: Damaged | None = None
    known: View | None = None
    reflected: Reflected | None = None

    @property
    def readable(self) -> View | None:
        return self.view or self.known


@collected_rarely()
def create_view(
    catalog: Catalog, statement: CreateView, trusted: Collection[str] = (), goal: Goal = NEWEST
) -> RefreshResult:
    """Creates a view at a goal. ``trusted`` names the user's own functions that are declared to be deterministic."""
    begin = time.monotonic()
    name = catalog.store.canonical(statement.name)
    old = _before(catalog, name, statement.or_replace) if is_taken(catalog, statement, name) else _Before()
    if old.view is not None and statement.if_not_exists:
        return _unchanged(catalog, old.view, begin)
    view = _checked(catalog, statement, name, old, trusted)
    with catalog.engine.settings(view.settings), catalog.engine.measured() as work:
        vector = goal.versions(catalog, view) if goal.exact else {t: catalog.identity(t) for t in view.tables}
        frame = query_at(catalog, view, vector)
        with catalog.engine.errors(view.query.text):
            check_output(view.query, catalog.engine.columns(frame))
        made = defined(catalog, view, vector, frame)
        if made.view.always_full != INEXACT:  # which helpers may mend
            check_policy(made)
        if old.view is not None and (same := _same(catalog, old.view, made.view, vector, frame)) is not None:
            _redefine(catalog, old.view, same)
            return _unchanged(catalog, old.view, begin)
        _check_readers(catalog, made.view, old)
        with catalog.engine.settings(made.view.settings):
            sequence = old.reflected.sequence + 1 if old.reflected is not None else 1
            made, commit = written(catalog, made, vector, sequence, old.view, over=old.damage is not None)
    if old.readable is not None:
        drop_helpers(catalog, old.readable.helpers)
    publish(catalog, made.view)
    return _created(catalog, made.view, old, vector, commit, work, begin)


def _before(catalog: Catalog, name: str, replacing: bool) -> _Before:
    """What has the name so far. A damaged view can only be replaced."""
    if replacing and (damage := catalog.damage(name)) is not None:
        return _Before(None, damage, catalog.known(name))
    view = catalog.get(name)
    return _Before(view, reflected=catalog.reflected(view))


def _checked(catalog: Catalog, statement: CreateView, name: str, old: _Before, trusted: Collection[str]) -> View:
    """The view of a statement, over its tables as they are now. Raises an error for what no view may have."""
    query = Query(statement.query)
    query.refuse_random()
    sources = sources_of(catalog, query)
    check_functions(catalog, query, trusted)
    if catalog.has(name):
        check_no_cycle(catalog, name, set(sources.values()))
    bases = {table: relation(catalog, table).base() for table in sorted(set(sources.values()))}
    settings, id = catalog.engine.result_settings(), old.view.id if old.view is not None else None
    view = undefined(name, query, statement.policy, sources, bases, settings, id=id, comment=statement.comment)
    return replace(view, keep_changes=statement.keep_changes)


def _created(
    catalog: Catalog,
    view: View,
    old: _Before,
    vector: Mapping[str, Identity],
    commit: Commit,
    work: Work,
    begin: float,
) -> RefreshResult:
    freshness = Freshness(catalog)
    stale = freshness.stale(view)
    reason = "created" if old.view is None and old.damage is None else "replaced"
    logger.info("%s: %s, because %s", view.title, FULL, reason)
    return RefreshResult(
        view.name,
        FULL,
        reason,
        old.view.shown(old.reflected.vector) if old.view is not None and old.reflected is not None else {},
        view.shown(vector),
        rows_read=work.rows_read,
        rows_written=commit.rows or 0,
        jobs=work.jobs,
        bytes_written=work.bytes_written,
        seconds=since(begin),
        stale=stale,
        stuck=freshness.stuck(stale),
    )


def _unchanged(catalog: Catalog, view: View, begin: float) -> RefreshResult:
    versions = view.shown(catalog.reflected(view).vector)
    logger.info("%s: %s, because it exists", view.title, NO_OP)
    return RefreshResult(view.name, NO_OP, None, versions, versions, seconds=since(begin))


def _check_readers(catalog: Catalog, view: View, old: _Before) -> None:
    """Raises an error if views read this one and would find other columns."""
    name = view.name
    if catalog.has(name) and (readers := catalog.readers(name)) and _seen(catalog, name, old.readable) != _shape(view):
        raise InUse(
            f"{name} cannot be replaced by a view with other columns",
            why=f"{', '.join(readers)} read it",
            todo="drop the views that read it first",
        )


def written(
    catalog: Catalog,
    made: Defined,
    vector: Mapping[str, Identity],
    sequence: int,
    old: View | None,
    *,
    over: bool = False,
    again: bool = False,
) -> tuple[Defined, Commit]:
    """Creates the view's helpers and writes it; if it cannot be written, they are dropped again. ``over`` as in
    ``write_whole``; ``again`` says that the view had its policy before."""
    made, at = with_helpers(catalog, made, vector)
    view = made.view
    try:
        if not again:
            check_policy(made)
        commit = write_whole(catalog, view, made.rows, at, sequence, old, over=over)
        if commit is None:
            raise Conflict(
                f"{view.name} was refreshed or replaced by another session meanwhile", todo="repeat the statement"
            )
    except BaseException:
        there = catalog.known(view.name) if catalog.has(view.name) else None
        if there is None or there.helpers != view.helpers:
            drop_helpers(catalog, view.helpers)
        raise
    catalog.remember(view, made.compiled)
    return made, commit


def _same(catalog: Catalog, old: View, new: View, vector: Mapping[str, Identity], frame: Frame) -> View | None:
    """The new definition over what the old one has stored; None if that is not the same, or if it is worth more now."""
    if catalog.store.damage(catalog.state(old.name)) is not None:
        return None
    if new.fingerprint is None or old.fingerprint != new.fingerprint or old.settings != new.settings:
        return None
    if old.helpers and new.policy is Policy.FULL:  # which needs no helpers
        return None
    if old.helpers:
        bases = {helper.name: old.bases[helper.name] for helper in old.helpers}
        shown = catalog.reflected(old).vector
        at = {**vector, **{name: shown[name] for name in bases}}
        new = replace(new, helpers=old.helpers, bases={**new.bases, **bases})
        new = defined(catalog, new, at, frame).view
    if new.always_full == INEXACT and new.policy is not Policy.FULL:  # which helpers may mend
        return None
    return new if _same_rows(old, new) else None


def _same_rows(old: View, new: View) -> bool:
    """Whether the stored rows of one definition are those of another, too; stored names may differ in case."""

    def stored(view: View) -> tuple[object, ...]:
        layout = view.layout
        names = tuple(name.casefold() for name in (*layout.columns, *layout.on))
        types = {name.casefold(): kind for name, kind in layout.types.items()}
        return view.fingerprint, view.settings, layout.kind, names, types

    return stored(old) == stored(new)


def _redefine(catalog: Catalog, old: View, new: View) -> None:
    """Another spelling, policy or comment of the same view: its rows stay."""
    if new != old:
        catalog.store.set_properties(catalog.state(old.name), {DEFINITION: new.to_json()})
        publish(catalog, new)


def _seen(catalog: Catalog, name: str, known: View | None) -> list[tuple[str, str]] | None:
    """The columns that those who read a view know it by, even if its own definition is lost."""
    if known is not None:
        return _shape(known)
    views = (catalog.known(reader) for reader in catalog.readers(name))
    bases = [view.bases[name] for view in views if view is not None]
    return [(column.casefold(), kind) for column, kind in bases[0].columns] if bases else None


def _shape(view: View) -> list[tuple[str, str]]:
    return [(column.name.casefold(), column.type) for column in view.columns]
