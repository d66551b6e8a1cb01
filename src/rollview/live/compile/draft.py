"""A plan → the parts of its inner join, with their filters and columns, and the conditions between them.

Before: ``project t0_a, t1_b over join inner t0_k = t1_k (filter t0_a > 1 over scan x, scan y)``.
After: the parts x, with the filter t0_a > 1, and y; the condition t0_k = t1_k; and t0_a, t1_b over their columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import reduce

from rollview.live.compile.refused import refuse
from rollview.plan.expressions import Expr, conjuncts, names_in, ref, replace_columns
from rollview.plan.nodes import Filter, Join, MultiJoin, Node, Project, Scan


@dataclass(frozen=True)
class DraftPart:
    """A scan, conditions over its columns, and columns computed from them."""

    scan: Scan
    filters: tuple[Expr, ...] = ()
    computed: Mapping[str, Expr] = field(default_factory=dict)

    @property
    def names(self) -> frozenset[str]:
        return self.scan.names | self.computed.keys()

    def over_scan(self, value: Expr) -> Expr:
        """An expression over the columns of the scan alone."""
        return replace_columns(value, self.computed)


@dataclass(frozen=True)
class Draft:
    """An inner join: its parts, the conditions between them, and what the columns above it are made of."""

    parts: tuple[DraftPart, ...]
    conditions: tuple[Expr, ...]
    columns: Mapping[str, Expr]

    def bound(self, value: Expr) -> Expr:
        """An expression over the parts' columns."""
        return replace_columns(value, self.columns)


def drafted(node: Node) -> Draft:
    """The inner join that a plan is. Raises NotLive for an operator that the join graph does not have."""
    if isinstance(node, Scan):
        return Draft((DraftPart(node),), (), {name: ref(name) for name in node.names})
    if isinstance(node, Filter):
        below = drafted(node.input)
        return with_condition(below, below.bound(node.condition))
    if isinstance(node, Project):
        return _projected(drafted(node.input), node)
    if isinstance(node, Join | MultiJoin) and node.kind.is_inner:
        return _joined([drafted(child) for child in node.inputs], node)
    raise refuse(node)


def with_condition(draft: Draft, condition: Expr) -> Draft:
    """The draft with one more condition: a filter of the part that it is about, or one between parts."""
    concerned = [i for i, part in enumerate(draft.parts) if part.names & names_in(condition)] or [0]
    if len(concerned) > 1:
        if len(each := conjuncts(condition)) > 1:
            return reduce(with_condition, each, draft)
        return replace(draft, conditions=(*draft.conditions, condition))
    (at,) = concerned
    part = draft.parts[at]
    filtered = replace(part, filters=(*part.filters, part.over_scan(condition)))
    return replace(draft, parts=(*draft.parts[:at], filtered, *draft.parts[at + 1 :]))


def _projected(below: Draft, node: Project) -> Draft:
    columns = {item.column.name: below.bound(item.value) for item in node.output}
    if len(below.parts) > 1:
        return replace(below, columns=columns)
    (part,) = below.parts
    computed = dict(part.computed)
    for name, value in columns.items():
        if value != ref(name):
            computed[name] = part.over_scan(value)
            columns[name] = ref(name)
    return Draft((replace(part, computed=computed),), (), columns)


def _joined(inputs: list[Draft], node: Join | MultiJoin) -> Draft:
    parts = tuple(part for draft in inputs for part in draft.parts)
    conditions = tuple(condition for draft in inputs for condition in draft.conditions)
    columns = {name: value for draft in inputs for name, value in draft.columns.items()}
    found = Draft(parts, conditions, columns)
    return reduce(with_condition, map(found.bound, node.conditions), found)
