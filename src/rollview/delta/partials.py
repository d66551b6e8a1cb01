"""Partial aggregates: the values stored for an aggregate, so that changes can be added to them.

| aggregate | stored | from a delta | combining two |
|---|---|---|---|
| count(*), count(x) | itself | the sum of the weights (of rows with x not NULL) | a + b |
| sum(x), avg(x) over integers and decimals | sum(x), count(x) | the signed sum | a + b |
| min, max, bool_and, bool_or | itself | if rows were only inserted: itself over these | least, greatest |
| all others, and sum and avg over floats | itself | — | the group is recomputed |

Floats are never added or subtracted: rounding errors would accumulate, and a NaN or an infinity would stay for good.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from rollview.plan.expressions import Expr, grouped, ref
from rollview.plan.nodes import Column, Computed
from rollview.plan.reserved import WEIGHT

#: How two partial values of one group are combined.
ADD, LEAST, GREATEST, RECOMPUTE = "add", "least", "greatest", "recompute"


@dataclass(frozen=True)
class Partial:
    """A stored column of a group: its value over the group's rows, its ``change`` over a delta's rows, and how the two
    are combined. For a sum, ``known`` names the column that counts its non-NULL values."""

    column: Column
    value: Expr
    change: Expr | None
    combine: str
    known: str | None = None


@dataclass(frozen=True)
class Added:
    """The partials of an aggregate operator: its ``results`` are expressions over them and the number of rows."""

    partials: tuple[Partial, ...]
    rows: Partial
    results: Mapping[str, Expr]


class Partials:
    """Collects the partials of one aggregate operator; equal ones are stored once."""

    def __init__(self) -> None:
        self._by_value: dict[Expr, Partial] = {}

    @property
    def found(self) -> list[Partial]:
        return list(self._by_value.values())

    def add(self, value: Expr, change: Expr | None, combine: str) -> Partial:
        if value not in self._by_value:
            name = f"__p{len(self._by_value)}"
            self._by_value[value] = Partial(Column(name, name), value, change, combine)
        return self._by_value[value]

    def finished(self, item: Computed, rows: str, kind: str) -> Expr:
        """The result as an expression over partials; ``rows`` is the row count's column, ``kind`` the result type."""
        aggregate, where = item.value, None
        if isinstance(aggregate, exp.Filter):
            aggregate, where = aggregate.this, aggregate.expression.this
        inner = aggregate.this
        if isinstance(aggregate, exp.Count) and isinstance(inner, exp.Star) and where is None:
            return ref(rows)
        if not isinstance(inner, exp.Distinct):
            if isinstance(aggregate, exp.Count) and not aggregate.expressions:
                value = exp.Literal.number(1) if isinstance(inner, exp.Star) else inner
                return ref(self._count(_where(value, where)).column.name)
            if isinstance(aggregate, exp.Sum | exp.Avg):
                return self._sum(_where(inner, where), isinstance(aggregate, exp.Avg), kind)
            if isinstance(aggregate, exp.Min | exp.Max | exp.LogicalAnd | exp.LogicalOr) and not aggregate.expressions:
                low = isinstance(aggregate, exp.Min | exp.LogicalAnd)
                plain = type(aggregate)(this=_where(inner, where).copy())
                return ref(self.add(plain, plain, LEAST if low else GREATEST).column.name)
        return ref(self.add(item.value, None, RECOMPUTE).column.name)

    def _count(self, value: Expr) -> Partial:
        known = exp.Is(this=grouped(value.copy()), expression=exp.null())
        weight = exp.Case(ifs=[exp.If(this=known, true=exp.Literal.number(0))], default=sign())
        change = exp.Cast(this=exp.Sum(this=weight), to=WEIGHT.type.copy())
        return self.add(exp.Count(this=value.copy()), change, ADD)

    def _sum(self, value: Expr, mean: bool, kind: str) -> Expr:
        positive = exp.GT(this=ref(WEIGHT.name), expression=exp.Literal.number(0))
        signed = exp.Case(
            ifs=[exp.If(this=positive, true=value.copy())], default=exp.Neg(this=exp.Paren(this=value.copy()))
        )
        added = self.add(exp.Sum(this=value.copy()), exp.Sum(this=signed), ADD)
        counted = self._count(value)
        self._by_value[added.value] = replace(added, known=counted.column.name)
        total, number = ref(added.column.name), ref(counted.column.name)
        known = exp.GT(this=number, expression=exp.Literal.number(0))
        return mean_of(total, number, kind) if mean else exp.Case(ifs=[exp.If(this=known, true=total)])


def sign() -> Expr:
    """+1 for an inserted row, −1 for a deleted row."""
    positive = exp.GT(this=ref(WEIGHT.name), expression=exp.Literal.number(0))
    return exp.Case(ifs=[exp.If(this=positive, true=exp.Literal.number(1))], default=exp.Literal.number(-1))


#: The number of rows of a group.
COUNT = Column("__n", "__n", exp.DataType.build("bigint"))
ROWS = Partial(COUNT, exp.Count(this=exp.Star()), exp.Cast(this=exp.Sum(this=sign()), to=WEIGHT.type.copy()), ADD)


def exact(kind: str, *, mean: bool = False) -> bool:
    """Whether sums of this type stay exact under addition: no float, and no decimal that would lose digits."""
    name, _, digits = kind.lower().partition("(")
    if name != "decimal":
        return name in ("tinyint", "smallint", "int", "integer", "bigint", "int128")
    precision, scale = (int(part) for part in digits.rstrip(")").split(","))
    return scale <= 6 if not mean else precision <= 28


def mean_of(total: Expr, number: Expr, kind: str) -> Expr:
    """The mean as the given type, from a sum and the number of its values; NULL if there are none."""
    known = exp.GT(this=number, expression=exp.Literal.number(0))
    if kind.startswith("decimal"):
        count = exp.Cast(this=number.copy(), to=exp.DataType.build("decimal(20, 0)", dialect="spark"))
        mean: Expr = exp.Cast(this=exp.Div(this=total, expression=count), to=exp.DataType.build(kind, dialect="spark"))
    else:
        mean = exp.Div(this=_double(total), expression=_double(number))
    return exp.Case(ifs=[exp.If(this=known, true=mean)])


def combined(a: Expr, b: Expr, both: Expr) -> Expr:
    """Combines two values: if one is NULL the other, else ``both``."""
    none = [exp.If(this=exp.Is(this=x.copy(), expression=exp.null()), true=y.copy()) for x, y in ((a, b), (b, a))]
    return exp.Case(ifs=none, default=both)


def _where(value: Expr, condition: Expr | None) -> Expr:
    return value if condition is None else exp.Case(ifs=[exp.If(this=condition.copy(), true=value.copy())])


def _double(value: Expr) -> Expr:
    return exp.Cast(this=value.copy(), to=exp.DataType.build("double"))
