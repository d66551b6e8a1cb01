"""GYO reduction: parts that have classes of equal columns in common → a tree of parts, or the parts of a cycle.

A part is removed if all that it has in common with the others is in one of them, to which it is attached. If all parts
but one can be removed so, the join is acyclic: comparing each part with the one that it is attached to compares all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Edge:
    """A part, the one that it is attached to, and the classes that they have in common."""

    part: int
    to: int
    classes: frozenset[int]


@dataclass(frozen=True)
class Meeting:
    """Parts that have the same classes in common: a vertex of the join graph."""

    classes: frozenset[int]
    parts: frozenset[int]


def reduced(classes: Sequence[frozenset[int]]) -> tuple[list[Edge], frozenset[int]]:
    """The edges of the join tree, and the parts that could not be removed: those of cycles, if there are several.
    ``classes`` are those of each part."""
    left = set(range(len(classes)))
    edges: list[Edge] = []
    removed = True
    while removed and len(left) > 1:
        removed = False
        for part in sorted(left, reverse=True):
            others = left - {part}
            shared = classes[part] & frozenset[int]().union(*(classes[other] for other in others))
            hosts = sorted(other for other in others if shared <= classes[other])
            if hosts:
                meeting = [host for host in hosts if any(e.classes == shared and host in (e.part, e.to) for e in edges)]
                edges.append(Edge(part, (meeting or hosts)[0], shared))
                left.remove(part)
                removed = True
                break
    return edges, frozenset(left)


def meetings(edges: Sequence[Edge]) -> list[Meeting]:
    """The vertices: edges with the same classes that have a part in common are one."""
    found: list[Meeting] = []
    for edge in edges:
        own = Meeting(edge.classes, frozenset({edge.part, edge.to}))
        touching = [each for each in found if each.classes == own.classes and each.parts & own.parts]
        parts = own.parts.union(*(each.parts for each in touching))
        found = [each for each in found if each not in touching] + [Meeting(own.classes, parts)]
    return sorted(found, key=lambda each: (sorted(each.parts), sorted(each.classes)))
