"""A query → plan → state, and with them the columns and the layout of a view's definition."""

from __future__ import annotations

import contextlib
import logging
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from rollview.delta.analysis.inexact import computed_from_inexact, makes_inexact
from rollview.delta.derivation import NotMaintained
from rollview.engine.protocol import Engine, Frame, has_no_equality
from rollview.errors import InternalError, RollviewError, Unsupported
from rollview.frontend.query import CompiledView, Query
from rollview.frontend.sql import BaseTable
from rollview.keys import Choice, facts_of
from rollview.parse.names import Name
from rollview.parse.views import Policy
from rollview.plan.nodes import Aggregate, Filter, Node, Project, Scan, Window
from rollview.plan.reserved import STATE
from rollview.state.groups import Groups
from rollview.state.helpers import helper_labels
from rollview.state.make import state_of
from rollview.state.state import State
from rollview.state.types import FoundTypes, made_types
from rollview.store.protocol import Identity
from rollview.strategy.propagate import Change
from rollview.strategy.reasons import INEXACT
from rollview.strategy.strategy import Situation
from rollview.views.catalog import Catalog
from rollview.views.compiled import BUG, Compiled, Failed, compiled_query, guarded, report
from rollview.views.definition import ROWS, Layout, View, ViewColumn
from rollview.views.dry_run import takes_plans
from rollview.views.relation import rows_at

logger = logging.getLogger("rollview")


@dataclass(frozen=True)
class Defined:
    """A view with its columns and its layout, what it is compiled to, and the rows that its state is to have."""

    view: View
    compiled: Compiled
    rows: Frame


def undefined(
    name: str,
    query: Query,
    policy: Policy,
    sources: Mapping[Name, str],
    bases: Mapping[str, BaseTable],
    settings: Mapping[str, str],
    *,
    id: str | None = None,
    comment: str | None = None,
    owner: str | None = None,
) -> View:
    """A view whose columns and layout are not known yet."""
    nothing = Layout(ROWS, (), (), "", None)
    made = id or uuid.uuid4().hex
    return View(name, made, query, policy, comment, (), sources, bases, nothing, settings=settings, owner=owner)


def defined(catalog: Catalog, view: View, vector: Mapping[str, Identity], frame: Frame) -> Defined:
    """The view with its columns and layout, and the rows of its state at a vector; ``frame`` is its query there."""
    engine = catalog.engine
    view = replace(view, columns=tuple(ViewColumn(*column) for column in engine.columns(frame)))
    catalog.store.check_types(view.title, frame)
    compiled = compiled_query(view)
    reason = compiled.reason
    if any(identity.version is None for identity in vector.values()):
        reason = "not_versioned"
    if compiled.query is not None:
        query = compiled.query
        view = replace(view, settings={**view.settings, **engine.planning_settings(query.keyed.plan)})
        try:
            made = guarded(lambda: _with_state(catalog, view, query, vector))
        except Failed as error:
            made, reason, compiled = None, reason or BUG, replace(compiled, reason=BUG, trace=error.trace)
        if isinstance(made, str):
            logger.warning("%s is recomputed at every refresh: %s", view.title, made)
            made, compiled = None, replace(compiled, refused=made)
        if made is not None and not _holds(catalog, view, made.rows):
            reason, made = reason or "not_stored", None
        if made is not None:
            return _incremental(catalog, view, compiled.with_state(made.state), made, reason, vector)
    if compiled.trace is not None:
        report(view.title, compiled.trace)
    return _recomputed(catalog, view, compiled, frame, reason, vector)


@dataclass(frozen=True)
class _Made:
    """A state, the rows of it, and the types of what aggregates and windows make."""

    state: State
    rows: Frame
    kinds: Mapping[str, str]


def _with_state(catalog: Catalog, view: View, query: CompiledView, vector: Mapping[str, Identity]) -> _Made | str:
    """The view's state and its rows; or why there are none: the engine refuses the compiled query, or finds other types
    in it than in the text. Then the compiler has not understood the query."""
    engine = catalog.engine
    frames = {table: rows_at(catalog, view.bases[table], i.version) for table, i in vector.items()}
    types = FoundTypes(lambda plan: _types(engine, plan, frames))
    try:
        with _asking(engine, view.query):
            state = state_of(query, types, [column.name for column in view.columns], engine.dialect)
            rows = engine.select(state.plan, frames)
            shown = engine.columns(engine.over_state(rows, state.shown.query))
            for row in _of_each_row(query.plan):
                engine.columns(engine.select(row, frames))
    except _Refused as error:
        return f"the compiled query is refused: {error}"
    if engine.exact:
        for (name, kind), column in zip(shown, view.columns, strict=True):
            if kind != column.type:
                return f"column {name} of the compiled query is of type {kind}, and that of the text of {column.type}"
    return _Made(state, rows, types.found)


def _incremental(
    catalog: Catalog, view: View, compiled: Compiled, made: _Made, reason: str | None, vector: Mapping[str, Identity]
) -> Defined:
    """The definition of a view whose query has a plan and a state."""
    state, query = made.state, compiled.query
    assert query is not None
    types = dict(catalog.engine.columns(made.rows))
    shown = state.shown
    layout = Layout(state.kind, state.columns, state.on, shown.query, shown.feed, types, made.kinds, shown.picked)
    try:
        reason = reason or guarded(lambda: _not_maintained(catalog, view, compiled, made, list(types.values()), vector))
    except Failed as error:
        reason, compiled = BUG, replace(compiled, reason=BUG, trace=error.trace)
        report(view.title, error.trace)
    view = replace(
        view,
        key=visible_key(query, view.columns),
        not_null=never_null(query),
        inexact=_inexact(catalog, view, vector, state.followed.kinds),
        layout=layout,
        always_full=reason,
        because=compiled.because if reason is not None else None,
        fingerprint=query.fingerprint,
    )
    return Defined(view, compiled, made.rows)


def _recomputed(
    catalog: Catalog,
    view: View,
    compiled: Compiled,
    frame: Frame,
    reason: str | None,
    vector: Mapping[str, Identity],
) -> Defined:
    """The definition of a view that stores just what its query returns."""
    engine = catalog.engine
    if any(has_no_equality(column.type) for column in view.columns):
        reason = reason or "not_comparable"
    if (chosen := with_choices_made(catalog, view, tables_at(catalog, view, vector))) is not None:
        frame = chosen[0]
    names = [f"c{i}" for i in range(len(view.columns))]
    picked = ", ".join(
        f"{engine.quoted(n)} AS {engine.quoted(c.name)}" for n, c in zip(names, view.columns, strict=True)
    )
    layout = Layout(ROWS, tuple(names), (), f"SELECT {picked} FROM {engine.quoted(STATE)}", None)
    view = replace(view, layout=layout, always_full=reason or "not_compiled", because=compiled.because)
    return Defined(view, compiled, engine.renamed(frame, names))


def _holds(catalog: Catalog, view: View, rows: Frame) -> bool:
    """Whether the view's store can hold all that an incremental refresh needs."""
    try:
        catalog.store.check_types(view.title, rows)
    except Unsupported:
        return False
    return True


def tables_at(catalog: Catalog, view: View, vector: Mapping[str, Identity]) -> dict[str, Frame]:
    """The rows of what a view's query reads, at a vector; its helpers are not among it."""
    return {table: rows_at(catalog, view.bases[table], vector[table].version) for table in view.tables}


def with_choices_made(
    catalog: Catalog, view: View, frames: Mapping[str, Frame]
) -> tuple[Frame, tuple[Choice, ...]] | None:
    """The query over rows of its tables with the choices that it leaves open made as the view makes them, and these
    choices; None if it leaves none open, or has no plan. Nothing that is stored of the view or its helpers is read."""
    query = compiled_query(replace(view, helpers=())).query
    if query is None or not query.choices:
        return None
    engine = catalog.engine
    try:
        with _asking(engine, view.query):
            rows = engine.select(query.plan, frames, [column.name for column in view.columns])
            kinds = [kind for _, kind in engine.columns(rows)]
    except _Refused:
        return None
    if engine.exact and kinds != [column.type for column in view.columns]:
        return None
    return rows, query.choices


def visible_key(query: CompiledView, columns: Sequence[ViewColumn]) -> tuple[str, ...]:
    """The columns that tell a view's rows apart, if they can be seen. If there is one row at most, any column does."""
    keyed = query.keyed
    if keyed.key == ():
        return tuple(c.name for c in columns if "map<" not in c.type and not has_no_equality(c.type))[:1]
    if not keyed.key or set(keyed.key) & set(keyed.hidden):
        return ()
    return tuple(column.label for column in keyed.plan.columns if column.name in keyed.key)


def never_null(query: CompiledView) -> tuple[str, ...]:
    """The visible columns that are known never to be NULL."""
    known = facts_of(query.plan).not_null
    return tuple(column.label for column in query.plan.columns if column.name in known)


class _Refused(Exception):
    """The engine refuses a compiled query."""


@contextlib.contextmanager
def _asking(engine: Engine, query: Query) -> Iterator[None]:
    """Raises _Refused if the engine refuses what is compiled from a query. A failure of ours stays what it is."""
    try:
        with engine.errors(query.text):
            yield
    except InternalError:
        raise
    except RollviewError as error:
        raise _Refused(error.why or error.what) from error


def _types(engine: Engine, plan: Node, frames: Mapping[str, Frame]) -> list[str]:
    """The types of a plan's columns."""
    return [kind for _, kind in engine.columns(engine.select(plan, frames, helper_labels(plan)))]


def _of_each_row(plan: Node) -> Iterator[Node]:
    """Plans that an engine takes only if the functions which we do not know are functions of one row: an aggregate,
    such as a user may have made, cannot stand in a condition."""
    for node in plan.walk():
        if isinstance(node, Project):
            for value in node.expressions:
                if value.find(exp.Anonymous):
                    yield Filter(node.input, exp.Is(this=value.copy(), expression=exp.null()))


def _not_maintained(
    catalog: Catalog,
    view: View,
    compiled: Compiled,
    made: _Made,
    types: Sequence[str],
    vector: Mapping[str, Identity],
) -> str | None:
    """Why changes of the base tables cannot be followed; None if they can."""
    state = made.state
    try:
        compiled.chooser.choose(Situation(state, Change(frozenset(view.bases)), Policy.INCREMENTAL))
    except NotMaintained as error:
        return error.code
    if any("map<" in kind for kind in types) and not isinstance(state, Groups):
        return "not_comparable"
    if any(map(has_no_equality, types)) or (
        _sees_variant(view, state) and not _compared(catalog, view, state, made.rows, vector)
    ):
        return "not_comparable"
    return None if state.has_one_value_each else INEXACT


def _inexact(catalog: Catalog, view: View, vector: Mapping[str, Identity], known: Mapping[str, str]) -> dict[str, str]:
    """The visible columns that are no floats and are computed from a floating-point aggregate, with this aggregate.
    ``known`` are types of what aggregates make; the engine is asked for others only if they decide it."""
    query = compiled_query(replace(view, helpers=())).query
    if query is None:
        return {}
    plan, engine = query.plan, catalog.engine
    frames = tables_at(catalog, view, vector)
    kinds = dict(known) | {made.name: shown.type for made, shown in zip(plan.columns, view.columns, strict=True)}

    def found() -> dict[str, str]:
        of = computed_from_inexact(plan, kinds)
        shown = zip(plan.columns, view.columns, strict=True)
        return {column.name: of[made.name] for made, column in shown if made.name in of and not column.is_float}

    if not found():
        return {}
    types = FoundTypes(lambda part: _types(engine, part, frames))
    for node in plan.walk():
        if isinstance(node, Aggregate | Window) and makes_inexact(node, kinds):
            items = node.aggregates if isinstance(node, Aggregate) else node.functions
            kinds |= {item.column.name: "not known" for item in items}
            with contextlib.suppress(_Refused), _asking(engine, view.query):  # a part alone, as the step of a recursion
                kinds |= made_types(node, types)
    return found()


#: What makes a VARIANT of something else.
_MAKES_VARIANT = re.compile(r"variant\w*\s*\(|parse_json\s*\(|(\bas|::)\s*variant\b", re.IGNORECASE)


def _sees_variant(view: View, state: State) -> bool:
    """Whether some part of a view's query may have a column of a type without equality."""
    kinds = {(table, name): kind for table, base in view.bases.items() for name, kind in base.columns}
    scans = (node for node in state.followed.plan.walk() if isinstance(node, Scan))
    read = any(has_no_equality(kinds[scan.table, name]) for scan in scans for name in scan.sources)
    return read or _MAKES_VARIANT.search(view.query.text) is not None


def _compared(catalog: Catalog, view: View, state: State, rows: Frame, vector: Mapping[str, Identity]) -> bool:
    """Whether the changes of such a view can be followed without comparing what cannot be compared."""
    kinds = [kind for table, base in view.bases.items() if catalog.has(table) for _, kind in base.columns]
    if any(map(has_no_equality, kinds)):  # the change of a view that shows such columns is not known
        return False
    frames = {table: rows_at(catalog, view.bases[table], i.version) for table, i in vector.items()}
    return takes_plans(catalog.engine, view.query.text, state, rows, frames)
