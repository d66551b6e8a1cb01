"""Changes are added to the stored sums and counts of the affected groups."""

from __future__ import annotations

from collections.abc import Sequence

from rollview.delta.partials import ADD, RECOMPUTE
from rollview.delta.passes import Pass
from rollview.limits import Limits
from rollview.plan.nodes import show
from rollview.state.groups import Groups
from rollview.state.state import State
from rollview.strategy.plan import RefreshPlan, incremental
from rollview.strategy.propagate import Change, group_sums, grows
from rollview.strategy.strategy import ANY, Choice, Situation, Strategy

#: Why a strategy for groups does not apply to other views.
NO_GROUPS = "not a GROUP BY view: its query does not end in an aggregate"


class AggregateMerge(Strategy):
    name = "aggregate_merge"
    done = "changes were added to the affected groups"

    def refusal(self, state: State, change: Change) -> str | None:
        if not isinstance(state, Groups):
            return NO_GROUPS
        never = [show(partial.value) for partial in state.partials if partial.combine == RECOMPUTE]
        extremes = [show(p.value) for p in state.partials if p.combine not in (ADD, RECOMPUTE)]
        if never or (extremes and not grows(state.root.input, change)):
            return f"{', '.join(never or extremes)} cannot be added to and subtracted from"
        return None

    def derived(self, state: State, change: Change, passes: Sequence[Pass]) -> RefreshPlan | None:
        assert isinstance(state, Groups)
        delta = group_sums(state, change)
        return None if delta is None else incremental(self.name, delta, state.take(delta), passes)

    def row_cost(self, limits: Limits) -> int:
        return limits.merge_cost

    def choice(self, situation: Situation, state: State) -> Choice:
        why = self.refusal(state, situation.after(situation.tables))
        if why is None:
            return self.applies(ANY)
        tables = situation.tables
        merges = [each for each in tables if self.refusal(state, situation.after([each], [each])) is None]
        return self.applies(f"if rows are only added, to {' or '.join(merges)}: {why}") if merges else self.refuses(why)
