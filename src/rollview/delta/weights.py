"""Deltas as plans: an operator's columns, and a weight: +n inserts n copies of the row, −n deletes n copies."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from rollview.plan.expressions import Expr, ref
from rollview.plan.nodes import Aggregate, Column, Computed, Filter, Generate, Node, Project, exactly, union_of
from rollview.plan.reserved import WEIGHT


def weighted(plan: Node, weight: int) -> Node:
    """All rows of a relation as a delta with one weight."""
    value = exp.Cast(this=exp.Literal.number(abs(weight)), to=WEIGHT.type.copy())
    signed: Expr = exp.Neg(this=value) if weight < 0 else value
    kept = tuple(Computed(column, ref(column.name)) for column in plan.columns)
    return Project(plan, (*kept, Computed(WEIGHT, signed)))


def negated(delta: Node) -> Node:
    """The inverse of a delta."""
    kept = tuple(Computed(column, ref(column.name)) for column in delta.columns if column.name != WEIGHT.name)
    return Project(delta, (*kept, Computed(WEIGHT, exp.Neg(this=ref(WEIGHT.name)))))


def one_by_one(delta: Node) -> Node:
    """Repeats a row of weight n n times, so that sums need no product with the weight: it could lose digits."""
    copy = Column("__copy", "__copy")
    series = exp.GenerateSeries(start=exp.Literal.number(1), end=exp.Abs(this=ref(WEIGHT.name)))
    kept = tuple(Computed(column, ref(column.name)) for column in delta.columns)
    return Project(Generate(delta, exp.Explode(this=series), (copy,)), kept)


def together(terms: Sequence[Node | None], columns: Sequence[Column]) -> Node | None:
    """The sum of deltas; None if there are none."""
    output = (*columns, WEIGHT)
    found = [exactly(term, output) for term in terms if term is not None]
    return union_of(found, output) if found else None


def consolidated(delta: Node) -> Node:
    """Consolidated: one row per distinct tuple, none with weight zero."""
    keys = tuple(Computed(column, ref(column.name)) for column in delta.columns if column.name != WEIGHT.name)
    summed = exp.Cast(this=exp.Sum(this=ref(WEIGHT.name)), to=WEIGHT.type.copy())
    total = Aggregate(delta, keys, (Computed(WEIGHT, summed),))
    return Filter(total, exp.NEQ(this=ref(WEIGHT.name), expression=exp.Literal.number(0)))
