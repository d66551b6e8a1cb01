"""Whether the engine accepts the plans of a view's refreshes: each is planned, and none is run.

Some types cannot be grouped or compared. What a rule does with the columns of such a type depends on the query, so the
engine is asked.
"""

from __future__ import annotations

from collections.abc import Mapping

from rollview.delta.derivation import CHANGE, STEP
from rollview.engine.protocol import Engine, Frame, relation_name
from rollview.errors import InternalError, RollviewError
from rollview.parse.views import Policy
from rollview.plan.nodes import Node, Scan
from rollview.state.state import State
from rollview.state.top_rows import STORED
from rollview.strategy.choose import first_that_applies
from rollview.strategy.plan import RefreshPlan
from rollview.strategy.propagate import Change
from rollview.strategy.strategy import Situation
from rollview.views.relation import added


def takes_plans(engine: Engine, query: str, state: State, rows: Frame, tables: Mapping[str, Frame]) -> bool:
    """Whether the view of a query can be followed whichever of its tables change. ``rows`` are those of its state."""
    for changed in (list(tables), *([table] for table in tables)):
        for growing in ([], changed):
            change = Change(frozenset(changed), frozenset(growing))
            plan = first_that_applies(Situation(state, change, Policy.INCREMENTAL))
            try:
                if isinstance(plan, RefreshPlan):
                    with engine.errors(query):
                        _plan(engine, plan, rows, tables)
            except InternalError:
                raise
            except RollviewError:  # what the engine has against it, it would say at a refresh
                return False
    return True


def _plan(engine: Engine, plan: RefreshPlan, rows: Frame, tables: Mapping[str, Frame]) -> None:
    steps: dict[str, Frame] = {}

    def relation(scan: Scan) -> Frame:
        if scan.version == STEP:
            return steps[relation_name(scan)]
        if scan.version == STORED:
            return rows
        whole = tables[scan.table]
        return added(engine, whole) if scan.version == CHANGE else whole

    def select(part: Node, names: list[str] | None) -> Frame:
        frames = {relation_name(scan): relation(scan) for scan in part.walk() if isinstance(scan, Scan)}
        return engine.select(part, frames, names)

    for step in plan.steps:
        steps[f"{step.name} {STEP}"] = select(step.plan, [column.name for column in step.plan.columns])
    if plan.write is not None:
        select(plan.write.rows, None)
