"""What must hold for every plan. Checked after building, after each rewrite rule, and for each derived delta.

An operator uses only columns of its inputs: no reference to an outer query remains once a plan is built. A delta has
the columns of its operator, and a weight. Each operator is checked once: plans are immutable, so the result is cached.
"""

from __future__ import annotations

from rollview.errors import InternalError
from rollview.plan.nodes import Node
from rollview.plan.reserved import WEIGHT


def check(plan: Node, maker: str) -> Node:
    """Returns the plan. Raises InternalError if an operator uses a column that none of its inputs has."""
    if plan.fault is not None:
        raise InternalError(f"{maker} made a wrong plan: {plan.fault}")
    return plan


def check_delta(delta: Node, of: Node) -> Node:
    """Returns the delta. Raises InternalError unless its columns are exactly the operator's and the weight."""
    wanted = of.names | {WEIGHT.name}
    if delta.names != wanted:
        wrong = [f"lacks {name}" for name in sorted(wanted - delta.names)]
        wrong += [f"has {name}" for name in sorted(delta.names - wanted)]
        raise InternalError(f"the delta of {of.title} {of.details} {', '.join(wrong)}")
    return check(delta, f"the delta rule of {of.title}")
