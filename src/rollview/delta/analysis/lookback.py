"""Lookback: window functions that depend only on the current and earlier rows, and what helpers store for them.

| functions | needed of the earlier rows | stored by a helper, per partition |
|---|---|---|
| row_number, rank, running count, sum, avg, min, max | their aggregate | the aggregate over all rows |
| first_value, running | the first row | the first row |
| lag, and aggregates over n preceding rows | the last n rows | the last n rows |
| aggregates over a range of n before | the rows within that range | nothing: the range is a predicate |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sqlglot import exp

from rollview.delta.partials import combined, exact, mean_of
from rollview.delta.rules.top_rows import First
from rollview.plan.expressions import Expr, ref
from rollview.plan.nodes import UNKNOWN, Aggregate, Column, Computed, Node, Ordering, Window, WindowFunction

#: The kinds of relations that helpers store for the partitions of a window.
TOTALS, FIRSTS, LASTS = "totals", "firsts", "lasts"


@dataclass(frozen=True)
class Running:
    """A running value: the window function, the aggregate ``before`` over all earlier rows, and how the two combine.
    ``known``, of a sum, counts its non-NULL values: a sum of none is NULL, which subtraction cannot show."""

    name: str
    function: Expr
    before: Expr
    both: Callable[[Expr, Expr], Expr]
    subtracts: bool = True
    known: Expr | None = None

    @property
    def stored(self) -> tuple[Computed, ...]:
        """The aggregates that a helper stores for a whole partition."""
        value = Computed(Column(f"{self.name}_t", ""), self.before.copy())
        return (value,) if self.known is None else (value, Computed(Column(f"{self.name}_m", ""), self.known.copy()))


@dataclass(frozen=True)
class Carried:
    """A window function as an expression over running values."""

    parts: tuple[Running, ...]
    result: Expr


@dataclass(frozen=True)
class Lookback:
    """What the functions of a window need of earlier rows. By column name: ``carried`` running values, ``first`` the
    first row, ``near`` the positions up to ``distance`` before their own; all others the last ``rows`` rows. ``by`` are
    the columns of PARTITION BY, ``place`` is the ORDER BY term that defines positions."""

    by: tuple[str, ...]
    place: Ordering
    carried: Mapping[str, Carried]
    first: Mapping[str, tuple[Ordering, ...]]
    rows: int = 0
    order: tuple[Ordering, ...] = ()
    near: frozenset[str] = frozenset()
    distance: Expr | None = None

    @property
    def running(self) -> list[Running]:
        return [part for each in self.carried.values() for part in each.parts]

    def first_of(self, below: Node) -> First:
        order = next(iter(self.first.values()))
        return First(below, self.by, order, 1, 1, limit=not self.by)

    def last_of(self, below: Node) -> First:
        order = tuple(term.turned() for term in self.order)
        return First(below, self.by, order, self.rows, self.rows, limit=not self.by)


def lookback_of(node: Window, kinds: Mapping[str, str] | None) -> Lookback | None:
    """The lookback of a window; None if a function depends on later rows. ``kinds`` are the types of the results;
    without them, sums are assumed to be exact."""
    places = {function.order[0] if function.order else None for function in node.functions}
    place, by = places.pop(), node.functions[0].partition_by
    if places or place is None or not all(isinstance(column, exp.Column) for column in (*by, place.value)):
        return None
    carried: dict[str, Carried] = {}
    first: dict[str, tuple[Ordering, ...]] = {}
    last: dict[str, tuple[Ordering, ...]] = {}
    near: dict[str, Expr] = {}
    rows = 0
    for item in node.functions:
        name = item.column.name
        if (running := _carried(item, kinds)) is not None:
            carried[name] = running
        elif _is_first(item):
            first[name] = item.order
        elif (far := _distance(item)) is not None:
            near[name] = far
        elif (count := _rows_before(item)) is not None:
            last[name], rows = item.order, max(rows, count)
        else:
            return None
    if any(len(set(found)) > 1 for found in (first.values(), last.values(), near.values())):
        return None
    one = next(iter(last.values()), ())
    names = tuple(column.name for column in by)
    return Lookback(names, place, carried, first, rows, one, frozenset(near), next(iter(near.values()), None))


def _carried(item: WindowFunction, kinds: Mapping[str, str] | None) -> Carried | None:
    function, name = item.call, item.column.name
    if item.frame is not None and not item.frame.is_running:
        return None

    def added(part: str) -> Callable[[Expr, Expr], Expr]:
        def both(a: Expr, b: Expr) -> Expr:
            value = combined(a, b, exp.Add(this=a.copy(), expression=b.copy()))
            kind = (kinds or {}).get(part)
            return value if kind is None else exp.Cast(this=value, to=exp.DataType.build(kind, dialect="spark"))

        return both

    def counted(part: str, function: Expr, value: Expr) -> Running:
        return Running(part, function.copy(), exp.Count(this=value.copy()), added(part))

    def summed(part: str, function: Expr) -> Running | None:
        kind = None if kinds is None else kinds.get(part, "")
        if kind is not None and not exact(kind, mean=isinstance(function, exp.Avg)):
            return None
        total, count = exp.Sum(this=function.this.copy()), exp.Count(this=function.this.copy())
        return Running(part, total, total.copy(), added(part), known=count)

    if isinstance(function, exp.RowNumber | exp.Rank) and not function.expressions:
        return Carried((counted(name, function, exp.Star()),), ref(name))
    if function.args.get("expressions") or isinstance(function.this, exp.Distinct):
        return None
    if isinstance(function, exp.Count):
        return Carried((counted(name, function, function.this),), ref(name))
    if isinstance(function, exp.Sum):
        total = summed(name, function)
        return None if total is None else Carried((total,), ref(name))
    if isinstance(function, exp.Avg):
        total, number = summed(sum_of(name), function), f"{name}_n"
        if total is None:
            return None
        count = exp.Count(this=function.this.copy())
        mean = mean_of(ref(total.name), ref(number), (kinds or {}).get(name, ""))
        return Carried((total, counted(number, count, function.this)), mean)
    if isinstance(function, exp.Min | exp.Max):
        pick = exp.Least if isinstance(function, exp.Min) else exp.Greatest

        def picked(a: Expr, b: Expr) -> Expr:
            return combined(a, b, pick(this=a.copy(), expressions=[b.copy()]))

        return Carried((Running(name, function.copy(), function.copy(), picked, subtracts=False),), ref(name))
    return None


def sum_of(name: str) -> str:
    """The name of the running sum from which a running mean is computed."""
    return f"{name}_s"


def _is_first(item: WindowFunction) -> bool:
    return isinstance(item.call, exp.FirstValue) and (item.frame is None or item.frame.is_running)


def _distance(item: WindowFunction) -> Expr | None:
    """The length of a RANGE frame before the current position; None if it is not constant or includes later rows."""
    start = _start_before(item, "RANGE")
    return start if isinstance(start, exp.Literal | exp.Interval | exp.Cast) else None


def _rows_before(item: WindowFunction) -> int | None:
    """The number of preceding rows that a function needs; None if it is not constant or later rows are needed."""
    if isinstance(item.call, exp.Lag):
        offset = item.call.args.get("offset")
        return 1 if offset is None else int(offset.this) if isinstance(offset, exp.Literal) else None
    start = _start_before(item, "ROWS")
    return int(start.this) if isinstance(start, exp.Literal) and not start.is_string else None


def _start_before(item: WindowFunction, unit: str) -> Expr | None:
    """The distance of an aggregate's frame start before the current row; None if the frame includes later rows."""
    frame = item.frame
    if frame is None or frame.unit != unit or frame.start.side != "PRECEDING" or not isinstance(item.call, exp.AggFunc):
        return None
    return frame.start.distance if frame.end.side in (None, "PRECEDING") else None


def stored_of(node: Window) -> list[tuple[str, Node]]:
    """The relations that helpers can store for a window, and the names under which the rule finds them."""
    lookback = lookback_of(node, None)
    if lookback is None:
        return []
    found: list[tuple[str, Node]] = []
    if lookback.carried:
        types = {column.name: column.type for column in node.input.columns}
        keys = tuple(Computed(Column(f"{n}_t", "", types.get(n, UNKNOWN)), ref(n)) for n in lookback.by)
        sums = tuple(total for part in lookback.running for total in part.stored)
        found.append((stored_name(TOTALS, node), Aggregate(node.input, keys, sums)))
    if lookback.first:
        found.append((stored_name(FIRSTS, node), lookback.first_of(node.input).of(node.input)))
    if lookback.rows:
        found.append((stored_name(LASTS, node), lookback.last_of(node.input).of(node.input)))
    return found


def stored_name(kind: str, node: Window) -> str:
    return " ".join([kind, *(item.column.name for item in node.functions)])
