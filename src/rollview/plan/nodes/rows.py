"""Operators that produce rows, or process them one by one: scan, values, filter, project, generate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from rollview.plan.expressions import Expr, ref, show
from rollview.plan.nodes.base import Column, Computed, Node, show_all


@dataclass(frozen=True, eq=False)
class Scan(Node):
    """A table. ``key`` is its declared key; ``sources`` are the columns' names in the table; ``version`` says which
    relation of the table is read (old, new, change), if a plan reads several; ``not_null`` are columns known never to
    be NULL."""

    title: ClassVar[str] = "scan"
    table: str
    output: tuple[Column, ...]
    sources: tuple[str, ...]
    key: tuple[str, ...] = ()
    version: str = ""
    not_null: tuple[str, ...] = ()

    @cached_property
    def tables(self) -> frozenset[str]:
        return frozenset({self.table})

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return self.output

    @property
    def details(self) -> str:
        version = f" {self.version}" if self.version else ""
        return f"{self.table}{version} [{', '.join(c.name for c in self.output)}]"


@dataclass(frozen=True, eq=False)
class Values(Node):
    """The literal rows of a VALUES clause."""

    title: ClassVar[str] = "values"
    output: tuple[Column, ...]
    rows: tuple[tuple[Expr, ...], ...]

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return self.output

    @cached_property
    def expressions(self) -> tuple[Expr, ...]:
        return tuple(value for row in self.rows for value in row)

    @property
    def details(self) -> str:
        return f"{len(self.rows)} rows [{', '.join(c.name for c in self.output)}]"


@dataclass(frozen=True, eq=False)
class Filter(Node):
    """The rows for which the condition is true."""

    title: ClassVar[str] = "filter"
    input: Node
    condition: Expr

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return self.input.columns

    @cached_property
    def expressions(self) -> tuple[Expr, ...]:
        return (self.condition,)

    @property
    def details(self) -> str:
        return show(self.condition)


@dataclass(frozen=True, eq=False)
class Project(Node):
    """The columns of ``output``, computed from each row."""

    title: ClassVar[str] = "project"
    input: Node
    output: tuple[Computed, ...]

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return tuple(computed.column for computed in self.output)

    @cached_property
    def expressions(self) -> tuple[Expr, ...]:
        return tuple(computed.value for computed in self.output)

    @property
    def details(self) -> str:
        return show_all(self.output)


@dataclass(frozen=True, eq=False)
class Generate(Node):
    """Each row, joined with the rows that a generator such as explode returns for it; with ``outer`` at least one."""

    title: ClassVar[str] = "generate"
    input: Node
    generator: Expr
    output: tuple[Column, ...]
    outer: bool = False

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return self.input.columns + self.output

    @cached_property
    def expressions(self) -> tuple[Expr, ...]:
        return (self.generator,)

    @property
    def details(self) -> str:
        return f"{'outer ' if self.outer else ''}{show(self.generator)} [{', '.join(c.name for c in self.output)}]"


def exactly(plan: Node, columns: Sequence[Column]) -> Node:
    """Exactly these columns of the plan, in this order."""
    if tuple(c.name for c in plan.columns) == tuple(c.name for c in columns):
        return plan
    return Project(plan, tuple(Computed(column, ref(column.name)) for column in columns))
