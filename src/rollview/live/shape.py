"""A view as a join graph is made for it: parts, vertices, steps, and what is computed of a completed path.

A *part* is one occurrence of a table. A *vertex* is what several parts have equal: one or several classes of equal
columns. Parts and vertices are a tree, so that from each part every other one is reached in one way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from rollview.live.words import Kind, Layout
from rollview.plan.expressions import Expr

#: Sums of decimals of more digits may not fit 128 bits while they are added up.
PUSHED_DIGITS = 28


@dataclass(frozen=True)
class Vertex:
    """What the join tuples of some parts have equal. ``null_safe`` says of each column whether NULL equals NULL; if
    not, no row with a NULL there is in the graph."""

    number: int
    title: str
    kinds: tuple[Kind, ...]
    null_safe: tuple[bool, ...]
    parts: tuple[int, ...]

    @cached_property
    def layout(self) -> Layout:
        """How a vertex value is laid out."""
        return Layout(self.kinds, any(self.null_safe))


@dataclass(frozen=True)
class Pushed:
    """A sum over the rows of one projected tuple, and the number of its values that are not NULL: of a column of the
    part."""

    column: str
    kind: Kind

    @property
    def summed(self) -> bool:
        """Whether there is a sum; of other types, only the values are counted."""
        return self.kind.integer or (self.kind.decimal and self.kind.arrow.precision <= PUSHED_DIGITS)


@dataclass(frozen=True)
class Part:
    """One occurrence of a table.

    ``sources`` are the columns that are read: the plan's name, the table's name, the type. ``filters`` are conditions
    over them, ``computed`` further columns made of them. ``keys`` has the columns of each of its ``vertices``.
    ``fields`` are the columns of which projected tuples are made, ``pushed`` the columns whose sums they have."""

    number: int
    table: str
    title: str
    sources: tuple[tuple[str, str, str], ...]
    filters: tuple[Expr, ...]
    computed: Mapping[str, Expr]
    vertices: tuple[int, ...]
    keys: tuple[tuple[str, ...], ...]
    fields: tuple[tuple[str, Kind], ...]
    pushed: tuple[Pushed, ...] = ()

    @cached_property
    def layout(self) -> Layout:
        """How a projected tuple is laid out."""
        return Layout(tuple(kind for _, kind in self.fields), bool(self.fields))


@dataclass(frozen=True)
class Step:
    """One step of a traversal: from the join tuple of ``source``, through its value of ``vertex``, to ``target``."""

    source: int
    vertex: int
    target: int


@dataclass(frozen=True)
class Result:
    """An aggregate of the view: its function, the column of paths that it is taken of (None for all rows), its type and
    that of the column. If ``pushed``, its sums come from the projected tuples."""

    name: str
    function: str
    column: str | None
    kind: Kind
    of: Kind | None = None
    pushed: bool = False


@dataclass(frozen=True)
class Grouping:
    """How paths are grouped: the ``keys``, each with its name, the column of paths and the type, and the aggregates.
    ``computed`` are columns made of a path's. Without keys there is one group, even if there is no path."""

    computed: Mapping[str, Expr]
    keys: tuple[tuple[str, str, Kind], ...]
    results: tuple[Result, ...]

    @cached_property
    def layout(self) -> Layout:
        return Layout(tuple(kind for _, _, kind in self.keys), bool(self.keys))


@dataclass(frozen=True)
class Output:
    """What is shown of paths or of groups: rows that satisfy the ``filters``, and a value for each ``label``."""

    filters: tuple[Expr, ...]
    values: tuple[Expr, ...]
    labels: tuple[str, ...]
    kinds: tuple[Kind, ...]

    @cached_property
    def layout(self) -> Layout:
        return Layout(self.kinds, bool(self.kinds))


@dataclass(frozen=True)
class Shape:
    """A compiled view. ``residual`` are conditions on completed paths."""

    parts: tuple[Part, ...]
    vertices: tuple[Vertex, ...]
    residual: tuple[Expr, ...]
    grouping: Grouping | None
    output: Output
    tables: tuple[str, ...] = field(default=())

    @cached_property
    def steps(self) -> tuple[tuple[Step, ...], ...]:
        """The step table: how a traversal that begins in a part comes to all others, depth first."""
        return tuple(self._from(part.number) for part in self.parts)

    def _from(self, start: int) -> tuple[Step, ...]:
        found: list[Step] = []

        def walk(part: int, entry: int | None) -> None:
            for vertex in self.parts[part].vertices:
                if vertex != entry:
                    for target in self.vertices[vertex].parts:
                        if target != part:
                            found.append(Step(part, vertex, target))
                            walk(target, vertex)

        walk(start, None)
        return tuple(found)

    def occurrences(self, table: str) -> list[Part]:
        """The parts that read a table."""
        return [part for part in self.parts if part.table == table]
