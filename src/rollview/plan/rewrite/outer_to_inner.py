"""Turn an outer join into an inner join if a condition above drops its padded rows.

Before: ``filter b > 1 over join left (x [a], y [b, c]) on a = c``.
After: ``filter b > 1 over join inner (x [a], y [b, c]) on a = c``.
Not if the condition can be true for NULL: ``b IS NULL``, ``coalesce(b, 2) > 1``, ``b <=> a``.
"""

from __future__ import annotations

from sqlglot import exp

from rollview.plan.expressions import Expr, conjuncts, names_in
from rollview.plan.nodes import FULL, INNER, LEFT, RIGHT, Filter, Join, Node

#: Operators whose result is NULL if an operand is.
_STRICT = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Neg, exp.Paren, exp.Cast, exp.Column, exp.Literal)


def outer_to_inner(node: Node) -> Node | None:
    if not isinstance(node, Filter) or not isinstance(node.input, Join) or not node.input.kind.is_outer:
        return None
    join = node.input
    needed: set[str] = set()
    for part in conjuncts(node.condition):
        needed |= _not_null(part)
    left, right = bool(needed & join.left.names), bool(needed & join.right.names)
    padded_left, padded_right = join.kind.pads_left and not left, join.kind.pads_right and not right
    kind = {(False, False): INNER, (False, True): LEFT, (True, False): RIGHT, (True, True): FULL}[
        padded_left, padded_right
    ]
    return None if kind == join.kind else Filter(Join(kind, join.left, join.right, join.condition), node.condition)


def _not_null(part: Expr) -> frozenset[str]:
    """The columns that cannot be NULL if the condition is true."""
    if isinstance(part, exp.EQ | exp.NEQ | exp.LT | exp.LTE | exp.GT | exp.GTE):
        return frozenset(name for side in (part.left, part.right) if _strict(side) for name in names_in(side))
    if isinstance(part, exp.In) and part.args.get("query") is None and _strict(part.this):
        return names_in(part.this)
    if isinstance(part, exp.Not) and isinstance(part.this, exp.Is) and isinstance(part.this.expression, exp.Null):
        return names_in(part.this.this) if _strict(part.this.this) else frozenset()
    return frozenset()


def _strict(value: Expr) -> bool:
    """Whether the value is NULL if any of its columns is."""
    return isinstance(value, _STRICT) and all(
        _strict(child) for child in value.iter_expressions() if not isinstance(child, exp.DataType | exp.Identifier)
    )
