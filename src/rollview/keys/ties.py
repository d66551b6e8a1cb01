"""Orders without ties: the key is appended if the choice among equal rows would be arbitrary.

Before: ``limit 3 by amount`` over ``scan orders`` (key id); ``row_number() over (order by amount)``.
After: ``limit 3 by amount, id``; ``row_number() over (order by amount, id)``.
Not for ``rank`` and sums over RANGE frames, which treat ties as equal. A function that depends on the order of rows in
a RANGE frame orders them by row numbers that a window below computes:

Before: ``last_value(x) over (order by day)``.
After: ``last(x ORDER BY n) over (order by day)`` over ``window row_number() over (order by day, id) AS n``.
A LIMIT over at most one row is dropped.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sqlglot import exp

from rollview.keys.choices import Choice, Deciding, as_written, deciding
from rollview.keys.elements import by_row, by_value, in_order, unwrapped
from rollview.keys.facts import facts_of
from rollview.plan.expressions import ref
from rollview.plan.nodes import (
    FROM_START,
    TO_END,
    Column,
    Frame,
    Limit,
    Node,
    Ordering,
    Window,
    WindowFunction,
    exactly,
)

#: Window functions whose value depends on the position of a row among its ties, whatever their frame is.
_BY_PLACE = (exp.RowNumber, exp.Ntile, exp.Lag, exp.Lead)

#: Functions whose value depends on the order of the rows in their frame.
_BY_ORDER = (
    exp.FirstValue, exp.LastValue, exp.NthValue, exp.First, exp.Last, exp.AnyValue, exp.ArrayAgg, exp.GroupConcat,
)  # fmt: skip


def limit_without_ties(node: Limit, choices: list[Choice]) -> Node:
    """The LIMIT with an order that has no ties."""
    if facts_of(node.input).key == frozenset() and node.count != 0 and node.offset == 0:
        return node.input
    if node.count == 0:  # no row is chosen, whatever the order is
        choices = []
    given = [term.value.name for term in node.order if isinstance(term.value, exp.Column)]
    row = deciding(node.input, given)
    what = node.clause
    if not row.columns:
        if node.order:
            return node
        if not row.any_order:
            choices.append(row.choice(what, "the first rows"))
        return replace(node, order=row.any_order)
    choices.append(row.choice(what, "ties" if node.order else "the first rows"))
    return exactly(replace(node, input=row.input, order=(*node.order, *row.order)), node.columns)


def window_without_ties(node: Window, choices: list[Choice]) -> Node:
    """The window with orders that have no ties."""
    found = _Orders(node, choices)
    functions = tuple(map(found.decided, node.functions))
    if functions == node.functions:
        return node
    below = Window(found.input, tuple(found.numbers)) if found.numbers else found.input
    return exactly(Window(below, functions), node.columns)


@dataclass
class _Orders:
    """The functions of a window while their orders are completed: their input, and the row numbers that some need."""

    node: Window
    choices: list[Choice]
    numbers: list[WindowFunction] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.input = self.node.input

    def decided(self, function: WindowFunction) -> WindowFunction:
        called, frame = unwrapped(function.call), function.frame
        if any(isinstance(part, exp.Order) for part in called.iter_expressions()):
            return function  # its order was completed before
        names = [part.name for part in function.partition_by if isinstance(part, exp.Column)]
        if not _counts_rows(frame):
            if not isinstance(called, (*_BY_PLACE, *_BY_ORDER)):
                return self._of_values(function, names)
            if isinstance(called, exp.ArrayAgg | exp.GroupConcat) and isinstance(called.this, exp.Distinct):
                return self._of_values(function, names)
        values = [term.value for term in function.order]
        row = deciding(self.input, [*names, *(value.name for value in values if isinstance(value, exp.Column))])
        if isinstance(called, _BY_PLACE) or _counts_rows(frame) or _is_first(function):
            return self._of_values(self._extended(function, row), names)
        if values and not row.columns:
            return function
        if (frame is None and not values) or (frame is not None and frame.is_whole):
            return replace(self._extended(function, row), frame=Frame("ROWS", FROM_START, TO_END))
        return self._numbered(function, row)

    def _of_values(self, function: WindowFunction, names: list[str]) -> WindowFunction:
        """The function with a call whose value does not depend on the order of its frame."""
        what = as_written(function.value, self.node.input)
        found = by_value(function.call)
        if found is not None:
            self.choices.append(Choice(what, found[1]))
        elif isinstance(unwrapped(function.call), exp.ArgMax | exp.ArgMin):
            row = deciding(self.input, names)
            value = by_row(function.call, row, facts_of(row.input).closure(names))
            if value is None:
                return function
            self.choices.append(row.choice(what, "ties"))
            self.input, found = row.input, (value, "")
        return function if found is None else replace(function, call=found[0])

    def _extended(self, function: WindowFunction, row: Deciding) -> WindowFunction:
        """The function with the tie-breaking columns appended to its order."""
        more = row.order
        if more:
            self._record(function, row, "ties" if function.order else "rows")
        elif not function.order:
            more = row.any_order
        return replace(function, order=(*function.order, *more))

    def _numbered(self, function: WindowFunction, row: Deciding) -> WindowFunction:
        """The function over a frame with ties, evaluated in the order of row numbers that break them."""
        column = Column(f"{self.node.functions[0].column.name}_n{len(self.numbers)}", "", exp.DataType.build("int"))
        order = (*function.order, *row.order)
        number = WindowFunction(column, exp.RowNumber(), function.partition_by, order)
        known = next((each for each in self.numbers if replace(each, column=column) == number), number)
        value = in_order(function.call, [Ordering(ref(known.column.name)).clause], function.frame)
        if value is None:
            return function
        self._record(function, row, "ties")
        if known is number:
            self.numbers.append(number)
        return replace(function, call=value)

    def _record(self, function: WindowFunction, row: Deciding, kind: str) -> None:
        what = as_written(function.value, self.node.input)
        if function.meant is not None:
            each = ", ".join(as_written(part, self.node.input) for part in function.partition_by)
            what, kind = f"{function.meant} for each {each}", "the first rows" if kind == "rows" else kind
        self.choices.append(row.choice(what, kind))
        self.input = row.input


def _counts_rows(frame: Frame | None) -> bool:
    """Whether the rows of a frame depend on the order of ties."""
    return frame is not None and frame.unit == "ROWS" and not frame.is_whole


def _is_first(function: WindowFunction) -> bool:
    """Whether a function takes the first row of its partition. With IGNORE NULLS it depends on the frame."""
    call, frame = function.call, function.frame
    while isinstance(call, exp.RespectNulls):
        call = call.this
    return isinstance(call, exp.FirstValue | exp.First) and (frame is None or frame.start == FROM_START)
