"""The conditions of WHERE and HAVING: tests become filters, IN and EXISTS become semi and anti joins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

from sqlglot import exp

from rollview.frontend.sql.context import Context
from rollview.frontend.sql.select_draft import SelectDraft
from rollview.frontend.sql.subqueries import Pending, attach, attach_predicate, predicate
from rollview.plan.expressions import Expr, conjunction, replace_columns
from rollview.plan.nodes import Filter, Node


@dataclass(frozen=True)
class Condition:
    """A conjunct of WHERE or HAVING: a test with its subqueries, or an IN or EXISTS, whose subquery is ``inner``."""

    test: Expr | None = None
    waiting: tuple[Pending, ...] = ()
    inner: Node | None = None
    compared: Expr | None = None
    negated: bool = False

    def over(self, change: Callable[[Expr], Expr]) -> Condition:
        """The same condition over the columns of an aggregation."""
        return Condition(
            change(self.test) if self.test is not None else None,
            tuple(item.rewritten(change) for item in self.waiting),
            self.inner,
            change(self.compared) if self.compared is not None else None,
            self.negated,
        )

    def applied(self, context: Context, plan: Node) -> Node:
        """The rows of the plan that satisfy the condition."""
        if self.inner is not None:
            plan, values = attach(context, plan, list(self.waiting))
            compared = replace_columns(self.compared, values) if self.compared is not None else None
            return attach_predicate(context, plan, self.inner, compared, self.negated)
        assert self.test is not None
        plan, values = attach(context, plan, list(self.waiting))
        return Filter(plan, replace_columns(self.test, values))


def conditions(select: SelectDraft, tree: Expr | None) -> list[Condition]:
    """The conjuncts of a condition, bound."""
    return [_condition(select, part) for part in (_conjuncts(tree) if tree is not None else ())]


def _condition(select: SelectDraft, part: Expr) -> Condition:
    negated = isinstance(part, exp.Not)
    bare = part.this.unnest() if negated else part
    before, select.pending = select.pending, []
    try:
        if isinstance(bare, exp.Exists) or (isinstance(bare, exp.In) and bare.args.get("query") is not None):
            inner, compared, _ = predicate(select.context, bare, select.scope, select.bound)
            return Condition(None, tuple(select.pending), inner, compared, negated)
        test = select.bound(part)
        return Condition(test, tuple(select.pending))
    finally:
        select.pending = before


def merged(conditions: Sequence[Condition]) -> list[Condition]:
    """The conditions in the same order; adjacent tests without subqueries become one."""
    found: list[Condition] = []
    for plain, some in groupby(conditions, lambda condition: condition.inner is None and not condition.waiting):
        part = list(some)
        tests = [condition.test for condition in part if condition.test is not None]
        found += [Condition(conjunction(tests))] if plain else part
    return found


def _conjuncts(condition: Expr) -> list[Expr]:
    found: list[Expr] = []
    waiting = [condition]
    while waiting:
        bare = waiting.pop().unnest()
        if isinstance(bare, exp.And):
            waiting += [bare.right, bare.left]
        else:
            found.append(bare)
    return found


def subqueries_in_where(node: exp.Select) -> exp.Select:
    """Moves subqueries from ON to WHERE: ``a JOIN b ON a.k = b.k AND EXISTS (…)``. Not if there is
    a RIGHT or FULL join, which keeps rows that fail the condition."""
    joins = node.args.get("joins") or []
    inner = [join for join in joins if not (join.side or join.method) and (join.kind or "INNER").upper() == "INNER"]
    if any((join.side or "").upper() in ("RIGHT", "FULL") for join in joins):
        return node
    for join in inner:
        parts = _conjuncts(join.args["on"]) if join.args.get("on") is not None else []
        moved = [part for part in parts if part.find(exp.Query)]
        if moved:
            kept = [part for part in parts if part not in moved]
            join.set("on", exp.and_(*kept) if kept else None)
            node = node.where(*moved, copy=False)
    return node
