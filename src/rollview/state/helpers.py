"""Helpers: parts of a query that are stored in views of rollview's own.

Before: ``join (part, aggregate by l_partkey [avg(l_quantity)] over lineitem)``.
After: ``join (part, scan helper)``. The helper is the aggregate, restricted to the parts that the join can find.
A change of lineitem is added to the helper's groups, and the changes of these groups go on into the view: neither
step reads the lines of the affected parts again. An aggregate at the root needs no helper: the view stores its groups.

A semi or anti join looks up keys in its right side. A helper counts the rows of each key there, so a changed row of the
right side changes one count, and only keys that appear or disappear are looked up in the left side.

Groups and windows with inexact values, such as sums of floats, are stored even if that saves nothing: computed again,
they would differ, see ``delta/analysis/inexact``. Before: ``join (aggregate by g [sum(x)] over t, u)``.
After: ``join (scan helper, u)``. Not at the top of a view with a key: there, rows are replaced by their new values.

A window that looks backward has helpers that store aggregates of its partitions, and their first and last rows: see
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

#: Why a part of a query may be stored: to save reading, or because its values must not be computed twice.
SAVES, SETTLES = "saves", "settles"

#: Names the helper for a part of a query, if one of these reasons holds for it; None if it gets no helper.
Helper = Callable[[Node, Collection[str]], str | None]


def helped(compiled: CompiledView, helper: Helper) -> CompiledView:
    """The view over its helpers. If an aggregate gets no helper, the operators below it may get some."""
    helpers = _Helpers(helper)
    at_top = compiled.keyed.key is not None and first_rows(compiled.keyed.plan) is None
    plan = _below_root(compiled.plan, lambda part, top: helpers.over(_prepared(part), top), at_top)
    whole = replace(compiled, plan=plan, keyed=with_key(plan)) if helpers.tables else compiled
    return replace(whole, partitions=helpers.partitions(_followed(whole)))


class _Helpers:
    """Replaces parts of a plan by scans of helpers. ``tables`` are the helpers that the plan reads."""

    def __init__(self, helper: Helper) -> None:
        self.helper = helper
        self.tables: set[str] = set()
        self._done: dict[tuple[int, bool], Node] = {}

    def over(self, node: Node, top: bool = False) -> Node:
        """The node over helpers; several operators may read it, and get the same one."""
        if (id(node), top) not in self._done:
            self._done[id(node), top] = self._replaced(node, top)
        return self._done[id(node), top]

    def partitions(self, plan: Node) -> dict[str, Scan]:
        """Helpers with what the plan's windows need to know of their partitions, by name. None reads another helper."""
        wanted = [each for node in plan.walk() if isinstance(node, Window) for each in _stored(node)]
        scans = {name: self._scan(node, [SAVES]) for name, node in wanted if not _tables(node) & self.tables}
        return {name: each for name, each in scans.items() if each is not None}

    def _replaced(self, node: Node, top: bool) -> Node:
        if (stored := self._stored_as(node, top)) is not None:
            return stored
        top = top and isinstance(node, Project | Filter | UnionAll)
        inside = node.with_inputs([self.over(child, top) for child in node.inputs]) if node.inputs else node
        return self._over_keys(inside) if isinstance(inside, Join) else inside

    def _stored_as(self, node: Node, top: bool) -> Node | None:
        """The scan of a helper that stores groups, or rows with inexact values; None if none does."""
        why = [] if top else [SETTLES]
        if isinstance(node, Aggregate) and node.keys and node.sets is None:
            return self._noted(self._scan(node, [SAVES, *why]))
        if top or (isinstance(node, Aggregate) and node.sets is not None) or not makes_inexact(node, {}):
            return None
        assert isinstance(node, Aggregate | Window)
        whole, key = _one_group(node) if isinstance(node, Aggregate) else _rows_of(node)
        rows = None if key is None else self._noted(self._scan(whole, why, key))
        if rows is None:
            return None
        return exactly(rows if isinstance(node, Window) else Filter(rows, _is_one(rows)), node.columns)

    def _over_keys(self, node: Join) -> Join:
        """A semi or anti join with a helper that stores the keys of its right side. None reads another helper."""
        sought = sought_keys(node)
        if sought is None or _tables(node.right) & self.tables:
            return node
        keys, joined = sought
        groups = self._noted(self._scan(keys, [SAVES]))
        return node if groups is None else joined(groups)

    def _noted(self, scan: Scan | None) -> Scan | None:
        if scan is not None:
            self.tables.add(scan.table)
        return scan

    def _scan(self, node: Node, why: Collection[str], key: tuple[str, ...] = ()) -> Scan | None:
        name = self.helper(node, why)
        if name is None:
            return None
        if isinstance(node, Aggregate):
            key = tuple(item.column.name for item in node.keys)
        not_null = tuple(column.name for column in node.columns if column.name in facts_of(node).not_null)
        return Scan(name, node.columns, helper_labels(node), key, not_null=not_null)


def _followed(compiled: CompiledView) -> Node:
    """The part of a view whose delta is derived operator by operator: the input of its groups, or of its first rows."""
    root = compiled.plan if compiled.keyed.key is None else compiled.keyed.plan
    first = first_rows(root)
    return first.input if first is not None else root


def _stored(node: Window) -> list[tuple[str, Node]]:
    """The aggregates and rows of a window's partitions that can be stored. Of a second partitioning, only those that do
    not need the first."""
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
    """Identifies a helper when the view is compiled again."""
    return fingerprint(node)


def _one_group(node: Aggregate) -> tuple[Node, tuple[str, ...]]:
    """The single row of an aggregate without keys, with a key column added."""
    passed = (Computed(column, ref(column.name)) for column in node.columns)
    one = Column(f"{node.columns[0].name}_one", "", exp.DataType.build("int"))
    return Project(node, (Computed(one, exp.Literal.number(1)), *passed)), (one.name,)


def _is_one(rows: Scan) -> Expr:
    """A condition that holds for the single row, and shows that there is only one."""
    return exp.EQ(this=ref(rows.key[0]), expression=exp.Literal.number(1))


def _rows_of(node: Window) -> tuple[Node, tuple[str, ...] | None]:
    """The rows of a window and their key; None if they have none, and so cannot be maintained."""
    keyed = with_key(node)
    return keyed.plan, keyed.key or None


def _below_root(plan: Node, change: Callable[[Node, bool], Node], top: bool) -> Node:
    """Changes the part of a plan below the operators that the view's state stores. ``change`` is given whether that
    part is at the ``top`` of the view."""
    if isinstance(plan, Project | Filter | Limit):
        return plan.with_inputs([_below_root(plan.input, change, top and not isinstance(plan, Limit))])
    if isinstance(plan, Aggregate) and plan.sets is None:
        return plan.with_inputs([change(plan.input, False)])
    return change(plan, top)


def _prepared(plan: Node) -> Node:
    """The plan with aggregates moved below left joins, and restricted to the keys of the tables that they are joined
    with."""
    early = grouped_first(plan, Derivation(RULES, _tables(plan)))
    groups = [node for node in early.walk() if isinstance(node, Aggregate)]
    found = focused(early, Derivation(RULES, {table for node in groups for table in _tables(node)}))
    return apply_rule(found, lambda node: replace(node, version="") if isinstance(node, Scan) else None)


def _tables(plan: Node) -> set[str]:
    return {node.table for node in plan.walk() if isinstance(node, Scan)}
