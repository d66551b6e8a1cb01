"""Nothing that the view uses has changed: only its vector advances."""

from __future__ import annotations

from collections.abc import Sequence

from rollview.delta.passes import Pass
from rollview.limits import Limits
from rollview.state.state import State
from rollview.strategy.plan import Advance, RefreshPlan
from rollview.strategy.propagate import Change
from rollview.strategy.strategy import Choice, Situation, Strategy

NO_OP = "no_op"


class NoOp(Strategy):
    name = NO_OP
    done = "nothing that the view uses has changed since the last refresh"
    incremental = False

    def refusal(self, state: State, change: Change) -> str | None:
        return "the tables have changed" if change.tables else None

    def derived(self, state: State, change: Change, passes: Sequence[Pass]) -> RefreshPlan | None:
        return unchanged()

    def row_cost(self, limits: Limits) -> int:
        return 1  # no row has changed

    def explained(self, situation: Situation) -> Choice:
        why = "while no column that the view uses has changed"
        return self.refuses(why) if situation.varies else self.applies(why)

    def choice(self, situation: Situation, state: State) -> Choice:
        return self.explained(situation)


def unchanged() -> RefreshPlan:
    """The plan of a refresh that changes no row."""
    return RefreshPlan(NO_OP, (Advance(),))
