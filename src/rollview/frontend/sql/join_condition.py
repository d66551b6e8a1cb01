"""The ON of a join. A subquery that needs one side only is joined to that side before.

Before: ``a LEFT JOIN b ON a.k = b.k AND b.x IN (SELECT …)``.
After: ``a LEFT JOIN (b MARK JOIN (…) AS m) ON a.k = b.k AND m``.

A subquery that needs columns of both sides would have to look at pairs of rows, of which those without an answer are to
be kept: it is not planned.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from sqlglot import exp

from rollview.frontend.sql.bind import bind
from rollview.frontend.sql.context import Context, unbuildable
from rollview.frontend.sql.scope import Scope
from rollview.frontend.sql.subqueries import Pending, attach
from rollview.plan.expressions import Expr, conjuncts, names_in, replace_columns
from rollview.plan.nodes import Node


@dataclass
class JoinCondition:
    """The two sides of a join, with what the subqueries of its ON add to them, and the parts of the condition."""

    context: Context
    left: Node
    right: Node

    def parts(self, on: Expr, scope: Scope) -> list[Expr]:
        if on.find(exp.Query) is None:
            return [bind(on, scope, self.context)]
        return [self._part(part, scope) for part in conjuncts(on)]

    def _part(self, part: Expr, scope: Scope) -> Expr:
        pending: list[Pending] = []
        bound = bind(part, scope, self.context, pending)
        values: dict[str, Expr] = {}
        for item in pending:
            values |= self._attached(item.rewritten(partial(replace_columns, values=dict(values))), part)
        return replace_columns(bound, values)

    def _attached(self, item: Pending, part: Expr) -> dict[str, Expr]:
        """Joins a subquery to the side that it needs; what stands for its value."""
        used = item.inner.free | (names_in(item.compared) if item.compared is not None else frozenset())
        if not used & self.right.names:
            self.left, values = attach(self.context, self.left, [item])
        elif not used & self.left.names:
            self.right, values = attach(self.context, self.right, [item])
        else:
            raise unbuildable(self.context, "a subquery in ON that reads columns of both sides of the join", part)
        return values
