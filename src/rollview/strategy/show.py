"""A plan of a refresh as text: its stages in order, each with the plan of its rows."""

from __future__ import annotations

from collections.abc import Sequence

from rollview.plan.nodes import Node, show_plans
from rollview.strategy.plan import RefreshPlan


def show_stages(plan: RefreshPlan) -> list[str]:
    """The steps in order, each with its plan, and what is done with the rows of the last one."""
    return _shown(plan, show_plans(_plans(plan)))


def show_with_view(view: Node, plan: RefreshPlan) -> tuple[list[str], list[str]]:
    """A view's plan and that of its refresh; what they have in common is written out once."""
    shown, *plans = show_plans([view, *_plans(plan)])
    return shown, _shown(plan, plans)


def _plans(plan: RefreshPlan) -> list[Node]:
    write = plan.write
    return [*(step.plan for step in plan.steps), *([] if write is None else [write.rows])]


def _shown(plan: RefreshPlan, plans: Sequence[Sequence[str]]) -> list[str]:
    lines = []
    for step, shown in zip(plan.steps, plans, strict=False):
        lines += [f"{step.name}: {step.what}", *(f"  {line}" for line in shown)]
    if plan.write is None:
        return lines
    lines += [f"rows: {plan.write.what}", *(f"  {line}" for line in plans[-1])]
    return [*lines, *(f"  {line}" for line in plan.write.details())]
