"""Operators that see rows in an order: window functions, and LIMIT."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from rollview.plan.expressions import Expr, show
from rollview.plan.nodes.base import Column, Computed, Node, Ordering, show_all


@dataclass(frozen=True, eq=False)
class Window(Node):
    """The input's columns and one more for each window function."""

    title: ClassVar[str] = "window"
    input: Node
    functions: tuple[Computed, ...]

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return self.input.columns + tuple(computed.column for computed in self.functions)

    @cached_property
    def expressions(self) -> tuple[Expr, ...]:
        return tuple(computed.value for computed in self.functions)

    @property
    def details(self) -> str:
        return show_all(self.functions)


@dataclass(frozen=True, eq=False)
class Limit(Node):
    """The first rows in an order, after some that are skipped."""

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
        """What the user has written."""
        return f"LIMIT {self.count}" if self.count is not None else f"OFFSET {self.offset}"

    @property
    def details(self) -> str:
        terms = ", ".join(show(t.value) + (" desc" if t.descending else "") for t in self.order)
        return f"{self.count} offset {self.offset} by {terms}"
