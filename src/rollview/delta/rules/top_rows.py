"""The first rows in an order, of the whole input or of each partition, maintained from stored rows.

    S      = the stored rows: the first rows of R, possibly more than are shown; all of R if R is smaller
    S'     = S − ΔR⁻ + the rows of ΔR⁺ that sort before the last row of S
    Δ(λ R) = the first rows of S' − S                 if S' has enough rows
           = the first rows of Rⁿᵉʷ − S               in partitions with too few rows

An inserted row that sorts after the last row of S is not stored, because rows of R that are not stored may sort before
it. R is read again only if deletions leave too few rows. For ORDER BY … LIMIT and ``row_number() … <= k`` at the root.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from rollview.delta.derivation import Derivation
from rollview.delta.weights import negated, one_by_one, together, weighted
from rollview.plan.expressions import Expr, conjuncts, names_in, ref, replace_columns
from rollview.plan.nodes import (
    CURRENT_ROW,
    FROM_START,
    TO_END,
    UNKNOWN,
    Aggregate,
    Column,
    Computed,
    Filter,
    Frame,
    Limit,
    Node,
    Ordering,
    Project,
    UnionAll,
    Window,
    WindowFunction,
    exactly,
)
from rollview.plan.reserved import WEIGHT

_BIGINT = exp.DataType.build("bigint")

#: Stored copies of a row; whether a stored row sorts at or after it; the number of stored rows in its partition.
_HAD, _REACH, _SIZE = (Column(name, name, _BIGINT) for name in ("__had", "__reach", "__size"))

#: Copies of a row to store; the running total up to this row; the total in its partition.
_KEPT, _UPTO, _LEFT = (Column(name, name, _BIGINT) for name in ("__kept", "__upto", "__left"))

#: The row number in its partition, if the view does not show it.
_NUMBER = Column("__number", "__number", _BIGINT)

#: A larger LIMIT is recomputed, old and new: reading its stored rows at every refresh would cost too much.
_MOST = 100_000

#: A LIMIT stores spare rows, so that rows can be deleted: as many as it shows, within these bounds.
_SPARE = 100, 10_000


@dataclass(frozen=True)
class First:
    """The view needs ``needed`` rows of each partition and stores ``most``. For a LIMIT, ``skipped`` is the OFFSET; for
    ``row_number()``, ``number`` is the column that shows it, if any. All terms are columns of the input."""

    input: Node
    by: tuple[str, ...]
    order: tuple[Ordering, ...]
    needed: int
    most: int
    skipped: int = 0
    number: Column | None = None
    limit: bool = True

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of a stored row."""
        return self.input.columns if self.number is None else (*self.input.columns, self.number)

    def of(self, rows: Node) -> Node:
        """The rows to store."""
        if self.limit:
            return Limit(rows, self.order, self.most)
        number = self.number or _NUMBER
        numbered = Window(rows, (self.over(number, exp.RowNumber()),))
        enough = exp.LTE(this=ref(number.name), expression=exp.Literal.number(self.most))
        return exactly(Filter(numbered, enough), self.columns)

    def over(self, column: Column, call: Expr, frame: Frame | None = None) -> WindowFunction:
        """A window function over each partition, in this order."""
        return WindowFunction(column, call, tuple(ref(name) for name in self.by), self.order, frame)

    def sum_of_all(self, column: Column, name: str) -> WindowFunction:
        """The sum of a column over the whole partition."""
        return WindowFunction(column, exp.Sum(this=ref(name)), tuple(map(ref, self.by)), cast_to=_BIGINT)


def first_rows(plan: Node) -> First | None:
    """The top rows that a plan shows; None if it is not of that form."""
    values: dict[str, Expr] = {column.name: ref(column.name) for column in plan.columns}
    node = plan
    while isinstance(node, Project):
        below = {item.column.name: item.value for item in node.output}
        values = {name: replace_columns(value, below) for name, value in values.items()}
        node = node.input
    if isinstance(node, Limit) and node.count and node.order:
        needed = node.offset + node.count
        if needed > _MOST:
            return None
        most = needed + min(max(needed, _SPARE[0]), _SPARE[1])
        return _made(plan, values, node.input, [], node.order, None, (needed, most, node.offset))
    found = _numbered(node)
    if found is None:
        return None
    window, count = found
    first = window.functions[0]
    return _made(plan, values, window.input, first.partition_by, first.order, first.column, (count, count, 0))


def _numbered(node: Node) -> tuple[Window, int] | None:
    """The window below a filter ``row_number() <= k``, and k; None for other plans."""
    if not isinstance(node, Filter) or not isinstance(node.input, Window) or len(node.input.functions) != 1:
        return None
    first, tests = node.input.functions[0], conjuncts(node.condition)
    plain = isinstance(first.call, exp.RowNumber) and first.order
    if not plain or len(tests) != 1 or not isinstance(tests[0], exp.LTE | exp.LT | exp.EQ):
        return None
    test = tests[0]
    if test.left != ref(first.column.name) or not isinstance(test.right, exp.Literal) or not test.right.is_int:
        return None
    count = int(test.right.this) - isinstance(test, exp.LT)
    return (node.input, count) if count > 0 and (count == 1 or not isinstance(test, exp.EQ)) else None


def _made(
    plan: Node,
    values: dict[str, Expr],
    below: Node,
    by: Sequence[Expr],
    order: Sequence[Ordering],
    number: Column | None,
    counts: tuple[int, int, int],
) -> First | None:
    """Collects the shown columns, the columns of ORDER BY and those of PARTITION BY in one input."""
    own = None if number is None else number.name
    output = [Computed(column, values[column.name]) for column in plan.columns if values[column.name] != ref(own or "")]
    numbers = [column for column in plan.columns if own is not None and values[column.name] == ref(own)]
    if len(numbers) > 1 or (numbers and numbers[0] != plan.columns[-1]):
        return None  # the number is stored after the other columns
    if own is not None and any(own in names_in(item.value) for item in output):
        return None

    def column(value: Expr) -> str:
        for item in output:
            if item.value == value:
                return item.column.name
        name = f"__o{len(output)}"
        output.append(Computed(Column(name, name, value.type or UNKNOWN), value.copy()))
        return name

    terms = tuple(Ordering(ref(column(t.value)), t.descending, t.nulls_first) for t in order)
    names = tuple(column(value) for value in by)
    needed, most, skipped = counts
    return First(
        Project(below, tuple(output)), names, terms, needed, most, skipped, numbers[0] if numbers else None, own is None
    )


def first_delta(first: First, stored: Node, derivation: Derivation) -> Node | None:
    """The delta of the stored rows. ``stored`` has them, with the number of copies as weight."""
    delta = derivation.delta(first.input)
    if delta is None:
        return None
    delta = derivation.materialized(delta)
    if first.by:
        stored = derivation.keys(delta, [ref(name) for name in first.by]).restrict(stored)
    where = " of the affected partitions" if first.by else ""
    known = derivation.step("first", _known(first, stored, delta), f"stored and changed rows{where}")
    short = _short(first)
    lacking = derivation.keys_in(Filter(known, short), first.by, first.by).plan
    what = "affected partitions with" if first.by else "a row if there are"
    lacking = derivation.step("short", lacking, f"{what} too few rows left")
    names = [column.name for column in lacking.columns]
    again = first.of(
        derivation.keys_in(lacking, names if first.by else [], first.by).restrict(derivation.new(first.input))
    )
    refill = weighted(exactly(again, first.columns), 1)
    kept = tuple(Computed(column, ref(column.name)) for column in first.input.columns)
    enough = exp.And(this=exp.Not(this=exp.Paren(this=short.copy())), expression=_is_first(first))
    if first.number is None:
        now = exp.Case(ifs=[exp.If(this=enough, true=_copies(first))], default=_cast(_number(0)))
        change = exp.Sub(this=now, expression=ref(_HAD.name))
        return together([Project(known, (*kept, Computed(WEIGHT, change))), refill], first.columns)
    rows = Project(Filter(known, enough), (*kept, Computed(WEIGHT, _copies(first))))
    numbered = first.of(exactly(one_by_one(rows), first.input.columns))
    return together([weighted(numbered, 1), refill, negated(stored)], first.columns)


def _known(first: First, stored: Node, delta: Node) -> Node:
    """Each stored or changed row, with the columns that decide whether it is stored."""
    columns = first.input.columns
    own = tuple(Computed(column, ref(column.name)) for column in columns)
    output = (*columns, WEIGHT, _HAD)
    weight = Computed(WEIGHT, ref(WEIGHT.name))
    sides = [
        Project(side, (*own, weight, Computed(_HAD, had)))
        for side, had in ((stored, ref(WEIGHT.name)), (delta, _cast(_number(0))))
    ]
    sums = tuple(Computed(c, _cast(exp.Sum(this=ref(c.name)))) for c in (WEIGHT, _HAD))
    each = Aggregate(UnionAll(sides[0], sides[1], output), own, sums)
    after = first.over(_REACH, exp.Max(this=ref(_HAD.name)), Frame("ROWS", CURRENT_ROW, TO_END))
    placed = Window(each, (after, first.sum_of_all(_SIZE, _HAD.name)))
    before_last = exp.GT(this=ref(_REACH.name), expression=_number(0))
    all_stored = exp.LT(this=ref(_SIZE.name), expression=_number(first.needed))
    exists = exp.GT(this=ref(WEIGHT.name), expression=_number(0))
    kept = exp.And(this=exists, expression=exp.Paren(this=exp.Or(this=before_last, expression=all_stored)))
    value = exp.Case(ifs=[exp.If(this=kept, true=ref(WEIGHT.name))], default=_cast(_number(0)))
    passed = (Computed(column, ref(column.name)) for column in (_HAD, _SIZE))
    judged = Project(placed, (*own, *passed, Computed(_KEPT, value)))
    running = first.over(_UPTO, exp.Sum(this=ref(_KEPT.name)), Frame("ROWS", FROM_START, CURRENT_ROW))
    return Window(judged, (replace(running, cast_to=_BIGINT), first.sum_of_all(_LEFT, _KEPT.name)))


def _short(first: First) -> Expr:
    """Whether a partition lost too many stored rows, so that its input must be read again."""
    had = exp.GTE(this=ref(_SIZE.name), expression=_number(first.needed))
    return exp.And(this=had, expression=exp.LT(this=ref(_LEFT.name), expression=_number(first.needed)))


def _copies(first: First) -> Expr:
    """The number of copies to store of a row among the first."""
    too_many = exp.GT(this=ref(_UPTO.name), expression=_number(first.most))
    return exp.Case(ifs=[exp.If(this=too_many, true=_room(first))], default=ref(_KEPT.name))


def _is_first(first: First) -> Expr:
    some = exp.GT(this=ref(_KEPT.name), expression=_number(0))
    return exp.And(this=some, expression=exp.GT(this=_room(first), expression=_number(0)))


def _room(first: First) -> Expr:
    """The number of copies of a row that fit."""
    before = exp.Sub(this=ref(_UPTO.name), expression=ref(_KEPT.name))
    return exp.Sub(this=_cast(_number(first.most)), expression=exp.Paren(this=before))


def _number(value: int) -> Expr:
    return exp.Literal.number(value)


def _cast(value: Expr) -> Expr:
    return exp.Cast(this=value, to=_BIGINT.copy())
