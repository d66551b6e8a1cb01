"""What a view comes to be: text → plan → state, and the commit that holds definition, rows and vector."""

from __future__ import annotations

import contextlib
import re
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from sqlglot import exp

from rollview.delta.analysis.inexact import computed_from_inexact, makes_inexact
from rollview.delta.derivation import NotMaintained
from rollview.engine.protocol import Frame, has_no_equality
from rollview.errors import NotDeterministic, Unsupported
from rollview.frontend.query import CompiledView, compile_view
from rollview.frontend.sql import BaseTable, Tables, Unbuildable
from rollview.keys import Choice, facts_of
from rollview.parse.names import Name
from rollview.parse.tree import OTHER_SPELLINGS
from rollview.parse.views import Policy
from rollview.plan.nodes import Aggregate, Filter, Node, Project, Scan, Window
from rollview.plan.reserved import STATE
from rollview.state.helpers import helped, helper_id, helper_labels
from rollview.state.state import State, made_types, state_of
from rollview.store.edits import Replace
from rollview.store.protocol import Commit, Identity, Stamp
from rollview.strategy.script import Script, has_one_value_each, refresh_script
from rollview.views.catalog import DEFINITION, RUN, Catalog, stamp_metadata
from rollview.views.definition import Column, Layout, View
from rollview.views.dry_run import takes_scripts
from rollview.views.relation import base_rows, columns_of
from rollview.views.results import FULL, INEXACT

#: The layout of a view whose query has no plan.
ROWS = "rows"


def undefined(
    name: str,
    query: str,
    policy: Policy,
    sources: Mapping[Name, str],
    bases: Mapping[str, BaseTable],
    settings: Mapping[str, str],
    *,
    id: str | None = None,
    comment: str | None = None,
    owner: str | None = None,
) -> View:
    """A view of which columns and layout are not known yet."""
    nothing = Layout(ROWS, (), (), "", None)
    return View(
        name,
        id or uuid.uuid4().hex,
        query,
        policy,
        comment,
        (),
        sources,
        bases,
        nothing,
        settings=settings,
        owner=owner,
    )


def base_of(catalog: Catalog, table: str) -> BaseTable:
    """What a table or view looks like now."""
    columns = tuple(columns_of(catalog, table))
    names = {name.casefold() for name, _ in columns}
    if catalog.has(table):  # the key of a view's rows, if it can be seen; it may be NULL
        view = catalog.get(table)
        return BaseTable(table, columns, view.key, view.not_null)
    key = catalog.store.key(table)
    return BaseTable(table, columns, key if {name.casefold() for name in key} <= names else ())


@dataclass(frozen=True)
class Compiled:
    """A view's plan and state; without them, or where there is a reason, the view is always recomputed. ``scripts`` are
    the Δ-scripts derived so far: each is derived once."""

    view: CompiledView | None
    state: State | None
    reason: str | None
    scripts: dict[tuple[frozenset[str], frozenset[str]], Script | None] = field(default_factory=dict, compare=False)

    def script(self, changed: Collection[str], growing: Collection[str] = ()) -> Script | None:
        """How the state follows changes of some tables: see ``refresh_script``."""
        assert self.state is not None
        asked = frozenset(changed), frozenset(growing)
        if asked not in self.scripts:
            self.scripts[asked] = refresh_script(self.state, changed, growing)
        return self.scripts[asked]


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
    if any(view.settings.get(name) == "true" for name in OTHER_SPELLINGS):
        return None, "not_compiled"
    helpers = {helper.id: helper.name for helper in view.helpers}
    try:
        compiled = _plan_of(view.query, tuple(view.sources.items()), tuple(view.bases.items()))
        if helpers:
            compiled = helped(compiled, lambda node, _: helpers.get(helper_id(node)))
    except NotDeterministic:
        raise
    except Exception:
        # Spark has understood the query. Whatever the compiler does not understand in it costs speed, not the view.
        return None, "not_compiled"
    return compiled, compiled.reason


@lru_cache(maxsize=64)
def _plan_of(
    query: str, sources: tuple[tuple[Name, str], ...], bases: tuple[tuple[str, BaseTable], ...]
) -> CompiledView:
    """A query compiled over tables that look like this."""
    return compile_view(query, _finder(dict(sources), dict(bases)))


def not_understood(view: View) -> Unbuildable | None:
    """The part of a view's query that the compiler knows it cannot make a plan of."""
    try:
        compile_view(view.query, _finder(view.sources, view.bases))
    except Unbuildable as error:
        return error
    except Exception:  # as in compiled_plan: what the compiler trips over has no name
        return None
    return None


def _finder(sources: Mapping[Name, str], bases: Mapping[str, BaseTable]) -> Tables:
    def table(name: Name) -> BaseTable | None:
        known = sources.get(tuple(part.lower() for part in name)) or sources.get(name)
        return None if known is None else bases[known]

    return table


def defined(catalog: Catalog, view: View, vector: Mapping[str, Identity], frame: Frame) -> tuple[View, Frame]:
    """The view with its columns and layout, and the rows of its state at a vector; ``frame`` is its query there."""
    engine = catalog.engine
    view = replace(view, columns=tuple(Column(*column) for column in engine.columns(frame)))
    catalog.store.check_types(view.title, frame)
    compiled, reason = compiled_plan(view)
    if any(identity.version is None for identity in vector.values()):
        reason = "not_versioned"
    if compiled is not None:
        view = replace(view, settings={**view.settings, **engine.planning_settings(compiled.keyed.plan)})
        made = _with_state(catalog, view, compiled, vector)
        if made is not None and not _holds(catalog, view, made[1]):
            reason, made = reason or "not_stored", None
        if made is not None:
            state, rows, types = made
            layout = Layout(state.kind, state.columns, state.on, state.show, state.feed, types, state.picked)
            reason = reason or _not_maintained(catalog, view, state, rows, types[-1], vector)
            view = replace(view, key=visible_key(compiled, view.columns), not_null=never_null(compiled))
            view = replace(view, inexact=_inexact(catalog, view, vector, state.kinds))
            return replace(view, layout=layout, always_full=reason, fingerprint=compiled.fingerprint), rows
    if any(has_no_equality(column.type) for column in view.columns):
        reason = reason or "not_comparable"
    if (chosen := with_choices_made(catalog, view, vector)) is not None:
        frame = chosen[0]
    names = [f"c{i}" for i in range(len(view.columns))]
    picked = ", ".join(
        f"{engine.quoted(n)} AS {engine.quoted(c.name)}" for n, c in zip(names, view.columns, strict=True)
    )
    show = f"SELECT {picked} FROM {engine.quoted(STATE)}"
    layout = Layout(ROWS, tuple(names), (), show, None)
    return replace(view, layout=layout, always_full=reason or "not_compiled"), engine.renamed(frame, names)


def _holds(catalog: Catalog, view: View, rows: Frame) -> bool:
    """Whether the view's store can hold all that is needed to follow changes."""
    try:
        catalog.store.check_types(view.title, rows)
    except Unsupported:
        return False
    return True


def with_choices_made(
    catalog: Catalog, view: View, vector: Mapping[str, Identity]
) -> tuple[Frame, tuple[Choice, ...]] | None:
    """The query's rows at a vector with the choices that it leaves open made as the view makes them, and these choices;
    None if it leaves none open, or has no plan. Nothing that is stored of the view or its helpers is read."""
    compiled, _ = compiled_plan(replace(view, helpers=()))
    if compiled is None or not compiled.choices:
        return None
    engine = catalog.engine
    frames = {table: base_rows(catalog, view.bases[table], vector[table].version) for table in view.tables}
    try:
        rows = engine.select(compiled.plan, frames, [column.name for column in view.columns])
        kinds = [kind for _, kind in engine.columns(rows)]
    except Exception:  # as in _with_state: the engine does not take the compiled query
        return None
    if engine.exact and kinds != [column.type for column in view.columns]:
        return None
    return rows, compiled.choices


def visible_key(compiled: CompiledView, columns: Sequence[Column]) -> tuple[str, ...]:
    """The columns that tell a view's rows apart, if they can be seen. Of one row at most, any column does."""
    keyed = compiled.keyed
    if keyed.key == ():
        return tuple(c.name for c in columns if "map<" not in c.type and not has_no_equality(c.type))[:1]
    if not keyed.key or set(keyed.key) & set(keyed.hidden):
        return ()
    return tuple(column.label for column in keyed.plan.columns if column.name in keyed.key)


def never_null(compiled: CompiledView) -> tuple[str, ...]:
    """The visible columns that are known never to be NULL."""
    told = facts_of(compiled.plan).not_null
    return tuple(column.label for column in compiled.plan.columns if column.name in told)


def _with_state(
    catalog: Catalog, view: View, compiled: CompiledView, vector: Mapping[str, Identity]
) -> tuple[State, Frame, tuple[tuple[str, ...], ...]] | None:
    """The view's state and its rows; None if the engine does not take the compiled query, or finds other types in it
    than in the text: then the compiler has not understood the query."""
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
        for row in _of_each_row(compiled.plan):
            engine.columns(engine.select(row, frames))
    except Exception:
        return None
    if engine.exact and [kind for _, kind in shown] != [column.type for column in view.columns]:
        return None
    return state, rows, tuple(types)


def _of_each_row(plan: Node) -> Iterator[Node]:
    """Plans that an engine takes only if the functions which we do not know are functions of one row: an aggregate,
    such as a user may have made, cannot stand in a condition."""
    for node in plan.walk():
        if isinstance(node, Project):
            for value in node.expressions:
                if value.find(exp.Anonymous):
                    yield Filter(node.input, exp.Is(this=value.copy(), expression=exp.null()))


def _not_maintained(
    catalog: Catalog, view: View, state: State, rows: Frame, types: Sequence[str], vector: Mapping[str, Identity]
) -> str | None:
    """Why changes of the base tables cannot be followed; None if they can."""
    try:
        refresh_script(state, view.bases)
    except NotMaintained as error:
        return error.code
    if any("map<" in kind for kind in types) and state.kind != "groups":
        return "not_comparable"
    if any(map(has_no_equality, types)) or (
        _sees_variant(view, state) and not _compared(catalog, view, state, rows, vector)
    ):
        return "not_comparable"
    return None if has_one_value_each(state) else INEXACT


def _inexact(catalog: Catalog, view: View, vector: Mapping[str, Identity], known: Mapping[str, str]) -> dict[str, str]:
    """The visible columns that are no floats and are computed from a floating-point aggregate, with this aggregate.
    ``known`` are types of what aggregates make; the engine is asked for others only if they decide it."""
    compiled, _ = compiled_plan(replace(view, helpers=()))
    if compiled is None:
        return {}
    plan, engine = compiled.plan, catalog.engine
    frames = {table: base_rows(catalog, view.bases[table], vector[table].version) for table in view.tables}
    kinds = dict(known) | {made.name: shown.type for made, shown in zip(plan.columns, view.columns, strict=True)}

    def found() -> dict[str, str]:
        of = computed_from_inexact(plan, kinds)
        shown = zip(plan.columns, view.columns, strict=True)
        return {column.name: of[made.name] for made, column in shown if made.name in of and not column.is_float}

    def types(part: Node) -> Sequence[str]:
        return [kind for _, kind in engine.columns(engine.select(part, frames, helper_labels(part)))]

    if not found():
        return {}
    for node in plan.walk():
        if isinstance(node, Aggregate | Window) and makes_inexact(node, kinds):
            items = node.aggregates if isinstance(node, Aggregate) else node.functions
            kinds |= {item.column.name: "not known" for item in items}
            with contextlib.suppress(Exception):  # the engine may not take a part alone: the step of a recursion
                kinds |= made_types(node, types)
    return found()


#: What makes a VARIANT of something else.
_MAKES_VARIANT = re.compile(r"variant\w*\s*\(|parse_json\s*\(|(\bas|::)\s*variant\b", re.IGNORECASE)


def _sees_variant(view: View, state: State) -> bool:
    """Whether some part of a view's query may have a column of a type without equality."""
    kinds = {(table, name): kind for table, base in view.bases.items() for name, kind in base.columns}
    scans = (node for node in state.root.walk() if isinstance(node, Scan))
    read = any(has_no_equality(kinds[scan.table, name]) for scan in scans for name in scan.sources)
    return read or _MAKES_VARIANT.search(view.query) is not None


def _compared(catalog: Catalog, view: View, state: State, rows: Frame, vector: Mapping[str, Identity]) -> bool:
    """Whether the changes of such a view can be followed without comparing what cannot be compared."""
    kinds = [kind for table, base in view.bases.items() if catalog.has(table) for _, kind in base.columns]
    if any(map(has_no_equality, kinds)):  # of a view that shows such columns, the change is not known
        return False
    frames = {table: base_rows(catalog, view.bases[table], i.version) for table, i in vector.items()}
    return takes_scripts(catalog.engine, view.query, state, rows, frames)


def write_whole(
    catalog: Catalog,
    view: View,
    rows: Frame,
    vector: Mapping[str, Identity],
    sequence: int,
    old: View | None,
    *,
    over: bool = False,
) -> Commit | None:
    """Puts rows, vector and a new definition into one commit; None if another session's came first. ``over``: in the
    place of a view that is damaged."""
    stamp = Stamp(stamp_metadata(vector, sequence, FULL, uuid.uuid4().hex), view.id, sequence)
    properties = {DEFINITION: view.to_json()}
    state = catalog.state(view.name)
    with catalog.engine.errors(view.query):
        if over:
            commit = catalog.store.recreate(state, rows, properties=properties, stamp=stamp)
        elif old is None:
            commit = catalog.store.create(state, rows, properties=properties, stamp=stamp)
        elif view == old:
            commit = catalog.store.commit(state, [Replace(rows)], stamp)
        else:
            commit = catalog.store.commit(state, [Replace(rows, (), properties)], stamp)
    return commit if is_ours(commit, stamp) else None


def is_ours(commit: Commit, stamp: Stamp) -> bool:
    """Whether the newest commit is the one just asked for, and not another session's with the same sequence number."""
    return bool(commit.metadata.get(RUN) == stamp.metadata[RUN])


def publish(catalog: Catalog, view: View) -> None:
    """Makes the view's name readable from Spark SQL, showing the query's columns only."""
    catalog.store.name_query(view.name, catalog.state(view.name), view.layout.show, called=STATE)
