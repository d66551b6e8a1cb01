"""The arena of a compiled graph, read as the elements of the plain one."""

from __future__ import annotations

from rollview.live.graph.elements import JoinTuple, VertexValue
from rollview.live.graph.protocol import Graph, LookAhead, joined
from rollview.live.graph.reference import ReferenceGraph
from rollview.live.kernel import numbers as n
from rollview.live.kernel.graph import CompiledGraph
from rollview.live.kernel.plan import PartPlan


def elements(graph: Graph) -> ReferenceGraph:
    """What a graph holds as a plain graph. That of a compiled one only is to be read."""
    return graph if isinstance(graph, ReferenceGraph) else _Reading(graph).read()


class _Reading:
    def __init__(self, graph: Graph) -> None:
        assert isinstance(graph, CompiledGraph)
        self.plan, self.words = graph.plan, graph.arena.tolist()
        self.found = ReferenceGraph(graph.shape, LookAhead.GLOBAL, 1)
        self.values: dict[int, VertexValue] = {}

    def read(self) -> ReferenceGraph:
        for vertex in self.plan.vertices:
            for at in self._records(vertex.table):
                key = tuple(self.words[at : at + vertex.key])
                value = self.values[at] = VertexValue(vertex.number, key, tuple(vertex.slots))
                if not self.plan.without_vertices:
                    assert key not in self.found.values[vertex.number], "a vertex value is there twice"
                    self.found.values[vertex.number][key] = value
        for part in self.plan.parts:
            if part.leaf:
                slot = self.plan.vertices[part.vertices[0]].slots[part.number]
                for at in self._records(self.plan.vertices[part.vertices[0]].table):
                    if self.words[at + slot + 1]:
                        self._leaf(part, at, at + slot)
            else:
                self._inner(part)
        self._check_counts()
        self.found._traversal.visited = self.words[n.VISITED]
        return self.found

    def _records(self, table: int) -> list[int]:
        base, mask, count = self.words[table : table + 3]
        found = [entry & ((1 << 48) - 1) for entry in self.words[base : base + mask + 1] if entry]
        assert len(found) == count == len(set(found))
        return found

    def _leaf(self, part: PartPlan, at: int, has: int) -> None:
        value = self.values[at]
        item = JoinTuple(part.number, [value])
        neighbours = value.neighbours[part.number]
        neighbours.items, neighbours.live = [item], 1
        self._projected(part, item, has)
        if self.plan.without_vertices:
            item.values, item.places = [], []
        self._enter(item)

    def _inner(self, part: PartPlan) -> None:
        sides = len(part.vertices)
        items = {}
        for at in self._records(part.table):
            item = items[at] = JoinTuple(part.number, [self.values[i] for i in self.words[at : at + sides]])
            item.places = self.words[at + sides : at + 2 * sides]
            self._projected(part, item, at + 2 * sides)
            self._enter(item)
        for at, value in self.values.items():
            if part.number in value.neighbours:
                slot = at + self.plan.vertices[value.vertex].slots[part.number]
                base, count, flags = self.words[slot : slot + 3]
                neighbours = value.neighbours[part.number]
                neighbours.items = [items[each] for each in self.words[base : base + count]]
                neighbours.live, neighbours.open = flags >> 1, bool(flags & 1)

    def _projected(self, part: PartPlan, item: JoinTuple, has: int) -> None:
        base, count = self.words[has : has + 2]
        for i in range(count):
            at = base + i * part.stride
            state = self.words[at + part.width : at + part.stride]
            sums = [[state[1 + 3 * j], joined(*state[2 + 3 * j : 4 + 3 * j])] for j in range(part.pushed)]
            key = tuple(self.words[at : at + part.width])
            assert key not in item.projected, "a projected tuple is there twice"
            item.projected[key] = [state[0], *(word for pair in sums for word in pair)]

    def _enter(self, item: JoinTuple) -> None:
        keys = tuple(value.key for value in item.values)
        assert keys not in self.found.tuples[item.part], "a join tuple is there twice"
        self.found.tuples[item.part][keys] = item

    def _check_counts(self) -> None:
        assert self.words[n.VERTEX_VALUES] == len(self.values)
        assert self.words[n.JOIN_TUPLES] == sum(map(len, self.found.tuples))
        tuples = [item for items in self.found.tuples for item in items.values()]
        assert self.words[n.PROJECTED] == sum(len(item.projected) for item in tuples)
