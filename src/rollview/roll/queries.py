"""Propagation queries: the join of a view in which some tables are replaced by their changes over an interval.

Times are positions of the commit clock. ``R2@3`` is the table as it stood at position 3, and ``R1(0,2]`` its changes
after 0 up to 2, each with a weight and the time of its commit. The weights of joined rows multiply; the time of a
joined row is the least or the greatest of those of the changes in it, and a state has none. See ``forwarding.py``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum


class Time(Enum):
    """Which time a joined row takes from the changes that it was joined from."""

    LEAST = "least"
    GREATEST = "greatest"


@dataclass(frozen=True)
class State:
    """A table as it stands at a position."""

    table: str
    at: int

    def __str__(self) -> str:
        return f"{self.table}@{self.at}"


@dataclass(frozen=True)
class Changes:
    """The changes of a table after one position, up to another one."""

    table: str
    after: int
    upto: int

    def __str__(self) -> str:
        return f"{self.table}({self.after},{self.upto}]"


Part = State | Changes


@dataclass(frozen=True)
class Query:
    """A signed propagation query: one part for each place of the join, in its order."""

    parts: tuple[Part, ...]
    sign: int = 1

    def __neg__(self) -> Query:
        return replace(self, sign=-self.sign)

    def __str__(self) -> str:
        return ("− " if self.sign < 0 else "") + " ⋈ ".join(map(str, self.parts))


def shown(queries: Iterable[Query]) -> str:
    """The sum of queries as one line: ``R1(0,2] ⋈ R2@3 − R1(0,2] ⋈ R2(2,3]``."""
    text = "".join(f" {'+−'[query.sign < 0]} {replace(query, sign=1)}" for query in queries)
    return text.removeprefix(" + ").lstrip()
