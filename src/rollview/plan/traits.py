"""How an operator's result depends on changes of its inputs: a property of its type, and of a join's kind.

| trait | what holds | operators |
|---|---|---|
| source | it has no inputs | scan, values, recursive reference |
| linear | Δ(op R) = op ΔR | filter, project, generate, UNION ALL |
| bilinear | linear in each input if the others are unchanged | inner join, multi join, restrict |
| matched | a row depends on whether the other side has a match | outer, semi, anti, mark and single joins |
| grouped | rows of one key depend only on input rows of that key | aggregate, distinct, EXCEPT, INTERSECT, window |
| ordered | a row depends on its position among all rows | LIMIT |
| recursive | a row depends on other rows of the result | recursion |
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from rollview.plan.nodes import (
    SEMI,
    Aggregate,
    Distinct,
    Filter,
    Generate,
    Join,
    Limit,
    MultiJoin,
    Node,
    Project,
    Recursive,
    RecursiveRef,
    Restrict,
    Scan,
    SetOperation,
    UnionAll,
    Values,
    Window,
    distinct,
)


class Trait(str, Enum):
    SOURCE = "source"
    LINEAR = "linear"
    BILINEAR = "bilinear"
    MATCHED = "matched"
    GROUPED = "grouped"
    ORDERED = "ordered"
    RECURSIVE = "recursive"


#: The trait of each type of operator; that of a join depends on its kind.
TRAITS: dict[type[Node], Trait] = {
    Scan: Trait.SOURCE,
    Values: Trait.SOURCE,
    RecursiveRef: Trait.SOURCE,
    Filter: Trait.LINEAR,
    Project: Trait.LINEAR,
    Generate: Trait.LINEAR,
    UnionAll: Trait.LINEAR,
    MultiJoin: Trait.BILINEAR,
    Restrict: Trait.BILINEAR,
    Aggregate: Trait.GROUPED,
    Distinct: Trait.GROUPED,
    SetOperation: Trait.GROUPED,
    Window: Trait.GROUPED,
    Limit: Trait.ORDERED,
    Recursive: Trait.RECURSIVE,
}


def trait_of(node: Node) -> Trait:
    if isinstance(node, Join):
        return Trait.BILINEAR if node.kind.is_inner else Trait.MATCHED
    return TRAITS[type(node)]


def show_traits(plans: Iterable[Node]) -> list[str]:
    """The operators of some plans by trait, a line for each: ``grouped: aggregate, distinct``."""
    found: dict[Trait, dict[str, None]] = {}
    for node in distinct(plans):
        name = f"{node.kind} {node.title}" if isinstance(node, Join) else node.title
        found.setdefault(trait_of(node), {})[name] = None
    return [f"{trait.value}: {', '.join(found[trait])}" for trait in Trait if trait in found]


def grows_with(node: Node) -> tuple[bool, ...]:
    """For each input: whether inserted rows there can only insert rows into the result, whatever the others hold."""
    if trait_of(node) in (Trait.LINEAR, Trait.BILINEAR) or isinstance(node, Distinct):
        return (True,) * len(node.inputs)
    if isinstance(node, Join):
        return not node.kind.pads_left, node.kind is SEMI
    return (False,) * len(node.inputs)


def needs_all_rows(node: Node) -> bool:
    """Whether every row of the result may depend on every row of the input, because all rows form one group."""
    if isinstance(node, Window):
        return any(not function.partition_by for function in node.functions)
    return isinstance(node, Limit) or (isinstance(node, Aggregate) and not node.keys)
