"""Groups inside a query that are worth storing: helpers, which are views of rollview's own.

Before: ``join (part, aggregate by l_partkey [avg(l_quantity)] over lineitem)``.
After: ``join (part, scan helper)``, and the helper is the aggregate, for the parts that the join can find.
A change of lineitem is then added to the helper's groups, and what changed there goes on into the view: neither reads
the lines of the touched parts again. The aggregate at the root needs no helper: its groups are what the view stores.
A semi or anti join seeks keys in its right side; a helper stores which there are: so a changed row of the right side is
one more, or one less, of its key, and only keys that come or go are looked for in the left.
A window that looks backward has helpers with what its partitions amount to, and with their first and last rows: see
``delta/looking``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rollview.compile.fingerprint import fingerprint
from rollview.compile.view import CompiledView
from rollview.delta.deriving import Deriving
from rollview.delta.eager import grouped_first
from rollview.delta.first import first_rows
from rollview.delta.focus import focused
from rollview.delta.looking import stored_of
from rollview.delta.turning import sought_keys
from rollview.delta.window import one_by_one_partitioning
from rollview.keys import facts_of, with_key
from rollview.plan.nodes import Aggregate, Filter, Join, Limit, Node, Project, Scan, Window
from rollview.plan.normalising import apply_rule

#: The name of the helper for an aggregate, or for the first rows of partitions; None if there is none.
Helper = Callable[[Node], str | None]


def helped(compiled: CompiledView, helper: Helper) -> CompiledView:
    """The view over its helpers. What is inside an aggregate that has none is asked for, too."""
    found: list[Scan] = []

    def over(node: Node) -> Node:
        if isinstance(node, Aggregate) and node.keys and node.sets is None and (groups := scan(node)) is not None:
            found.append(groups)
            return groups
        inside = node.with_inputs([over(child) for child in node.inputs]) if node.inputs else node
        return over_keys(inside) if isinstance(inside, Join) else inside

    def over_keys(node: Join) -> Join:
        sought = sought_keys(node)
        if sought is None or _tables(node.right) & {groups.table for groups in found}:  # none over another
            return node
        keys, joined = sought
        if (groups := scan(keys)) is None:
            return node
        found.append(groups)
        return joined(groups)

    def scan(node: Node) -> Scan | None:
        name = helper(node)
        key = tuple(item.column.name for item in node.keys) if isinstance(node, Aggregate) else ()
        told = tuple(column.name for column in node.columns if column.name in facts_of(node).not_null)
        return None if name is None else Scan(name, node.columns, helper_labels(node), key, not_null=told)

    plan = _below_root(compiled.plan, lambda part: over(_prepared(part)))
    whole = replace(compiled, plan=plan, keyed=with_key(plan)) if found else compiled
    own = {groups.table for groups in found}
    wanted = [each for node in _followed(whole).walk() if isinstance(node, Window) for each in _stored(node)]
    scans = {name: scan(node) for name, node in wanted if not _tables(node) & own}  # none over another
    return replace(whole, partitions={name: each for name, each in scans.items() if each is not None})


def _followed(compiled: CompiledView) -> Node:
    """What of a view is followed operator by operator: what its groups are of, or what its first rows are of."""
    root = compiled.plan if compiled.keyed.key is None else compiled.keyed.plan
    first = first_rows(root)
    return first.input if first is not None else root


def _stored(node: Window) -> list[tuple[str, Node]]:
    """What can be stored of a window's partitions. Of a second partitioning, only what does not need the first."""
    found: list[tuple[str, Node]] = []
    for window in one_by_one_partitioning(node):
        alone = replace(window, input=node.input)
        stored = stored_of(alone)
        found += stored if window.input == node.input else [s for s in stored if isinstance(s[1], Aggregate)]
    return found


def helper_labels(node: Node) -> tuple[str, ...]:
    """The names of a helper's columns."""
    return tuple(f"c{i}" for i in range(len(node.columns)))


def helper_id(node: Node) -> str:
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
