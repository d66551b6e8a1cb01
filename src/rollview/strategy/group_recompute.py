"""The affected groups are recomputed from the base tables."""

from __future__ import annotations

from collections.abc import Sequence

from rollview.delta.passes import Pass
from rollview.state.groups import Groups
from rollview.state.state import State
from rollview.strategy.aggregate_merge import NO_GROUPS
from rollview.strategy.plan import RefreshPlan, incremental
from rollview.strategy.propagate import Change, affected_groups
from rollview.strategy.strategy import Strategy


class GroupRecompute(Strategy):
    name = "group_recompute"
    done = "the affected groups were recomputed"

    def refusal(self, state: State, change: Change) -> str | None:
        return None if isinstance(state, Groups) else NO_GROUPS

    def derived(self, state: State, change: Change, passes: Sequence[Pass]) -> RefreshPlan | None:
        assert isinstance(state, Groups)
        delta = affected_groups(state, change)
        return None if delta is None else incremental(self.name, delta, state.take(delta), passes)
