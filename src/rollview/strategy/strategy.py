"""What a strategy is: it says whether it can refresh a view after a change, and how."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from rollview.delta.passes import PASSES, Pass
from rollview.limits import Limits
from rollview.parse.views import Policy
from rollview.state.state import State
from rollview.strategy.plan import RefreshPlan, Refusal
from rollview.strategy.propagate import Change
from rollview.strategy.reasons import REASONS

#: The changes that a strategy is for: all of them, or all that no earlier strategy takes.
ANY, OTHER = "for any change", "for any other change"


@dataclass(frozen=True)
class Situation:
    """A view and a change of its base tables. ``reason`` is the code of why the view has to be recomputed, if it has to
    be. ``state`` is None if the query is not compiled. ``moved`` gives the relations of the view's plan that change
    with some tables: these and the helpers over them. ``varies`` says that the query may return other rows although no
    table changed."""

    state: State | None
    change: Change
    policy: Policy = Policy.AUTO
    reason: str | None = None
    tables: tuple[str, ...] = ()
    moved: Callable[[Collection[str]], list[str]] = field(default=list, compare=False)
    varies: bool = False

    def after(self, tables: Sequence[str], growing: Sequence[str] = ()) -> Change:
        """The change in which these tables changed."""
        return Change(frozenset(self.moved(tables)), frozenset(self.moved(growing)))


@dataclass(frozen=True)
class Choice:
    """A strategy, whether a view can be refreshed by it, and when or why not."""

    strategy: str
    applies: bool
    why: str


class Strategy(ABC):
    """``done`` says what a refresh by this strategy did. ``incremental``: it carries changes of the tables into the
    view."""

    name: ClassVar[str]
    done: ClassVar[str]
    incremental: ClassVar[bool] = True

    @abstractmethod
    def refusal(self, state: State, change: Change) -> str | None:
        """Why a state cannot follow a change by this strategy; None if it can. Derives nothing."""

    @abstractmethod
    def derived(self, state: State, change: Change, passes: Sequence[Pass]) -> RefreshPlan | None:
        """The plan; None if the change cannot change the view."""

    def plan(self, situation: Situation, passes: Sequence[Pass] = PASSES) -> RefreshPlan | Refusal | None:
        """How to refresh a view, or why it cannot be refreshed so; None if the view need not change."""
        state, change = situation.state, situation.change
        if situation.reason is not None or state is None:
            return Refusal(situation.reason or "not_compiled")
        why = self.refusal(state, change)
        return self.derived(state, change, passes) if why is None else Refusal(why)

    def row_cost(self, limits: Limits) -> int:
        """What a changed row costs, in rows of a recomputation."""
        return limits.row_cost

    def explained(self, situation: Situation) -> Choice:
        """Whether a view can be refreshed by this strategy after some change, and after which."""
        if situation.reason is not None or situation.state is None:
            return self.refuses(REASONS[situation.reason or "not_compiled"])
        return self.choice(situation, situation.state)

    def choice(self, situation: Situation, state: State) -> Choice:
        """The same for a view that need not be recomputed, as if there were no other strategies."""
        why = self.refusal(state, situation.after(situation.tables))
        return self.applies(ANY) if why is None else self.refuses(why)

    def applies(self, why: str) -> Choice:
        return Choice(self.name, True, why)

    def refuses(self, why: str) -> Choice:
        return Choice(self.name, False, why)
