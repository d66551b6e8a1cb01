"""What a view reads, as the propagation sees it: a table, or another view.

Forward queries see a source by a stored version of its rows and by changes. The changes of a table after a position
come with their times. A view is seen by the rows that it has stored, wherever it stands: changes that lead from there
to another position, forward or back, have no time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from rollview.delta.timed import Way
from rollview.engine.protocol import Engine, Frame, Kept, has_no_equality
from rollview.plan.expressions import ref
from rollview.plan.nodes import Column, Computed, Filter, Ordering, Project, Window, WindowFunction
from rollview.plan.reserved import TIME, WEIGHT
from rollview.roll.schedule import Backlog
from rollview.views.catalog import Catalog
from rollview.views.relation import relation, scan_of


@dataclass(frozen=True)
class Span:
    """Changes after one position, up to another one: added, or taken away if ``sign`` is −1; with their times, unless
    they are not ``timed``."""

    after: int
    upto: int
    sign: int = 1
    timed: bool = True


@dataclass(frozen=True)
class Stands:
    """A stored version of rows, and the position at which it stands."""

    version: int
    position: int

    def way_to(self, position: int, sign: int = 1) -> list[Span]:
        """The changes that lead from there to a position."""
        if self.position < position:
            return [Span(self.position, position, sign, timed=False)]
        return [Span(position, self.position, -sign, timed=False)] if self.position > position else []


class Source(ABC):
    """A table or view that a view reads. ``used`` are the columns that the view needs."""

    def __init__(self, catalog: Catalog, name: str, used: Sequence[str]) -> None:
        self._catalog, self._engine = catalog, catalog.engine
        self.name, self.used = name, list(used)

    @abstractmethod
    def backlog(self, after: int, upto: int) -> Backlog:
        """The commits after a position, up to another one."""

    @abstractmethod
    def stands(self, position: int) -> Stands:
        """The stored version from which the rows at a position are found."""

    @abstractmethod
    def spans(self, spans: Sequence[Span], way: Way) -> Kept:
        """The net change of some spans: the used columns, ``__w`` and ``__t``."""

    def changes(self, after: int, upto: int) -> Kept:
        """The net change of each position after one, up to another."""
        return self.spans([Span(after, upto)], Way.HISTORY)

    def rows(self, version: int) -> Frame:
        """All rows of a version."""
        return relation(self._catalog, self.name).rows(version)

    @property
    def columns(self) -> list[str]:
        return [*self.used, WEIGHT.label, TIME.label]

    @property
    def typed(self) -> list[tuple[str, str]]:
        kinds = dict(relation(self._catalog, self.name).columns())
        return [*((name, kinds[name]) for name in self.used), (WEIGHT.label, "bigint"), (TIME.label, "bigint")]

    @property
    def is_comparable(self) -> bool:
        return not any(has_no_equality(kind) for _, kind in self.typed)

    def can_be_cut(self) -> bool:
        """Whether the changes of one commit can be put into an order, by which they are cut into parts."""
        return self.is_comparable and not any("map<" in kind for _, kind in self.typed)

    def part(self, changes: Kept, number: int, parts: int) -> Kept:
        """Every n-th of some changed rows, in an order that is the same whenever they are read."""
        return _part(self._engine, self.typed, changes, number, parts)


def _part(engine: Engine, typed: Sequence[tuple[str, str]], changes: Kept, number: int, parts: int) -> Kept:
    own = scan_of("changes", typed)
    order = tuple(Ordering(ref(column.name)) for column in own.output)
    place = Column("__place", "__place")
    numbered = Window(own, (WindowFunction(place, exp.RowNumber(), (), order),))
    rest = exp.Mod(this=ref(place.name), expression=exp.Literal.number(parts))
    chosen = Filter(numbered, exp.EQ(this=rest, expression=exp.Literal.number(number)))
    plan = Project(chosen, tuple(Computed(column, ref(column.name)) for column in own.output))
    return engine.keep(engine.select(plan, {"changes": changes.frame}, [name for name, _ in typed]))
