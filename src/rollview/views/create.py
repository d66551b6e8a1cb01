"""Making a view: text → plan → state → the state table's first commit, which holds definition, rows and vector."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from rollview.engine.protocol import Frame
from rollview.errors import (
    BadName,
    Conflict,
    InUse,
    NameTaken,
    NotIncremental,
    Place,
    SqlError,
    TableNotFound,
    nearest,
)
from rollview.frontend.query import refuse_random, unknown_functions
from rollview.frontend.sql.scope import place
from rollview.parse.names import Name
from rollview.parse.references import Reference, parse_query, references
from rollview.parse.stored_names import STATE_PREFIX
from rollview.parse.views import CreateView, Policy
from rollview.store.protocol import Commit, Identity
from rollview.views.catalog import DEFINITION, Catalog
from rollview.views.define import base_of, defined, not_understood, publish, undefined, write_whole
from rollview.views.definition import View
from rollview.views.freshness import Freshness
from rollview.views.helpers import drop_helpers, with_helpers
from rollview.views.relation import query_at, size
from rollview.views.results import FULL, INEXACT, NO_OP, REASONS, RefreshResult, since


def create_view(catalog: Catalog, statement: CreateView, trusted: Collection[str] = ()) -> RefreshResult:
    """Makes a view. ``trusted`` names the user's own functions that are declared to be deterministic."""
    begin = time.monotonic()
    store = catalog.store
    name = store.canonical(statement.name)
    damage = catalog.damage(name) if _is_taken(catalog, statement, name) and statement.or_replace else None
    known = catalog.known(name) if damage is not None else None
    old = catalog.get(name) if catalog.has(name) and damage is None else None
    if old is not None and statement.if_not_exists:
        versions = old.shown(catalog.reflected(old).vector)
        return RefreshResult(name, NO_OP, None, versions, versions, 0, 0, since(begin))
    refuse_random(statement.query, parse_query(statement.query))
    sources = _sources(catalog, statement.query)
    _check_functions(catalog, statement.query, trusted)
    if catalog.has(name):
        _check_no_cycle(catalog, name, set(sources.values()))
    bases = {table: base_of(catalog, table) for table in sorted(set(sources.values()))}
    view = undefined(
        name, statement.query, statement.policy, sources, bases, catalog.engine.result_settings(),
        id=old.id if old else None, comment=statement.comment,
    )  # fmt: skip
    with catalog.engine.settings(view.settings):
        vector = {table: catalog.identity(table) for table in view.tables}
        frame = query_at(catalog, view, vector)
        with catalog.engine.errors(statement.query):
            _check_output(statement.query, catalog.engine.columns(frame))
        view, rows = defined(catalog, view, vector, frame)
        if view.always_full != INEXACT:  # which helpers may mend
            _check_policy(view)
        whole = old is not None and catalog.store.damage(catalog.state(name)) is None
        if old is not None and whole and (same := _of_the_same_rows(catalog, old, view, vector, frame)) is not None:
            _redefine(catalog, old, same)
            versions = old.shown(catalog.reflected(old).vector)
            return RefreshResult(name, NO_OP, None, versions, versions, 0, 0, since(begin))
        was = old or known
        if catalog.has(name) and (readers := catalog.readers(name)) and _seen(catalog, name, was) != _shape(view):
            raise InUse(
                f"{name} cannot be replaced by a view with other columns",
                why=f"{', '.join(readers)} read it",
                todo="drop the views that read it first",
            )
        before = catalog.reflected(old) if old is not None else None
        with catalog.engine.settings(view.settings):
            sequence = before.sequence + 1 if before else 1
            view, commit = written(catalog, view, rows, vector, sequence, old, over=damage is not None)
    if was is not None:
        drop_helpers(catalog, was.helpers)
    publish(catalog, view)
    freshness = Freshness(catalog)
    stale = freshness.stale(view)
    return RefreshResult(
        name,
        FULL,
        "replaced" if old or damage else "created",
        old.shown(before.vector) if old and before else {},
        view.shown(vector),
        size(catalog, vector),
        commit.rows or 0,
        since(begin),
        stale,
        stuck=freshness.stuck(stale),
    )


def written(
    catalog: Catalog,
    view: View,
    rows: Frame,
    vector: Mapping[str, Identity],
    sequence: int,
    old: View | None,
    *,
    over: bool = False,
    again: bool = False,
) -> tuple[View, Commit]:
    """Makes the view's helpers and writes it; if it cannot be written, they are gone, too. ``over`` as in
    ``write_whole``; ``again`` says that the view had its policy before."""
    view, rows, at = with_helpers(catalog, view, rows, vector)
    try:
        if not again:
            _check_policy(view)
        commit = write_whole(catalog, view, rows, at, sequence, old, over=over)
        if commit is None:
            raise Conflict(
                f"{view.name} was refreshed or replaced by another session meanwhile", todo="repeat the statement"
            )
    except BaseException:
        there = catalog.known(view.name) if catalog.has(view.name) else None
        if there is None or there.helpers != view.helpers:
            drop_helpers(catalog, view.helpers)
        raise
    return view, commit


def _is_taken(catalog: Catalog, statement: CreateView, name: str) -> bool:
    """Whether a view is there under this name. Raises an error if the statement may not have the name."""
    if statement.name[-1].lower().startswith(STATE_PREFIX):
        raise BadName(f"{name} cannot be a view's name", why=f"names that begin with {STATE_PREFIX} belong to rollview")
    if catalog.has(name):
        if not (statement.if_not_exists or statement.or_replace):
            raise NameTaken(
                f"There is a materialized view named {name} already",
                todo="choose another name, or use CREATE OR REPLACE MATERIALIZED VIEW",
            )
        return True
    if catalog.store.exists(name):
        raise NameTaken(f"{name} is the name of a table", todo="choose another name for the view")
    return False


def _check_policy(view: View) -> None:
    if view.policy in (Policy.INCREMENTAL, Policy.STRICT) and view.always_full is not None:
        part = not_understood(view)
        raise NotIncremental(
            f"{view.name} cannot have REFRESH POLICY {view.policy.value}",
            where=part.where if part else None,
            why=REASONS[view.always_full] + (f": {part.what}" if part else ""),
            todo="use REFRESH POLICY AUTO or FULL; the view then is recomputed at every refresh",
        )


def _of_the_same_rows(
    catalog: Catalog, old: View, new: View, vector: Mapping[str, Identity], frame: Frame
) -> View | None:
    """The new definition over what the old one has stored; None if that is not the same, or if it is worth more now."""
    if new.fingerprint is None or old.fingerprint != new.fingerprint or old.settings != new.settings:
        return None
    if old.helpers and new.policy is not Policy.FULL:
        bases = {helper.name: old.bases[helper.name] for helper in old.helpers}
        shown = catalog.reflected(old).vector
        at = {**vector, **{name: shown[name] for name in bases}}
        new = replace(new, helpers=old.helpers, bases={**new.bases, **bases})
        new, _ = defined(catalog, new, at, frame)
    if new.always_full == INEXACT and new.policy is not Policy.FULL:  # which helpers may mend
        return None
    return new if _same_rows(old, new) else None


def _same_rows(old: View, new: View) -> bool:
    """Whether the stored rows of one definition are those of another, too; stored names may differ in case."""

    def stored(view: View) -> tuple[object, ...]:
        layout = view.layout
        names = tuple(name.casefold() for name in (*layout.columns, *layout.on))
        return view.fingerprint, view.settings, layout.kind, names, layout.types

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


def _check_functions(catalog: Catalog, query: str, trusted: Collection[str]) -> None:
    """A user's own function may give another result at every call, unless it is declared not to."""
    if not unknown_functions(query, trusted):
        return
    for call in unknown_functions(query, {*catalog.engine.functions(), *trusted}):
        raise SqlError(
            f"{call.name} is not a function of {catalog.engine.title}",
            where=Place.call(query, call.name),
            why="it may give another result at every call, and then the view could never equal its query",
            todo=f"if it does not, say so: rv.declare_deterministic({call.name!r})",
        )


def _sources(catalog: Catalog, query: str) -> dict[Name, str]:
    """What each table name in the query means."""
    found: dict[Name, str] = {}
    for ref in references(query):
        table = catalog.store.canonical(ref.name)
        if not (catalog.has(table) or catalog.store.exists(table)):
            raise _unknown(catalog, query, ref)
        found[ref.name] = table
    return found


def _unknown(catalog: Catalog, query: str, ref: Reference) -> TableNotFound:
    known = catalog.tables() + catalog.names()
    name = ".".join(ref.name)
    return TableNotFound(
        f"There is no table or view named {name}",
        where=Place(query, ref.start, ref.stop),
        todo=nearest(name, known)
        or (
            f"there are {', '.join(sorted(known)[:8])}"
            if known
            else "there are no tables yet; make one with CREATE TABLE"
        ),
    )


def _check_no_cycle(catalog: Catalog, name: str, tables: Collection[str]) -> None:
    pending, seen = list(tables), set()
    while pending:
        table = pending.pop()
        if table == name:
            raise SqlError(f"{name} would read itself", todo="let it read the base tables instead")
        if table not in seen and catalog.has(table):
            pending += catalog.get(table).tables
        seen.add(table)


def _check_output(query: str, columns: Sequence[tuple[str, str]]) -> None:
    seen: set[str] = set()
    for i, (column, _) in enumerate(columns):
        if column.casefold() in seen:
            raise SqlError(
                f"Two columns of the view are named {column}",
                where=_again(query, column, i, len(columns)),
                why="names are compared without regard to case",
                todo="give one of them another name: … AS other_name",
            )
        seen.add(column.casefold())


def _again(query: str, label: str, position: int, count: int) -> Place | None:
    """Where the view's own SELECT has a column whose name is taken: the item at its position, or, if stars stand for
    several columns, another item of that name or the last star."""
    tree = parse_query(query).unnest()
    while isinstance(tree, exp.SetOperation):
        tree = tree.this.unnest()
    items = tree.expressions if isinstance(tree, exp.Select) else []
    stars = [item for item in items if item.is_star]
    named = [item for item in items if item.output_name.casefold() == label.casefold()]
    found = [items[position]] if not stars and len(items) == count else named[1:] or stars[-1:]
    return place(query, found[0]) if found else None
