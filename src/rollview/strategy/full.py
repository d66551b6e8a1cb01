"""The whole query is run, and its rows replace the stored ones."""

from __future__ import annotations

from collections.abc import Sequence

from rollview.delta.passes import PASSES, Pass
from rollview.parse.views import Policy
from rollview.state.state import State
from rollview.strategy.plan import Advance, Recompute, RefreshPlan, Refusal
from rollview.strategy.propagate import Change
from rollview.strategy.reasons import REASONS
from rollview.strategy.strategy import Choice, Situation, Strategy

FULL = "full"


class Full(Strategy):
    name = FULL
    done = "the whole query was computed"
    incremental = False

    def refusal(self, state: State, change: Change) -> str | None:
        return None

    def derived(self, state: State, change: Change, passes: Sequence[Pass]) -> RefreshPlan | None:
        return recomputation("requested")

    def plan(self, situation: Situation, passes: Sequence[Pass] = PASSES) -> RefreshPlan | Refusal | None:
        reason = situation.reason or "not_compiled"
        if situation.policy is Policy.STRICT and reason != "requested":
            return Refusal(f"{reason}: {REASONS[reason]}; its policy is INCREMENTAL STRICT, so nothing was done")
        return recomputation(reason)

    def explained(self, situation: Situation) -> Choice:
        if situation.reason is not None or situation.state is None:
            return self.applies(REASONS[situation.reason or "not_compiled"])
        return self.choice(situation, situation.state)

    def choice(self, situation: Situation, state: State) -> Choice:
        if situation.policy is Policy.STRICT:
            return self.refuses("the policy is INCREMENTAL STRICT; only REFRESH … FULL does it")
        much = ", or if recomputing is cheaper" if situation.policy is Policy.AUTO else ""
        return self.applies(f"if it is asked for, if the history of a table is gone{much}")


def recomputation(reason: str) -> RefreshPlan:
    """The plan that recomputes a view."""
    return RefreshPlan(FULL, (Recompute(reason), Advance()))
