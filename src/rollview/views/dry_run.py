"""Whether the engine takes the Δ-scripts of a view: each is planned, and none is run.

Some types cannot be grouped or compared. What a rule does with the columns of such a type depends on the query, so the
engine is asked.
"""

from __future__ import annotations

from collections.abc import Mapping

from rollview.delta.derivation import CHANGE, STEP
from rollview.engine.protocol import Engine, Frame, relation_name
from rollview.errors import RollviewError
from rollview.plan.nodes import Node, Scan
from rollview.state.state import State
from rollview.strategy.script import STATE_VERSION, Script, refresh_script
from rollview.views.relation import added


def takes_scripts(engine: Engine, query: str, state: State, rows: Frame, tables: Mapping[str, Frame]) -> bool:
    """Whether the view of a query can be followed whichever of its tables change. ``rows`` are those of its state."""
    for changed in (list(tables), *([table] for table in tables)):
        for growing in ([], changed):
            script = refresh_script(state, changed, growing)
            try:
                if script is not None:
                    with engine.errors(query):
                        _plan(engine, script, rows, tables)
            except RollviewError:  # what the engine has against it, it would say at a refresh
                return False
    return True


def _plan(engine: Engine, script: Script, rows: Frame, tables: Mapping[str, Frame]) -> None:
    steps: dict[str, Frame] = {}

    def relation(scan: Scan) -> Frame:
        if scan.version == STEP:
            return steps[relation_name(scan)]
        if scan.version == STATE_VERSION:
            return rows
        whole = tables[scan.table]
        return added(engine, whole) if scan.version == CHANGE else whole

    def select(plan: Node, names: list[str] | None) -> Frame:
        frames = {relation_name(scan): relation(scan) for scan in plan.walk() if isinstance(scan, Scan)}
        return engine.select(plan, frames, names)

    for step in script.steps:
        steps[f"{step.name} {STEP}"] = select(step.plan, [column.name for column in step.plan.columns])
    select(script.rows, None)
