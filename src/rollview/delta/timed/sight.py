"""How a forward query sees the tables as they stood at the position up to which they have been forwarded.

    history     R(f) = R(x) + ΔR(x, f]     an earlier version and the changes since
    presence    R(f) = R(e) − ΔR(f, e]     what can be read now, without the changes since

The changes keep their times. A row that was joined from several changes takes effect with the last of them, and so with
the greatest time, if changes are added. If they are taken away, it is the least: the row is there from the start, and
each change takes it away again for the time before it. All parts of one query must be seen in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum

from sqlglot import exp

from rollview.delta.derivation import STEP
from rollview.plan.expressions import Expr, ref
from rollview.plan.nodes import Column, Computed, Node, Project, Scan, UnionAll
from rollview.plan.reserved import TIME, WEIGHT

#: The weight and the time of a row of a table as a forward query sees it. The forwarded changes have ``__w`` and
#: ``__t``: by these, the passes over delta plans know them as the small input of a join.
SEEN_WEIGHT = Column("__seen_w", "__seen_w", WEIGHT.type)
SEEN_TIME = Column("__seen_t", "__seen_t", TIME.type)

_LAST = 2**63 - 1


class Way(str, Enum):
    """How tables are seen: by their history or by their presence."""

    HISTORY = "history"
    PRESENCE = "presence"

    def __str__(self) -> str:
        return self.value

    def time_of(self, times: list[Expr]) -> Expr:
        """The time of a row that was joined from parts with these times."""
        first, *others = times
        kind = exp.Greatest if self is Way.HISTORY else exp.Least
        return kind(this=first, expressions=others) if others else first

    @property
    def no_time(self) -> Expr:
        """The time of a row that was not changed: it never decides."""
        return number(0 if self is Way.HISTORY else _LAST)


@dataclass(frozen=True)
class Sight:
    """How a scan is read: ``version`` names the relation of its rows, ``changes`` the step that has the changes to add
    to it, or to take away; None if there are none."""

    version: str
    changes: str | None = None


#: How each table is seen, before and after the forwarded changes; the two differ only for the forwarded table.
Sights = Mapping[tuple[str, str], Sight]


@dataclass(frozen=True)
class Seen:
    """A plan over tables as they are seen. If changes are part of it, its rows have ``SEEN_WEIGHT`` and ``SEEN_TIME``;
    otherwise each has the weight 1 and no time."""

    plan: Node
    timed: bool


def seen_scan(scan: Scan, sight: Sight, way: Way) -> Seen:
    """The rows of a table, with those of the changes if there are any."""
    base = replace(scan, version=sight.version)
    if sight.changes is None:
        return Seen(base, timed=False)
    own = tuple(Computed(column, ref(column.name)) for column in scan.output)
    sources = (*scan.sources, WEIGHT.label, TIME.label)
    changes = Scan(sight.changes, (*scan.output, SEEN_WEIGHT, SEEN_TIME), sources, version=STEP)
    weight: Expr = ref(SEEN_WEIGHT.name)
    if way is Way.PRESENCE:
        weight = exp.Neg(this=weight)
    signed = (*own, Computed(SEEN_WEIGHT, weight), Computed(SEEN_TIME, ref(SEEN_TIME.name)))
    output = (*scan.output, SEEN_WEIGHT, SEEN_TIME)
    return Seen(UnionAll(with_no_time(base, way), Project(changes, signed), output), timed=True)


def with_no_time(plan: Node, way: Way) -> Node:
    """Rows that were not changed."""
    own = tuple(Computed(column, ref(column.name)) for column in plan.columns)
    return Project(plan, (*own, Computed(SEEN_WEIGHT, number(1)), Computed(SEEN_TIME, way.no_time)))


def number(value: int) -> Expr:
    return exp.Cast(this=exp.Literal.number(value), to=WEIGHT.type.copy())
