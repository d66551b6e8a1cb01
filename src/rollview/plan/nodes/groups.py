"""Operators whose result has one row per group of input rows: aggregate, distinct."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from rollview.plan.expressions import Expr
from rollview.plan.nodes.base import Column, Computed, Node, show_all


@dataclass(frozen=True, eq=False)
class Aggregate(Node):
    """One row per group. For GROUPING SETS, ``sets`` lists which of the keys each set groups by.

    Without keys there is one group, even if the input is empty.
    """

    title: ClassVar[str] = "aggregate"
    input: Node
    keys: tuple[Computed, ...]
    aggregates: tuple[Computed, ...]
    sets: tuple[tuple[int, ...], ...] | None = None

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return tuple(computed.column for computed in (*self.keys, *self.aggregates))

    @cached_property
    def expressions(self) -> tuple[Expr, ...]:
        return tuple(computed.value for computed in (*self.keys, *self.aggregates))

    @property
    def details(self) -> str:
        by = f"by {show_all(self.keys)} " if self.keys else ""
        sets = f"sets {self.sets} " if self.sets is not None else ""
        return f"{by}{sets}[{show_all(self.aggregates)}]"


@dataclass(frozen=True, eq=False)
class Distinct(Node):
    """Each distinct row once."""

    title: ClassVar[str] = "distinct"
    input: Node

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return self.input.columns
