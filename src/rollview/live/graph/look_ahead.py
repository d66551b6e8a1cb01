"""Look-ahead: which join tuples are live at which of their vertices.

A join tuple is live at a vertex if, coming from there, a path can be completed beyond it: at each of its other
vertices, every other part has a live neighbour (``global``), or any neighbour (``local``). So a flag has a direction.

Flags may err only towards yes. An insertion raises all flags that it makes true, as far as there are such. A deletion
lowers none: a traversal that finds nothing beyond a join tuple lowers it.
"""

from __future__ import annotations

from rollview.live.graph.elements import JoinTuple, Neighbours, VertexValue
from rollview.live.graph.protocol import LookAhead


class Flags:
    """Keeps the flags of one graph. ``sides`` gives the number of a vertex among those of a part."""

    def __init__(self, look_ahead: LookAhead, sides: list[dict[int, int]]) -> None:
        self._look_ahead, self._sides = look_ahead, sides

    def enter(self, item: JoinTuple) -> None:
        """Adds a join tuple to the neighbours of its vertex values, and raises what it makes live."""
        for side in range(len(item.values)):
            item.neighbours(side).add(item, side)
        for side in range(len(item.values)):
            if self._look_ahead is LookAhead.NONE or self._completable(item, side):
                item.neighbours(side).raise_(item, side)
        for side, value in enumerate(item.values):
            if self._count(item.neighbours(side)) == 1:
                self._raise_beyond(value, item.part)

    def leave(self, item: JoinTuple) -> None:
        """Removes a join tuple from the neighbours of its vertex values."""
        for side in range(len(item.values)):
            item.neighbours(side).remove(item, side)

    def dead_end(self, item: JoinTuple, side: int) -> bool:
        """A traversal has found no live neighbour beyond one of the vertices of a join tuple. Lowers it at all others;
        whether it was so."""
        if self._look_ahead is LookAhead.NONE or self._reachable(item.values[side], item.part):
            return False
        item.neighbours(side).open = False
        for other in range(len(item.values)):
            if other != side:
                item.neighbours(other).lower(item, other)
        return True

    def _raise_beyond(self, value: VertexValue, part: int) -> None:
        """A part has its first neighbour at a vertex value: raises what this makes live, on and on."""
        waiting = [] if self._look_ahead is LookAhead.NONE else [(value, part)]
        while waiting:
            value, part = waiting.pop()
            for other, neighbours in value.neighbours.items():
                if other == part or neighbours.open or not self._reachable(value, other):
                    continue
                neighbours.open = True
                own = self._sides[other][value.vertex]
                for item in neighbours.items:
                    for side, beyond in enumerate(item.values):
                        if side != own and self._raised(item, side):
                            waiting.append((beyond, other))

    def _raised(self, item: JoinTuple, side: int) -> bool:
        """Raises a join tuple at a vertex if it can be; whether it is now the first one that counts there."""
        neighbours = item.neighbours(side)
        if item.is_live(side) or not self._completable(item, side):
            return False
        neighbours.raise_(item, side)
        return self._look_ahead is LookAhead.GLOBAL and neighbours.live == 1

    def _completable(self, item: JoinTuple, side: int) -> bool:
        return all(item.neighbours(other).open for other in range(len(item.values)) if other != side)

    def _reachable(self, value: VertexValue, part: int) -> bool:
        """Whether every other part has a neighbour at a vertex value that counts."""
        return all(self._count(each) > 0 for other, each in value.neighbours.items() if other != part)

    def _count(self, neighbours: Neighbours) -> int:
        return neighbours.live if self._look_ahead is LookAhead.GLOBAL else len(neighbours.items)
