"""What a join graph is made of: vertex values, join tuples, projected tuples.

A *vertex value* is what some parts have equal. A *join tuple* stands for all rows of a part that have the same vertex
values. A *projected tuple* of it stands for those that also have the same projected values: it counts them.

The neighbours of a vertex value are listed by part. Those through which a path can be completed come first: a join
tuple is *live* at a vertex if its place there is before the border. So a flag is a place, and a traversal sees live
ones only.
"""

from __future__ import annotations

#: The projected values of a tuple.
Projected = tuple[int, ...]

#: The key of a vertex value.
Key = tuple[int, ...]

#: How many rows a projected tuple stands for, then for each sum of the part the number of values and their sum.
State = list[int]


class Neighbours:
    """The join tuples of one part at a vertex value, the live ones first. If ``open``, all of them take it that every
    other part has a neighbour here that counts."""

    __slots__ = ("items", "live", "open")

    def __init__(self) -> None:
        self.items: list[JoinTuple] = []
        self.live = 0
        self.open = False

    def add(self, item: JoinTuple, side: int) -> None:
        item.places[side] = len(self.items)
        self.items.append(item)

    def remove(self, item: JoinTuple, side: int) -> None:
        self.lower(item, side)
        self._swap(item.places[side], len(self.items) - 1, side)
        self.items.pop()

    def raise_(self, item: JoinTuple, side: int) -> bool:
        """Makes a join tuple live; whether it was not."""
        if item.places[side] < self.live:
            return False
        self._swap(item.places[side], self.live, side)
        self.live += 1
        return True

    def lower(self, item: JoinTuple, side: int) -> bool:
        """Makes a join tuple not live; whether it was."""
        if item.places[side] >= self.live:
            return False
        self.live -= 1
        self._swap(item.places[side], self.live, side)
        return True

    def _swap(self, a: int, b: int, side: int) -> None:
        items = self.items
        items[a], items[b] = items[b], items[a]
        items[a].places[side], items[b].places[side] = a, b


class VertexValue:
    """A value of a vertex, with the neighbours of each of the vertex's parts."""

    __slots__ = ("key", "neighbours", "vertex")

    def __init__(self, vertex: int, key: Key, parts: tuple[int, ...]) -> None:
        self.vertex, self.key = vertex, key
        self.neighbours = {part: Neighbours() for part in parts}

    @property
    def empty(self) -> bool:
        return not any(each.items for each in self.neighbours.values())


class JoinTuple:
    """A join tuple of a part: its vertex values, its place among the neighbours of each, its projected tuples."""

    __slots__ = ("part", "places", "projected", "values")

    def __init__(self, part: int, values: list[VertexValue]) -> None:
        self.part, self.values = part, values
        self.places = [0] * len(values)
        self.projected: dict[Projected, State] = {}

    def neighbours(self, side: int) -> Neighbours:
        """The list that holds this join tuple at one of its vertices."""
        return self.values[side].neighbours[self.part]

    def is_live(self, side: int) -> bool:
        return self.places[side] < self.neighbours(side).live
