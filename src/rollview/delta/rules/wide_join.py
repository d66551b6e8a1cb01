"""Inner joins of many changed inputs: the terms share their joins, so that they grow as n·log n instead of n².

The n terms of ``join`` have n inputs each. Terms i and j between which an input lies outside of both ranges read it at
the same version: all terms of a range of inputs read those before it new, and those after it old. So each half of the
terms is added up over its own inputs first, and the sum is joined with the other half:

    Δ(L ⋈ R) = Δ(L) ⋈ Rᵒˡᵈ  +  Lⁿᵉʷ ⋈ Δ(R)          L, R: the first and the second half of the inputs, and so on down

The inputs are ordered depth first along the join graph. A range of them may still lack a connection, such as half of
the dimensions of a star without its fact table: then the inputs that connect it, which all lie before it, are joined
with its terms at once. Halving ends at a few changed inputs, which have one term each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rollview.delta.derivation import Derivation
from rollview.delta.weights import together
from rollview.plan.expressions import Expr, equality, names_in
from rollview.plan.nodes import Column, Join, MultiJoin, Node

#: Joins with more changed inputs share the joins of their terms.
MOST_TERMS = 8

#: Ranges with this many changed inputs are not halved.
_FEW = 4

#: Joins a delta with one version of other inputs under conditions.
JoinedWith = Callable[[Node, list[Node], list[Expr], Derivation], Node]


def wide_delta(node: Join | MultiJoin, derivation: Derivation, joined_with: JoinedWith) -> Node | None:
    """The delta of an inner join with many changed inputs."""
    found = _Wide(node, derivation, joined_with)
    return found.delta(0, len(node.inputs))


class _Wide:
    """The inputs in the order of the join graph; ``parent`` has the place of the input that each one is joined to."""

    def __init__(self, node: Join | MultiJoin, derivation: Derivation, joined_with: JoinedWith) -> None:
        self.derivation, self.joined_with = derivation, joined_with
        self.conditions = list(node.conditions)
        order, self.parent = _depth_first(node.inputs, self.conditions)
        self.parts = [node.inputs[place] for place in order]
        self.changed = [derivation.touches(part) for part in self.parts]

    def delta(self, start: int, end: int) -> Node | None:
        """The sum of the terms of a range of inputs, over these inputs and those that connect them."""
        own = self._connected(start, end)
        places = [place for place in range(start, end) if self.changed[place]]
        if len(places) <= _FEW:
            terms = [self._term(self.derivation.delta(self.parts[place]), place, [place], own) for place in places]
        else:
            middle = places[len(places) // 2]
            first, last = self.delta(start, middle), self.delta(middle, end)
            terms = [
                self._term(first, start, self._connected(start, middle), own),
                self._term(last, middle, self._connected(middle, end), own),
            ]
        return together(terms, self._columns(own))

    def _term(self, delta: Node | None, place: int, inside: Sequence[int], own: Sequence[int]) -> Node | None:
        """The delta over the inputs ``inside``, joined with the rest of ``own``: those before ``place`` new, those
        after it old."""
        if delta is None:
            return None
        found = self.derivation
        versions = [(found.new if i < place else found.old)(self.parts[i]) for i in own if i not in inside]
        names, done = self._names(own), self._names(inside if len(inside) > 1 else ())
        used = [names_in(condition) for condition in self.conditions]
        ready = [c for c, n in zip(self.conditions, used, strict=True) if n <= names and not (done and n <= done)]
        return self.joined_with(delta, versions, ready, found)

    def _connected(self, start: int, end: int) -> list[int]:
        """The places of a range, and of the inputs before it without which some of it would not be connected."""
        outside = [parent for parent in self.parent[start:end] if parent < start]
        path: list[int] = []
        if len(outside) > 1:
            place = self.parent[start]
            while place >= min(outside):
                path.insert(0, place)
                place = self.parent[place]
        return [*path, *range(start, end)]

    def _names(self, places: Sequence[int]) -> frozenset[str]:
        return frozenset[str]().union(*(self.parts[place].names for place in places))

    def _columns(self, places: Sequence[int]) -> list[Column]:
        return [column for place in places for column in self.parts[place].columns]


def _depth_first(parts: Sequence[Node], conditions: Sequence[Expr]) -> tuple[list[int], list[int]]:
    """The inputs, depth first along the equalities from the first one; and for each place in this order the place that
    it is joined to. What no equality connects is joined to the first input."""
    beside: list[list[int]] = [[] for _ in parts]
    home = {name: place for place, part in enumerate(parts) for name in part.names}
    for condition in conditions:
        ends = sorted({home[name] for name in names_in(condition)})
        if equality(condition) is not None and len(ends) > 1:
            for end in ends:
                beside[end] += [other for other in ends if other != end]
    order: list[int] = []
    parent: list[int] = []
    placed: dict[int, int] = {}
    waiting = [(place, -1) for place in reversed(range(len(parts)))]
    while waiting:
        place, above = waiting.pop()
        if place not in placed:
            placed[place] = len(order)
            parent.append(placed.get(above, 0) if order else -1)
            order.append(place)
            waiting += [(other, place) for other in reversed(beside[place]) if other not in placed]
    return order, parent
