"""New rows are appended. No stored row is read."""

from __future__ import annotations

from collections.abc import Sequence

from rollview.delta.passes import Pass
from rollview.limits import Limits
from rollview.state.groups import Groups
from rollview.state.state import State
from rollview.strategy.plan import RefreshPlan, incremental
from rollview.strategy.propagate import Change, grows, row_changes
from rollview.strategy.strategy import Choice, Situation, Strategy


class Append(Strategy):
    name = "append"
    done = "new rows were appended"

    def refusal(self, state: State, change: Change) -> str | None:
        if isinstance(state, Groups):
            return "the view's rows are groups"
        if not grows(state.followed.plan, change):
            return "new rows of a table can remove rows from the result"
        return None

    def derived(self, state: State, change: Change, passes: Sequence[Pass]) -> RefreshPlan | None:
        delta = row_changes(state, change)
        return None if delta is None else incremental(self.name, delta, state.take(delta), passes)

    def row_cost(self, limits: Limits) -> int:
        return limits.append_cost

    def choice(self, situation: Situation, state: State) -> Choice:
        tables = situation.tables
        growing = [each for each in tables if self.refusal(state, situation.after([each], [each])) is None]
        if not growing:
            change = situation.after(tables[:1], tables[:1])
            return self.refuses(self.refusal(state, change) or "")
        if len(growing) == len(tables) and self.refusal(state, situation.after(tables, tables)) is None:
            return self.applies(f"if rows are only added, to {' and '.join(growing)}")
        alone = f"{' or '.join(growing)} alone" if len(growing) > 1 else growing[0]
        return self.applies(f"if rows are only added, to {alone}")
