"""What must hold of every plan, asked after it is built, after each rewrite rule, and wherever a delta is derived.

An operator uses its inputs' columns only: those of an outer query are gone once a plan is built. A delta has the
columns of its operator, and a weight. Each operator is looked at once: what is wrong with it and with all that is below
it stays the same, as plans do not change.
"""

from __future__ import annotations

from rollview.errors import InternalError
from rollview.plan.nodes import Node
from rollview.plan.reserved import WEIGHT


def check(plan: Node, maker: str) -> Node:
    """The plan itself. Raises InternalError if an operator uses a column that no input has."""
    if plan.fault is not None:
        raise InternalError(f"{maker} made a wrong plan: {plan.fault}")
    return plan


def check_delta(delta: Node, of: Node) -> Node:
    """The delta itself. Raises InternalError if it does not have just the operator's columns and the weight."""
    wanted = of.names | {WEIGHT.name}
    if delta.names != wanted:
        wrong = [f"lacks {name}" for name in sorted(wanted - delta.names)]
        wrong += [f"has {name}" for name in sorted(delta.names - wanted)]
        raise InternalError(f"the delta of {of.title} {of.details} {', '.join(wrong)}")
    return check(delta, f"the delta rule of {of.title}")
