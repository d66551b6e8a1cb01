"""The list of strategies, in a fixed order, and the first that applies. Costs are compared only with recomputing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from rollview.delta.passes import PASSES, Pass
from rollview.garbage import collected_rarely
from rollview.limits import Limits
from rollview.parse.views import Policy
from rollview.stack import deep
from rollview.strategy.aggregate_merge import AggregateMerge
from rollview.strategy.append import Append
from rollview.strategy.full import Full
from rollview.strategy.group_recompute import GroupRecompute
from rollview.strategy.no_op import NoOp, unchanged
from rollview.strategy.partition_recompute import PartitionRecompute
from rollview.strategy.plan import RefreshPlan, Refusal
from rollview.strategy.row_delta import RowDelta
from rollview.strategy.strategy import ANY, OTHER, Choice, Situation, Strategy

#: All strategies, in the order in which they are tried: one that does less stands before those that do more.
STRATEGIES: tuple[Strategy, ...] = (
    NoOp(),
    Append(),
    RowDelta(),
    AggregateMerge(),
    GroupRecompute(),
    PartitionRecompute(),
    Full(),
)

#: What a refresh by each strategy did, as a sentence.
DONE = {strategy.name: strategy.done for strategy in STRATEGIES}


def strategy_named(name: str) -> Strategy:
    return next(strategy for strategy in STRATEGIES if strategy.name == name)


@dataclass
class Chooser:
    """Chooses strategies for one view, and keeps the plans that it has made: the same change is derived once."""

    _made: dict[tuple[object, ...], RefreshPlan | Refusal] = field(default_factory=dict)

    def choose(self, situation: Situation, passes: Sequence[Pass] = PASSES) -> RefreshPlan | Refusal:
        """The plan of the first strategy that applies; why the view cannot be recomputed, if that is what is left."""
        change = situation.change
        asked = (change.tables, change.growing, situation.reason, situation.policy, tuple(passes))
        if asked not in self._made:
            self._made[asked] = first_that_applies(situation, passes)
        return self._made[asked]


@deep
@collected_rarely()
def first_that_applies(situation: Situation, passes: Sequence[Pass] = PASSES) -> RefreshPlan | Refusal:
    """The plan of the first strategy that applies."""
    found: RefreshPlan | Refusal | None = None
    for strategy in STRATEGIES:
        found = strategy.plan(situation, passes)
        if not isinstance(found, Refusal):
            return unchanged() if found is None else found
    assert isinstance(found, Refusal)
    return found


def most_rows(
    plan: RefreshPlan, policy: Policy, limits: Limits, all_rows: Callable[[], int]
) -> Callable[[], int] | None:
    """Tells the most changed rows for which a plan costs less than recomputing, which reads and writes ``all_rows``.
    None if the policy is not to compare."""
    if policy is not Policy.AUTO:
        return None
    cost = strategy_named(plan.strategy).row_cost(limits)
    return lambda: max(limits.always_followed, all_rows() // cost)


def choices(situation: Situation) -> list[Choice]:
    """Every strategy, with the changes that it is for, or why it does not apply to the view."""
    found: list[Choice] = []
    before: list[Choice] = []
    for strategy in STRATEGIES:
        choice = strategy.explained(situation)
        if choice.applies and strategy.incremental:
            choice = _after(choice, before)
            before.append(choice)
        found.append(choice)
    return found


def _after(choice: Choice, before: Sequence[Choice]) -> Choice:
    """What earlier strategies leave to one that applies: the first one that applies to a change is taken."""
    whole = next((each.strategy for each in before if each.why in (ANY, OTHER)), None)
    if whole is not None:
        return replace(choice, applies=False, why=f"{whole} comes first, and applies to every change")
    return replace(choice, why=OTHER) if before and choice.why == ANY else choice
