"""All completed paths through a join tuple: one join tuple of each part, neighbours having a vertex value in common.

A traversal follows the step table depth first, and visits live neighbours only. If a step finds none, the join tuple
that it starts from can be in no path, whatever was chosen for the other parts: it is lowered, and the traversal goes
back to where that join tuple was chosen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rollview.live.graph.elements import JoinTuple, Neighbours
from rollview.live.graph.look_ahead import Flags
from rollview.live.shape import Shape


class Traversal:
    """Traverses one graph. ``visited`` counts the join tuples that were visited."""

    def __init__(self, shape: Shape, flags: Flags, sides: list[dict[int, int]]) -> None:
        self._count, self._flags = len(shape.parts), flags
        self._steps = [
            [(step.source, sides[step.source][step.vertex], step.target) for step in steps] for steps in shape.steps
        ]
        #: The step that chooses the join tuple of a part.
        self._chosen = [{step[2]: number for number, step in enumerate(steps)} for steps in self._steps]
        self.visited = 0

    def paths(self, start: JoinTuple) -> Iterator[Sequence[JoinTuple]]:
        """The paths through a join tuple; the list that is yielded is used again."""
        steps, chosen = self._steps[start.part], self._chosen[start.part]
        path = [start] * self._count
        self.visited += 1
        if not steps:
            yield path
            return
        at = [0] * len(steps)
        number = 0
        while number >= 0:
            source, side, target = steps[number]
            neighbours: Neighbours = path[source].values[side].neighbours[target]
            if at[number] < neighbours.live:
                path[target] = neighbours.items[at[number]]
                self.visited += 1
                if number + 1 < len(steps):
                    number += 1
                    at[number] = 0
                    continue
                yield path
            elif neighbours.live:
                number -= 1
            else:
                lowered = self._flags.dead_end(path[source], side)
                number = chosen.get(source, -1)
                if lowered:  # another join tuple has taken its place
                    continue
            at[number] += 1
