"""Groups inside a query that are worth storing: helpers, which are views of rollview's own.

Before: ``join (part, aggregate by l_partkey [avg(l_quantity)] over lineitem)``.
After: ``join (part, scan helper)``, and the helper is the aggregate, for the parts that the join can find.
A change of lineitem is then added to the helper's groups, and what changed there goes on into the view: neither reads
the lines of the touched parts again. The aggregate at the root needs no helper: its groups are what the view stores.
A window that looks backward has a helper with the counts and sums of its partitions: see ``delta/window``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rollview.compile.fingerprint import fingerprint
from rollview.compile.view import CompiledView
from rollview.delta.deriving import Deriving
from rollview.delta.eager import grouped_first
from rollview.delta.focus import focused
from rollview.delta.window import totals_of
from rollview.keys import with_key
from rollview.plan.nodes import Aggregate, Filter, Limit, Node, Project, Scan, Window
from rollview.plan.normalising import apply_rule

#: The name of the helper for an aggregate; None if there is none.
Helper = Callable[[Aggregate], str | None]


def helped(compiled: CompiledView, helper: Helper) -> CompiledView:
    """The view over its helpers. What is inside an aggregate that has none is asked for, too."""
    found: list[Scan] = []
    totals: dict[str, Scan] = {}

    def scan(node: Aggregate) -> Scan | None:
        name = helper(node)
        key = tuple(item.column.name for item in node.keys)
        return None if name is None else Scan(name, node.columns, helper_labels(node), key)

    def over(node: Node) -> Node:
        if isinstance(node, Aggregate) and node.keys and node.sets is None and (groups := scan(node)) is not None:
            found.append(groups)
            return groups
        for name, whole in totals_of(node) if isinstance(node, Window) else ():
            if (partitions := scan(whole)) is not None:
                totals[name] = partitions
        return node.with_inputs([over(child) for child in node.inputs]) if node.inputs else node

    plan = _below_root(compiled.plan, lambda part: over(_prepared(part)))
    helped = replace(compiled, plan=plan, keyed=with_key(plan)) if found else compiled
    return replace(helped, totals=totals)


def helper_labels(node: Aggregate) -> tuple[str, ...]:
    """The names of a helper's columns."""
    return tuple(f"c{i}" for i in range(len(node.columns)))


def helper_id(node: Aggregate) -> str:
    """What a helper is found by when the view is compiled again."""
    return fingerprint(node)


def _below_root(plan: Node, change: Callable[[Node], Node]) -> Node:
    if isinstance(plan, Project | Filter | Limit):
        return plan.with_inputs([_below_root(plan.input, change)])
    if isinstance(plan, Aggregate) and plan.sets is None:
        return plan.with_inputs([change(plan.input)])
    return change(plan)


def _prepared(plan: Node) -> Node:
    """Groups before left joins, and for the keys of their partners only, as far as another table says which."""
    early = grouped_first(plan, Deriving(_tables(plan)))
    groups = [node for node in early.walk() if isinstance(node, Aggregate)]
    found = focused(early, Deriving({table for node in groups for table in _tables(node)}))
    return apply_rule(found, lambda node: replace(node, version="") if isinstance(node, Scan) else None)


def _tables(plan: Node) -> set[str]:
    return {node.table for node in plan.walk() if isinstance(node, Scan)}
