"""Operators that depend on an order of rows: window functions, LIMIT."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

from sqlglot import exp

from rollview.plan.expressions import Expr, show
from rollview.plan.nodes.base import Column, Node, Ordering, show_all


@dataclass(frozen=True)
class Bound:
    """Start or end of a frame. With a ``side``: ``distance`` PRECEDING or FOLLOWING, or UNBOUNDED without a distance;
    without a ``side``: CURRENT ROW."""

    distance: Expr | None = None
    side: str | None = None

    @property
    def clause(self) -> Expr | str:
        if self.distance is not None:
            return self.distance.copy()
        return "CURRENT ROW" if self.side is None else "UNBOUNDED"


CURRENT_ROW, FROM_START, TO_END = Bound(), Bound(side="PRECEDING"), Bound(side="FOLLOWING")


@dataclass(frozen=True)
class Frame:
    """The frame of a window function: ``unit`` is ROWS, RANGE or GROUPS."""

    unit: str
    start: Bound
    end: Bound

    @property
    def is_whole(self) -> bool:
        """Whether the frame is the whole partition."""
        return self.start == FROM_START and self.end == TO_END

    @property
    def is_running(self) -> bool:
        """Whether the frame is UNBOUNDED PRECEDING to CURRENT ROW."""
        return self.start == FROM_START and self.end == CURRENT_ROW

    @property
    def clause(self) -> exp.WindowSpec:
        (start, end), sides = (self.start.clause, self.end.clause), (self.start.side, self.end.side)
        return exp.WindowSpec(kind=self.unit, start=start, start_side=sides[0], end=end, end_side=sides[1])


@dataclass(frozen=True)
class WindowFunction:
    """A column and its window function: ``call`` is what stands before OVER, ``cast_to`` the type that the result is
    cast to. ``meant`` is the user's text if the function replaces another construct (LIMIT inside LATERAL)."""

    column: Column
    call: Expr
    partition_by: tuple[Expr, ...] = ()
    order: tuple[Ordering, ...] = ()
    frame: Frame | None = None
    cast_to: exp.DataType | None = None
    meant: str | None = field(default=None, compare=False)

    @cached_property
    def value(self) -> Expr:
        """The function with its OVER clause."""
        window = exp.Window(
            this=self.call.copy(),
            partition_by=[value.copy() for value in self.partition_by] or None,
            order=exp.Order(expressions=[term.clause for term in self.order]) if self.order else None,
            spec=None if self.frame is None else self.frame.clause,
        )
        return window if self.cast_to is None else exp.Cast(this=window, to=self.cast_to.copy())

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """The expressions over the input's columns."""
        return (self.call, *self.partition_by, *(term.value for term in self.order))

    def over(self, change: Callable[[Expr], Expr]) -> WindowFunction:
        """The same function over changed expressions."""
        by, order = tuple(map(change, self.partition_by)), tuple(term.over(change) for term in self.order)
        return replace(self, call=change(self.call), partition_by=by, order=order)


@dataclass(frozen=True, eq=False)
class Window(Node):
    """The input's columns, and one column for each window function."""

    title: ClassVar[str] = "window"
    input: Node
    functions: tuple[WindowFunction, ...]

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return self.input.columns + tuple(function.column for function in self.functions)

    @cached_property
    def expressions(self) -> tuple[Expr, ...]:
        return tuple(value for function in self.functions for value in function.expressions)

    @property
    def details(self) -> str:
        return show_all(self.functions)


@dataclass(frozen=True, eq=False)
class Limit(Node):
    """ORDER BY … LIMIT … OFFSET: ``count`` rows in an order, after ``offset`` skipped ones."""

    title: ClassVar[str] = "limit"
    input: Node
    order: tuple[Ordering, ...]
    count: int | None
    offset: int = 0

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return self.input.columns

    @cached_property
    def expressions(self) -> tuple[Expr, ...]:
        return tuple(term.value for term in self.order)

    @property
    def clause(self) -> str:
        """The clause as the user wrote it."""
        return f"LIMIT {self.count}" if self.count is not None else f"OFFSET {self.offset}"

    @property
    def details(self) -> str:
        terms = ", ".join(show(t.value) + (" desc" if t.descending else "") for t in self.order)
        return f"{self.count} offset {self.offset} by {terms}"
