"""Recursive queries."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from rollview.plan.nodes.base import Column, Node
from rollview.plan.nodes.sets import Combined


@dataclass(frozen=True, eq=False)
class RecursiveRef(Node):
    """Inside the recursive step: the rows of the previous iteration."""

    title: ClassVar[str] = "recursive reference"
    name: str
    output: tuple[Column, ...]

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return self.output

    @property
    def details(self) -> str:
        return self.name


@dataclass(frozen=True, eq=False)
class Recursive(Combined):
    """WITH RECURSIVE: the rows of the anchor, and those of the recursive step, repeated until it returns none."""

    title: ClassVar[str] = "recursive"
    name: str = ""
    distinct: bool = False

    @property
    def details(self) -> str:
        return self.name
