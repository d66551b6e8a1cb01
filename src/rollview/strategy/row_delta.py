"""The rows that differ are merged by their key; of rows without a key, copies are added and removed."""

from __future__ import annotations

from collections.abc import Sequence

from rollview.delta.passes import Pass
from rollview.plan.nodes import Filter, Node, Project, Window
from rollview.state.groups import Groups
from rollview.state.state import State
from rollview.strategy.plan import RefreshPlan, incremental
from rollview.strategy.propagate import Change, row_changes
from rollview.strategy.strategy import Strategy


def ends_in_window(state: State) -> bool:
    """Whether the view's rows are those of a window."""
    node: Node = state.followed.plan
    while isinstance(node, Project | Filter):
        node = node.input
    return isinstance(node, Window)


class RowDelta(Strategy):
    name = "row_delta"
    done = "the rows that differ were merged"

    def refusal(self, state: State, change: Change) -> str | None:
        if isinstance(state, Groups):
            return "the view's rows are groups"
        return "the rows are those of a window" if ends_in_window(state) else None

    def derived(self, state: State, change: Change, passes: Sequence[Pass]) -> RefreshPlan | None:
        delta = row_changes(state, change)
        return None if delta is None else incremental(self.name, delta, state.take(delta), passes)
