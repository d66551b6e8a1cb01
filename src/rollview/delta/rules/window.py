"""Window functions: recompute the affected partitions.

    K      = the affected partitions
    Δ(ω R) = ω(Rⁿᵉʷ ⋉ K) − ω(Rᵒˡᵈ ⋉ K)

If all functions depend only on earlier rows, less than a partition is recomputed: see ``window_lookback``.
"""

from __future__ import annotations

from rollview.delta.analysis.lookback import lookback_of
from rollview.delta.derivation import Derivation
from rollview.delta.rules.recompute import affected_keys, recomputed
from rollview.delta.rules.window_lookback import lookback_delta
from rollview.plan.expressions import Expr
from rollview.plan.nodes import Node, Window, WindowFunction


def window(node: Window, derivation: Derivation) -> Node | None:
    by = one_by_one_partitioning(node)
    if len(by) > 1:
        return derivation.delta(by[-1])
    lookback = lookback_of(node, derivation.kinds)
    if lookback is not None:
        return lookback_delta(node, lookback, derivation)
    partition = node.functions[0].partition_by
    keys = affected_keys(node.input, partition, derivation)
    return None if keys is None else recomputed(node, [keys], derivation, "partitions")


def one_by_one_partitioning(node: Window) -> list[Window]:
    """The window split into one window for each PARTITION BY, each over the previous one."""
    groups: dict[tuple[Expr, ...], list[WindowFunction]] = {}
    for item in node.functions:
        groups.setdefault(item.partition_by, []).append(item)
    found: list[Window] = []
    for functions in groups.values():
        found.append(Window(found[-1] if found else node.input, tuple(functions)))
    return found
