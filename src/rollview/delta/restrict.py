"""Rows restricted to some values of some expressions: a semi join with keys, whose columns are named k1, k2, …

A restriction that only saves reading, because what is above leaves out the other rows in any case, has n1, n2, …
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot import exp

from rollview.plan.expressions import Expr, conjunction, conjuncts, ref
from rollview.plan.nodes import SEMI, Join, Node

NEAR = "n"

#: A value of the restricted plan, and the column of the keys that it must equal, NULL equal to NULL.
Pair = tuple[Expr, str]


def restriction(node: Node) -> list[Pair] | None:
    """What a semi join with touched keys compares; None if the operator is none."""
    if (
        not isinstance(node, Join)
        or node.kind != SEMI
        or not all(re.fullmatch(r"[kn]\d+", n) for n in node.right.names)
    ):
        return None
    pairs: list[Pair] = []
    for part in conjuncts(node.condition):
        if not isinstance(part, exp.NullSafeEQ) or part.right.name not in node.right.names:
            return None
        pairs.append((part.left, part.right.name))
    return pairs or None


def restricted(plan: Node, pairs: Sequence[Pair], keys: Node) -> Node:
    """The semi join itself."""
    if not pairs:
        return plan
    tests = [exp.NullSafeEQ(this=value.copy(), expression=ref(name)) for value, name in pairs]
    return Join(SEMI, plan, keys, conjunction(tests))
