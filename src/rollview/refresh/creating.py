"""Making a view: text → plan → state → the state table's first commit, which holds definition, rows and vector."""

from __future__ import annotations

import time
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from rollview.compile.fingerprint import fingerprint
from rollview.compile.script import refresh_script
from rollview.compile.state import BAG, STATE, State, state_of
from rollview.compile.view import CompiledView, compile_view, unknown_functions
from rollview.delta.deriving import NotMaintained
from rollview.engine.protocol import Frame
from rollview.errors import (
    BadName,
    Conflict,
    InternalError,
    InUse,
    NameTaken,
    NotDeterministic,
    NotIncremental,
    Place,
    SqlError,
    TableNotFound,
    nearest,
)
from rollview.parse.names import Name
from rollview.parse.references import Reference, references
from rollview.parse.view_statements import CreateView, Policy
from rollview.plan.building import BaseTable
from rollview.plan.nodes import Aggregate, Node, Window
from rollview.refresh.relations import base_rows, columns_of, query_at, size
from rollview.refresh.results import FULL, NO_OP, REASONS, RefreshResult
from rollview.refresh.views import DEFINITION, RUN, STATE_PREFIX, Catalog, Column, Layout, View, stamp_metadata
from rollview.store.protocol import Commit, Identity, Stamp

#: The layout of a view whose query has no plan.
ROWS = "rows"


def create_view(catalog: Catalog, statement: CreateView, trusted: Collection[str] = ()) -> RefreshResult:
    """Makes a view. ``trusted`` names the user's own functions that are declared to be deterministic."""
    begin = time.monotonic()
    store = catalog.store
    name = store.canonical(statement.name)
    old = _existing(catalog, statement, name)
    if old is not None and statement.if_not_exists:
        versions = catalog.reflected(old).versions()
        return RefreshResult(name, NO_OP, None, versions, versions, 0, 0, time.monotonic() - begin)
    sources = _sources(catalog, statement.query)
    _check_functions(catalog, statement.query, trusted)
    if old is not None:
        _check_no_cycle(catalog, name, set(sources.values()))
    identity = old.id if old else uuid.uuid4().hex
    bases = {table: base_of(catalog, table) for table in sorted(set(sources.values()))}
    nothing = Layout(ROWS, (), (), "", None)
    view = View(
        name, identity, statement.query, statement.policy, statement.comment, (), sources, bases, nothing,
        settings=catalog.engine.result_settings(),
    )  # fmt: skip
    with catalog.engine.settings(view.settings):
        vector = {table: catalog.identity(table) for table in view.tables}
        frame = query_at(catalog, view, vector)
        _check_output(statement.query, catalog.engine.columns(frame))
        view, rows = defined(catalog, view, vector, frame)
        _check_policy(view)
        if old is not None and view.fingerprint is not None and _same_rows(old, view):
            _redefine(catalog, old, view)
            versions = catalog.reflected(old).versions()
            return RefreshResult(name, NO_OP, None, versions, versions, 0, 0, time.monotonic() - begin)
        if old is not None and _shape(old) != _shape(view) and (readers := catalog.readers(name)):
            raise InUse(
                f"{name} cannot be replaced by a view with other columns",
                why=f"{', '.join(readers)} read it",
                todo="drop the views that read it first",
            )
        before = catalog.reflected(old) if old is not None else None
        sequence = before.sequence + 1 if before else 1
        commit = write_whole(catalog, view, rows, vector, sequence, old)
    if commit is None:
        raise Conflict(f"{name} was refreshed or replaced by another session meanwhile", todo="repeat the statement")
    publish(catalog, view)
    return RefreshResult(
        name,
        FULL,
        "created" if old is None else "replaced",
        before.versions() if before else {},
        {t: i.version for t, i in vector.items()},
        size(catalog, vector),
        commit.rows or 0,
        time.monotonic() - begin,
    )


def _existing(catalog: Catalog, statement: CreateView, name: str) -> View | None:
    """The view that is there under this name. Raises an error if the statement may not have the name."""
    if statement.name[-1].lower().startswith(STATE_PREFIX):
        raise BadName(f"{name} cannot be a view's name", why=f"names that begin with {STATE_PREFIX} belong to rollview")
    if catalog.has(name):
        if not (statement.if_not_exists or statement.or_replace):
            raise NameTaken(
                f"There is a materialized view named {name} already",
                todo="choose another name, or use CREATE OR REPLACE MATERIALIZED VIEW",
            )
        return catalog.get(name)
    if catalog.store.exists(name):
        raise NameTaken(f"{name} is the name of a table", todo="choose another name for the view")
    return None


def base_of(catalog: Catalog, table: str) -> BaseTable:
    """What a table or view looks like now."""
    columns = tuple(columns_of(catalog, table))
    names = {name.casefold() for name, _ in columns}
    key = key_of(catalog, table)
    return BaseTable(table, columns, key if {name.casefold() for name in key} <= names else ())


def key_of(catalog: Catalog, table: str) -> tuple[str, ...]:
    """The declared key of a table; of a view, the key of its rows if it can be seen."""
    if not catalog.has(table):
        return catalog.store.key(table)
    view = catalog.get(table)
    return view.key


@dataclass(frozen=True)
class Compiled:
    """A view's plan and state; without them, or where there is a reason, the view is always recomputed."""

    view: CompiledView | None
    state: State | None
    reason: str | None


def compiled_view(catalog: Catalog, view: View) -> Compiled:
    """The view's plan, and its state with the types that were found when it was made."""
    known = catalog.compiled.get(view.name)
    if known is None or known[0] != view:
        known = catalog.compiled[view.name] = (view, _compiled(catalog, view))
    found = known[1]
    assert isinstance(found, Compiled)
    return found


def _compiled(catalog: Catalog, view: View) -> Compiled:
    compiled, reason = compiled_plan(view)
    if compiled is None or not view.layout.types:
        return Compiled(compiled, None, reason)
    recorded = iter(view.layout.types)
    names = [column.name for column in view.columns]
    try:
        state = state_of(compiled, lambda _: next(recorded), names, catalog.engine.dialect)
    except Exception:  # the types were recorded for another state: the layout has changed, and the view is recomputed
        return Compiled(compiled, None, reason)
    return Compiled(compiled, state, reason)


def compiled_plan(view: View) -> tuple[CompiledView | None, str | None]:
    """The view's plan over its base tables as they were; without one, the reason."""

    def table(name: Name) -> BaseTable | None:
        known = view.sources.get(tuple(part.lower() for part in name)) or view.sources.get(name)
        return None if known is None else view.bases[known]

    try:
        compiled = compile_view(view.query, table)
    except NotDeterministic:
        raise
    except Exception:
        # Spark has understood the query. Whatever the compiler does not understand in it costs speed, not the view.
        return None, "not_compiled"
    return compiled, compiled.reason


def defined(catalog: Catalog, view: View, vector: Mapping[str, Identity], frame: Frame) -> tuple[View, Frame]:
    """The view with its columns and layout, and the rows of its state at a vector; ``frame`` is its query there."""
    engine = catalog.engine
    view = replace(view, columns=tuple(Column(*column) for column in engine.columns(frame)))
    compiled, reason = compiled_plan(view)
    if compiled is not None:
        made = _with_state(catalog, view, compiled, vector)
        if made is not None:
            state, rows, types = made
            layout = Layout(state.kind, state.columns, state.on, state.show, state.feed, types)
            reason = reason or _not_maintained(view, state, types[-1])
            key = visible_key(compiled)
            return replace(
                view, layout=layout, key=key, always_full=reason, fingerprint=fingerprint(compiled.plan)
            ), rows
    names = [f"c{i}" for i in range(len(view.columns))]
    picked = ", ".join(
        f"{engine.quoted(n)} AS {engine.quoted(c.name)}" for n, c in zip(names, view.columns, strict=True)
    )
    show = f"SELECT {picked} FROM {engine.quoted(STATE)}"
    layout = Layout(ROWS, tuple(names), (), show, None)
    return replace(view, layout=layout, always_full="not_compiled"), engine.renamed(frame, names)


def visible_key(compiled: CompiledView) -> tuple[str, ...]:
    """The columns that tell a view's rows apart, if they can be seen."""
    keyed = compiled.keyed
    if not keyed.key or set(keyed.key) & set(keyed.hidden):
        return ()
    return tuple(column.label for column in keyed.plan.columns if column.name in keyed.key)


def _with_state(
    catalog: Catalog, view: View, compiled: CompiledView, vector: Mapping[str, Identity]
) -> tuple[State, Frame, tuple[tuple[str, ...], ...]] | None:
    """The view's state and its rows; None if the engine does not take the compiled query.

    Raises InternalError if the engine finds other types in it than in the text.
    """
    engine = catalog.engine
    frames = {table: base_rows(catalog, view.bases[table], i.version) for table, i in vector.items()}
    types: list[tuple[str, ...]] = []

    def types_of(plan: Node) -> Sequence[str]:
        names = [f"c{i}" for i in range(len(plan.columns))]
        types.append(tuple(kind for _, kind in engine.columns(engine.select(plan, frames, names))))
        return types[-1]

    try:
        state = state_of(compiled, types_of, [column.name for column in view.columns], engine.dialect)
        rows = engine.select(state.plan, frames)
        shown = engine.columns(engine.over_state(rows, state.show))
        types.append(tuple(kind for _, kind in engine.columns(rows)))
    except Exception:
        return None
    if engine.exact and [kind for _, kind in shown] != [column.type for column in view.columns]:
        raise InternalError(
            "The compiled query has other types than the view's",
            why=f"{shown} instead of {[(c.name, c.type) for c in view.columns]}",
            todo="report the query",
        )
    return state, rows, tuple(types)


def _not_maintained(view: View, state: State, types: Sequence[str]) -> str | None:
    """Why changes of the base tables cannot be followed; None if they can."""
    try:
        refresh_script(state, view.tables)
    except NotMaintained as error:
        return error.code
    if any("map<" in kind for kind in types) and state.kind != "groups":
        return "not_comparable"
    floats = any(kind in ("float", "double") for kind in types)
    if state.kind == BAG and floats and any(isinstance(node, Aggregate | Window) for node in state.root.walk()):
        return "inexact_rows"
    return None


def _check_policy(view: View) -> None:
    if view.policy in (Policy.INCREMENTAL, Policy.STRICT) and view.always_full is not None:
        raise NotIncremental(
            f"{view.name} cannot have REFRESH POLICY {view.policy.value}",
            why=REASONS[view.always_full],
            todo="use REFRESH POLICY AUTO or FULL; the view then is recomputed at every refresh",
        )


def write_whole(
    catalog: Catalog, view: View, rows: Frame, vector: Mapping[str, Identity], sequence: int, old: View | None
) -> Commit | None:
    """Puts rows, vector and a new definition into one commit; None if another session's came first."""
    stamp = Stamp(stamp_metadata(vector, sequence, FULL, uuid.uuid4().hex), view.id, sequence)
    properties = {DEFINITION: view.to_json()}
    state = catalog.state(view.name)
    with catalog.engine.errors(view.query):
        if old is None:
            commit = catalog.store.create(state, rows, properties=properties, stamp=stamp)
        elif view == old:
            commit = catalog.store.replace(state, rows, stamp=stamp)
        else:
            commit = catalog.store.replace(state, rows, key=(), properties=properties, stamp=stamp)
    return commit if is_ours(commit, stamp) else None


def is_ours(commit: Commit, stamp: Stamp) -> bool:
    """Whether the newest commit is the one just asked for, and not another session's with the same sequence number."""
    return bool(commit.metadata.get(RUN) == stamp.metadata[RUN])


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


def publish(catalog: Catalog, view: View) -> None:
    """Makes the view's name readable from Spark SQL, showing the query's columns only."""
    catalog.store.publish_view(view.name, catalog.state(view.name), view.layout.show)


def _shape(view: View) -> list[tuple[str, str]]:
    return [(column.name.casefold(), column.type) for column in view.columns]


def _check_functions(catalog: Catalog, query: str, trusted: Collection[str]) -> None:
    """A user's own function may give another result at every call, unless it is declared not to."""
    if not unknown_functions(query, trusted):
        return
    for call in unknown_functions(query, {*catalog.engine.functions(), *trusted}):
        raise SqlError(
            f"{call.name} is not a function of Spark",
            where=Place.find(query, call.name),
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
    for column, _ in columns:
        if column.casefold() in seen:
            raise SqlError(
                f"Two columns of the view are named {column}",
                where=Place.find(query, column),
                why="names are compared without regard to case",
                todo="give one of them another name: … AS other_name",
            )
        seen.add(column.casefold())
