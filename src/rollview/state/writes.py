"""What a refresh writes, before anything is computed: the rows of a plan, and the edit of the state that they become.

| write | the rows |
|---|---|
| ``AppendRows`` | are appended |
| ``UpsertRows`` | update or delete the stored rows of the same key; the others are inserted |
| ``CountRows`` | are added to a bag, or removed from it if their count is negative |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from rollview.plan.expressions import Expr
from rollview.plan.nodes import Node, show

W = TypeVar("W", bound="Write")


@dataclass(frozen=True)
class Write:
    """The rows of a plan. Its columns have the names of stored ones."""

    rows: Node

    def of(self: W, rows: Node) -> W:
        """The same edit of other rows."""
        return replace(self, rows=rows)

    @property
    def what(self) -> str:
        """What becomes of the rows, for people."""
        return "appended to the state"

    def details(self) -> list[str]:
        """The expressions of the edit, a line each."""
        return []


@dataclass(frozen=True)
class AppendRows(Write):
    """New rows."""


@dataclass(frozen=True)
class UpsertRows(Write):
    """``on`` are the columns that tell stored rows apart. ``set`` gives new values of matched rows as SQL over ``t``
    (stored) and ``s`` (given); a column that is not among them takes the given value. A matched row is deleted if
    ``gone`` or the given ``__delete`` is true."""

    on: tuple[str, ...] = ()
    set: Mapping[str, Expr] = field(default_factory=dict)
    gone: Expr | None = None

    @property
    def what(self) -> str:
        return "merged into the state on its key"

    def details(self) -> list[str]:
        lines = [f"{column} = {show(value)}" for column, value in self.set.items()]
        return lines if self.gone is None else [*lines, f"deleted if {show(self.gone)}"]


@dataclass(frozen=True)
class CountRows(Write):
    """``count`` is the column that says how many equal rows a row stands for, ``on`` are all others."""

    on: tuple[str, ...] = ()
    count: str = ""

    @property
    def what(self) -> str:
        return f"added to the state, or removed from it if {self.count} is negative"
