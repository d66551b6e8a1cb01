"""A shape as the plan that a kernel follows: one array of words, laid out as ``numbers.py`` says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rollview.live.graph.protocol import LookAhead
from rollview.live.interning import Words
from rollview.live.kernel import numbers as n
from rollview.live.kernel.shown import Shown, shown
from rollview.live.shape import Shape

_LOOK_AHEADS = {LookAhead.NONE: n.NONE, LookAhead.LOCAL: n.LOCAL, LookAhead.GLOBAL: n.GLOBAL}


@dataclass(frozen=True)
class VertexPlan:
    """A vertex: the words of its key and of a value, its table, and its parts with the slots they have in a value."""

    number: int
    key: int
    size: int
    table: int
    slots: dict[int, int]


@dataclass(frozen=True)
class PartPlan:
    """A part. ``keys`` is where the key of each side is in a changed row."""

    number: int
    vertices: tuple[int, ...]
    keys: tuple[int, ...]
    width: int
    pushed: int
    table: int
    out_sums: int

    @property
    def leaf(self) -> bool:
        return len(self.vertices) == 1

    @property
    def stride(self) -> int:
        """The words of a projected tuple."""
        return self.width + 1 + 3 * self.pushed

    @property
    def tuple(self) -> int:
        """The words of a join tuple, with its first projected tuple."""
        return 2 * len(self.vertices) + 2 + self.stride

    @property
    def in_fields(self) -> int:
        return self.keys[-1]


@dataclass(frozen=True)
class StepPlan:
    """A step of a traversal; ``chosen`` is the step that chooses the part it starts from, −1 for the first part."""

    source: int
    side: int
    target: int
    slot: int
    leaf: bool
    chosen: int


@dataclass(frozen=True)
class Plan:
    """All that a kernel must know of a shape."""

    look_ahead: LookAhead
    parts: tuple[PartPlan, ...]
    vertices: tuple[VertexPlan, ...]
    steps: tuple[tuple[StepPlan, ...], ...]
    shown: Shown
    sums: int
    delta: int

    @property
    def fields(self) -> int:
        """The columns of the output that are fields."""
        return self.shown.columns

    @property
    def top(self) -> int:
        """Where the arena's memory begins."""
        return self.delta + 2 + max(part.stride for part in self.parts)

    @property
    def without_vertices(self) -> bool:
        """Whether there is one part, which joins with none: its vertex is made up."""
        return len(self.parts) == 1

    def room(self, part: PartPlan) -> int:
        """The words that a row of a part takes at most without what grows: its vertex values, lists, tuples, and fresh
        pieces from which small ones are cut. A piece is rounded up by half."""
        found = part.tuple + part.stride + 8 + sum(self.vertices[vertex].size + 8 for vertex in part.vertices)
        return 2 * found + n.CHUNK * (1 + found // (n.CHUNK // 2))

    def row_words(self, number: int) -> int:
        """About how many words a row of a part takes, if each vertex value is shared by two rows. Blocks, lists and
        tables have room for more than they hold: how much, was measured."""
        part = self.parts[number]
        found = 1.4 * part.stride + 2
        if not part.leaf:
            found += part.tuple - part.stride + 2.5 + 1.6 * len(part.vertices)
        return round(found + sum(self.vertices[vertex].size + 2.5 for vertex in part.vertices) / 2)

    def words(self) -> Words:
        """The plan as a kernel reads it."""
        parts, vertices = self.parts, self.vertices
        more = n.HEAD + len(parts) * n.PART_WORDS + len(vertices) * n.VERTEX_WORDS
        tail: list[int] = []
        head = [
            _LOOK_AHEADS[self.look_ahead],
            len(parts),
            len(vertices),
            self.fields,
            self.sums,
            self.delta,
            self.shown.nulls,
            0,
        ]
        for part, steps in zip(parts, self.steps, strict=True):
            steps_at = more + len(tail)
            for step in steps:
                tail += [step.source, step.side, step.target, step.slot, step.leaf, step.chosen]
            sides_at = more + len(tail)
            for vertex, key in zip(part.vertices, part.keys, strict=False):
                tail += [vertex, vertices[vertex].slots[part.number], key]
            head += [len(part.vertices), part.leaf, part.width, part.pushed, part.stride, part.tuple, part.table]
            head += [part.out_sums, part.in_fields, part.in_fields + part.stride, len(steps), steps_at, sides_at]
            for pairs in (self.shown.words[part.number], self.shown.bits[part.number]):
                head += [len(pairs), more + len(tail)]
                tail += [number for pair in pairs for number in pair]
            head += [part.width - 1, self.room(part)]
        for each in vertices:
            head += [each.key, each.size, each.table, len(each.slots), more + len(tail)]
            for member, slot in each.slots.items():
                tail += [member, slot, parts[member].leaf, parts[member].vertices.index(each.number)]
        return np.array([*head, *tail], dtype=np.int64)


def plan_of(shape: Shape, look_ahead: LookAhead) -> Plan:
    """The plan of a shape."""
    sides = [part.vertices or (0,) for part in shape.parts]
    vertices = _vertices(shape, sides)
    tables = n.TABLES + n.TABLE_WORDS * len(vertices)
    columns = shown(shape)
    parts, sums = [], 0
    for part in shape.parts:
        keys = [0]
        for vertex in sides[part.number]:
            keys.append(keys[-1] + vertices[vertex].key)
        table = tables + n.TABLE_WORDS * part.number
        own = (part.number, sides[part.number], tuple(keys), part.layout.width, len(part.pushed), table)
        parts.append(PartPlan(*own, columns.columns + 1 + sums))
        sums += 3 * len(part.pushed)
    steps = tuple(_steps(shape, sides, vertices, part.number) for part in shape.parts)
    return Plan(look_ahead, tuple(parts), vertices, steps, columns, sums, tables + n.TABLE_WORDS * len(parts))


def _vertices(shape: Shape, sides: Sequence[Sequence[int]]) -> tuple[VertexPlan, ...]:
    widths = [(vertex.layout.width, vertex.parts) for vertex in shape.vertices] or [(0, (0,))]
    found = []
    for number, (width, members) in enumerate(widths):
        slots, at = {}, width
        for part in members:
            slots[part] = at
            at += 2 if len(sides[part]) == 1 else 3
        found.append(VertexPlan(number, width, at, n.TABLES + n.TABLE_WORDS * number, slots))
    return tuple(found)


def _steps(
    shape: Shape, sides: Sequence[Sequence[int]], vertices: Sequence[VertexPlan], start: int
) -> tuple[StepPlan, ...]:
    steps = shape.steps[start]
    chosen = {start: -1} | {step.target: number for number, step in enumerate(steps)}
    return tuple(
        StepPlan(
            step.source,
            list(sides[step.source]).index(step.vertex),
            step.target,
            vertices[step.vertex].slots[step.target],
            len(sides[step.target]) == 1,
            chosen[step.source],
        )
        for step in steps
    )
