"""A view's rows at a position, read from a stored version and the delta between the two. No base table is read.

    rows at p  =  stored rows ± rows of the delta between where they stand and p

This is what ``apply`` would store there, read by the query that shows the stored rows: so HAVING and ORDER BY … LIMIT
over groups hold. Nothing is written.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from rollview.engine.protocol import Engine, Frame
from rollview.errors import RollviewError, VersionGone
from rollview.plan.expressions import ref
from rollview.plan.nodes import Computed, Node, Project, Scan
from rollview.plan.reserved import STATE
from rollview.roll.reachable import Anchor, Reachable, reachable
from rollview.roll.rows import DELTA_ROWS, between, change_of, delta_scan
from rollview.state.state import State
from rollview.state.top_rows import STORED
from rollview.state.written import after
from rollview.views.as_of import rows_as_of
from rollview.views.catalog import Catalog
from rollview.views.goal import Goal
from rollview.views.relation import scan_of

#: The name of the relation that has the rows of a stored version.
STORED_ROWS = f"{STATE} {STORED}"


def read_as_of(catalog: Catalog, name: str, goal: Goal) -> Frame:
    """The rows of a table or view at a goal. A view whose delta reaches it, and every such view below another one, is
    read from its stored rows and the delta; otherwise its query is run over its tables there."""

    def of_view(view: str) -> Frame | None:
        found = reachable(catalog, view)
        position = None if found is None else found.position(goal.vector)
        return None if found is None or position is None else shown_at(found, position)

    return rows_as_of(catalog, name, goal, of_view)


def shown_at(found: Reachable, position: int) -> Frame:
    """The view's rows at a position in reach."""
    view, engine = found.rolled.view, found.rolled.catalog.engine
    with engine.settings(view.settings):
        return engine.over_state(stored_at(found, position), view.layout.show)


def stored_at(found: Reachable, position: int) -> Frame:
    """What is stored of the view at a position in reach."""
    rolled, engine = found.rolled, found.rolled.catalog.engine
    anchor, stored = nearest(found, position)
    if anchor.position == position:
        return stored
    plan = state_at(rolled.state, anchor, position)
    frames = {STORED_ROWS: stored, DELTA_ROWS: rolled.delta.read(found.stored.version)}
    return as_stored(engine, engine.select(plan, frames, rolled.state.columns), engine.columns(stored))


def nearest(found: Reachable, position: int) -> tuple[Anchor, Frame]:
    """The stored version from which a position is reached, and its rows."""
    catalog, gone = found.rolled.catalog, None
    state = catalog.state(found.rolled.view.name)
    for anchor in found.anchors(position):
        try:
            return anchor, catalog.store.read(state, anchor.version)
        except VersionGone as error:
            gone = error
    raise gone or _stands_outside(found, position)


def state_at(state: State, anchor: Anchor, position: int) -> Node:
    """The stored rows at a position, as a plan over those of a version."""
    scan = stored_scan(state)
    if anchor.position == position:
        return scan
    rows = between(delta_scan(state), *sorted((anchor.position, position)))
    return after(scan, state.take(change_of(state, rows, back=position < anchor.position)))


def stored_scan(state: State) -> Scan:
    """The rows of a stored version as a relation."""
    return Scan(STATE, state.plan.columns, state.columns, version=STORED)


def as_stored(engine: Engine, rows: Frame, wanted: Sequence[tuple[str, str]]) -> Frame:
    """Rows in the types of stored ones: sums may have come to a wider one."""
    have = engine.columns(rows)
    kinds = dict(wanted)
    if all(kinds.get(name, kind) == kind for name, kind in have):
        return rows
    scan = scan_of("rows", have)
    output = []
    for column, (name, kind) in zip(scan.output, have, strict=True):
        stored = exp.DataType.build(kinds.get(name, kind), dialect="spark")
        value = ref(column.name)
        output.append(Computed(column, value if stored == column.type else exp.Cast(this=value, to=stored)))
    return engine.select(Project(scan, tuple(output)), {"rows": rows}, [name for name, _ in have])


def _stands_outside(found: Reachable, position: int) -> RollviewError:
    title = found.rolled.view.title
    return VersionGone(
        f"No stored version of {title} leads to position {position}",
        why="none stands where its timed delta reaches",
        todo=f"rv.propagate({title!r})",
    )
