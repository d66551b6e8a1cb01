"""Delta rules: the delta of each operator, from the old and new rows and the deltas of its inputs.

| file | what it does |
|---|---|
| ``linear.py`` | scan, filter, project, generate, UNION ALL, restriction |
| ``join.py`` | inner joins of any number of inputs |
| ``wide_join.py`` | inner joins of many changed inputs |
| ``outer_join.py`` | left and full outer joins |
| ``lookups.py`` | long chains of left, semi, anti, mark and single joins |
| ``match.py`` | semi, anti, mark and single joins on any condition |
| ``semi_anti.py`` | semi and anti joins on equalities |
| ``aggregate.py`` | aggregates: old and new values of the affected groups |
| ``recompute.py`` | restricted recomputation: DISTINCT, set operations, LIMIT |
| ``window.py`` | window functions: the affected partitions |
| ``window_lookback.py`` | window functions that depend only on earlier rows |
| ``top_rows.py`` | the first rows in an order, maintained from stored rows |
"""

from __future__ import annotations

from rollview.delta.derivation import Derivation, Rule, Rules
from rollview.delta.rules import linear, recompute
from rollview.delta.rules.aggregate import aggregate, whole_groups
from rollview.delta.rules.join import inner_delta, multi_join
from rollview.delta.rules.lookups import chain_delta, is_lookup
from rollview.delta.rules.match import matching_delta
from rollview.delta.rules.outer_join import outer_delta
from rollview.delta.rules.window import window
from rollview.plan.nodes import (
    Aggregate,
    Distinct,
    Filter,
    Generate,
    Join,
    Limit,
    MultiJoin,
    Node,
    Project,
    Restrict,
    Scan,
    SetOperation,
    UnionAll,
    Window,
)


def join(node: Join, derivation: Derivation) -> Node | None:
    if node.kind.is_inner:
        return inner_delta(node, derivation)
    if is_lookup(node) and (found := chain_delta(node, derivation)) is not None:
        return derivation.step("lookups", found, f"delta of the lookups that end in {node.title} {node.details}")
    if node.kind.is_outer:
        found = outer_delta(node, derivation)
        return None if found is None else derivation.step("outer", found, f"delta of {node.title} {node.details}")
    return matching_delta(node, derivation)


_DELTAS: dict[type[Node], Rule] = {
    Scan: linear.scan,
    Filter: linear.filter_,
    Project: linear.project,
    Restrict: linear.restrict,
    Generate: linear.generate,
    UnionAll: linear.union_all,
    Join: join,
    MultiJoin: multi_join,
    Aggregate: aggregate,
    Distinct: recompute.distinct,
    SetOperation: recompute.set_operation,
    Window: window,
    Limit: recompute.limit,
}

RULES = Rules(_DELTAS, whole_groups)
