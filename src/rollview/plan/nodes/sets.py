"""Set operations over two inputs: UNION ALL, EXCEPT, INTERSECT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import ClassVar

from rollview.errors import InternalError
from rollview.plan.nodes.base import Column, Node


class SetKind(str, Enum):
    EXCEPT = "except"
    INTERSECT = "intersect"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, eq=False)
class Combined(Node):
    """Two inputs whose columns correspond by position, and the result's columns."""

    left: Node
    right: Node
    output: tuple[Column, ...]

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return self.output

    def __post_init__(self) -> None:
        super().__post_init__()
        if not len(self.left.columns) == len(self.right.columns) == len(self.output):
            raise InternalError(f"{self.title} of {len(self.left.columns)} and {len(self.right.columns)} columns")


@dataclass(frozen=True, eq=False)
class UnionAll(Combined):
    """The rows of both inputs."""

    title: ClassVar[str] = "union all"


@dataclass(frozen=True, eq=False)
class SetOperation(Combined):
    """EXCEPT or INTERSECT of distinct rows, or with ``all`` of copies."""

    title: ClassVar[str] = "set operation"
    kind: SetKind = SetKind.EXCEPT
    all: bool = False

    @property
    def details(self) -> str:
        return f"{self.kind} all" if self.all else str(self.kind)


def union_of(terms: Sequence[Node], output: tuple[Column, ...]) -> Node:
    """The UNION ALL of some inputs as a balanced tree."""
    if len(terms) == 1:
        return terms[0]
    half = (len(terms) + 1) // 2
    return UnionAll(union_of(terms[:half], output), union_of(terms[half:], output), output)
