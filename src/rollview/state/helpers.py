"""Parts of a query that are stored for themselves: helpers, which are views of rollview's own.

Before: ``join (part, aggregate by l_partkey [avg(l_quantity)] over lineitem)``.
After: ``join (part, scan helper)``, and the helper is the aggregate, for the parts that the join can find.
A change of lineitem is then added to the helper's groups, and what changed there goes on into the view: neither reads
the lines of the touched parts again. The aggregate at the root needs no helper: its groups are what the view stores.
A semi or anti join seeks keys in its right side; a helper stores which there are: so a changed row of the right side is
one more, or one less, of its key, and only keys that come or go are looked for in the left.
Groups and windows with inexact values, such as sums of floats, are stored whatever that saves: they are not the same
when computed again, see ``delta/analysis/inexact``. Before: ``join (aggregate by g [sum(x)] over t, u)``.
After: ``join (scan helper, u)``. Not at the top of a view with a key, where rows are replaced by what they are now.
A window that looks backward has helpers with what its partitions amount to, and with their first and last rows: see
``delta/analysis/lookback``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from sqlglot import exp

from rollview.delta.analysis.inexact import makes_inexact
from rollview.delta.analysis.lookback import stored_of
from rollview.delta.derivation import Derivation
from rollview.delta.rewrites.eager_aggregation import grouped_first
from rollview.delta.rewrites.semijoin_aggregates import focused
from rollview.delta.rules import RULES
from rollview.delta.rules.semi_anti import sought_keys
from rollview.delta.rules.top_rows import first_rows
from rollview.delta.rules.window import one_by_one_partitioning
from rollview.frontend.query import CompiledView
from rollview.keys import facts_of, with_key
from rollview.plan.expressions import Expr, ref
from rollview.plan.fingerprint import fingerprint
from rollview.plan.nodes import (
    Aggregate,
    Column,
    Computed,
    Filter,
    Join,
    Limit,
    Node,
    Project,
    Scan,
    UnionAll,
    Window,
    exactly,
)
from rollview.plan.rewrite import apply_rule

#: Why a part of a query may be stored: because that saves reading, or because its values are not to be computed twice.
SAVES, SETTLES = "saves", "settles"

#: The name of the helper for a part of a query, if it is worth one for these reasons; None if there is none.
Helper = Callable[[Node, Collection[str]], str | None]


def helped(compiled: CompiledView, helper: Helper) -> CompiledView:
    """The view over its helpers. What is inside an aggregate that has none is asked for, too."""
    found: list[Scan] = []
    done: dict[tuple[int, bool], Node] = {}

    def over(node: Node, top: bool = False) -> Node:
        if (id(node), top) not in done:  # several operators may read it
            done[id(node), top] = replaced(node, top)
        return done[id(node), top]

    def replaced(node: Node, top: bool) -> Node:
        if (stored := stored_as(node, top)) is not None:
            return stored
        top = top and isinstance(node, Project | Filter | UnionAll)
        inside = node.with_inputs([over(child, top) for child in node.inputs]) if node.inputs else node
        return over_keys(inside) if isinstance(inside, Join) else inside

    def stored_as(node: Node, top: bool) -> Node | None:
        why = [] if top else [SETTLES]
        if isinstance(node, Aggregate) and node.keys and node.sets is None:
            groups = scan(node, [SAVES, *why])
            return None if groups is None else note(groups)
        if top or (isinstance(node, Aggregate) and node.sets is not None) or not makes_inexact(node, {}):
            return None
        assert isinstance(node, Aggregate | Window)
        whole, key = _one_group(node) if isinstance(node, Aggregate) else _rows_of(node)
        rows = None if key is None else scan(whole, why, key)
        if rows is None:
            return None
        note(rows)
        return exactly(rows if isinstance(node, Window) else Filter(rows, _is_one(rows)), node.columns)

    def note(scan: Scan) -> Scan:
        found.append(scan)
        return scan

    def over_keys(node: Join) -> Join:
        sought = sought_keys(node)
        if sought is None or _tables(node.right) & {groups.table for groups in found}:  # none over another
            return node
        keys, joined = sought
        groups = scan(keys, [SAVES])
        return node if groups is None else joined(note(groups))

    def scan(node: Node, why: Collection[str], key: tuple[str, ...] = ()) -> Scan | None:
        name = helper(node, why)
        if isinstance(node, Aggregate):
            key = tuple(item.column.name for item in node.keys)
        told = tuple(column.name for column in node.columns if column.name in facts_of(node).not_null)
        return None if name is None else Scan(name, node.columns, helper_labels(node), key, not_null=told)

    at_top = compiled.keyed.key is not None and first_rows(compiled.keyed.plan) is None
    plan = _below_root(compiled.plan, lambda part, top: over(_prepared(part), top), at_top)
    whole = replace(compiled, plan=plan, keyed=with_key(plan)) if found else compiled
    own = {groups.table for groups in found}
    wanted = [each for node in _followed(whole).walk() if isinstance(node, Window) for each in _stored(node)]
    scans = {name: scan(node, [SAVES]) for name, node in wanted if not _tables(node) & own}  # none over another
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


def _one_group(node: Aggregate) -> tuple[Node, tuple[str, ...]]:
    """The one row of an aggregate without keys, with a key."""
    passed = (Computed(column, ref(column.name)) for column in node.columns)
    one = Column(f"{node.columns[0].name}_one", "", exp.DataType.build("int"))
    return Project(node, (Computed(one, exp.Literal.number(1)), *passed)), (one.name,)


def _is_one(rows: Scan) -> Expr:
    """What is true of the one row, and tells that it is one."""
    return exp.EQ(this=ref(rows.key[0]), expression=exp.Literal.number(1))


def _rows_of(node: Window) -> tuple[Node, tuple[str, ...] | None]:
    """The rows of a window, with their key; without one, they cannot be followed."""
    keyed = with_key(node)
    return keyed.plan, keyed.key or None


def _below_root(plan: Node, change: Callable[[Node, bool], Node], top: bool) -> Node:
    """The plan with what is below the operators that the view's state takes in changed; of that, it is told whether it
    is at the ``top``."""
    if isinstance(plan, Project | Filter | Limit):
        return plan.with_inputs([_below_root(plan.input, change, top and not isinstance(plan, Limit))])
    if isinstance(plan, Aggregate) and plan.sets is None:
        return plan.with_inputs([change(plan.input, False)])
    return change(plan, top)


def _prepared(plan: Node) -> Node:
    """Groups before left joins, and for the keys of their partners only, as far as another table says which."""
    early = grouped_first(plan, Derivation(RULES, _tables(plan)))
    groups = [node for node in early.walk() if isinstance(node, Aggregate)]
    found = focused(early, Derivation(RULES, {table for node in groups for table in _tables(node)}))
    return apply_rule(found, lambda node: replace(node, version="") if isinstance(node, Scan) else None)


def _tables(plan: Node) -> set[str]:
    return {node.table for node in plan.walk() if isinstance(node, Scan)}
