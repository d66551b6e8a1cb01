"""GROUP BY: the keys, and the keys in each set of GROUPING SETS, ROLLUP and CUBE."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from sqlglot import exp

from rollview.frontend.sql.context import Context, unbuildable
from rollview.frontend.sql.functions import holds_aggregate
from rollview.plan.expressions import Expr


def group_keys(
    context: Context, group: exp.Group, values: Sequence[Expr], key: Callable[[Expr], Expr]
) -> tuple[list[Expr], tuple[tuple[int, ...], ...] | None]:
    """The keys, and the sets if there are several. ``values`` are those of the select list; ``key`` binds a key."""
    keys: list[Expr] = []

    def index(expr: Expr) -> int:
        value = key(expr)
        if value not in keys:
            keys.append(value)
        return keys.index(value)

    if group.args.get("all") is False:
        raise unbuildable(context, "GROUP BY DISTINCT", group)
    if group.args.get("all"):
        for value in values:
            if not holds_aggregate(value) and not isinstance(value, exp.Literal):
                keys.append(value)
        return keys, None
    parts = [_sets_of(expr, index) for expr in group.expressions]
    if group.args.get("grouping_sets"):  # GROUP BY a, b GROUPING SETS (…): the keys, then the sets of them
        parts = []
    for special in ("grouping_sets", "rollup", "cube"):
        parts += [_sets_of(expr, index) for expr in group.args.get(special) or ()]
    sets = [tuple(sorted(set(itertools.chain(*choice)))) for choice in itertools.product(*parts)]
    return keys, None if sets == [tuple(range(len(keys)))] else tuple(sets)


def _sets_of(expr: Expr, index: Callable[[Expr], int]) -> list[tuple[int, ...]]:
    if isinstance(expr, exp.GroupingSets):
        return [subset for item in expr.expressions for subset in _sets_of(item, index)]
    if isinstance(expr, exp.Rollup):
        items = [_members(item, index) for item in expr.expressions]
        return [tuple(itertools.chain(*items[:n])) for n in range(len(items), -1, -1)]
    if isinstance(expr, exp.Cube):
        items = [_members(item, index) for item in expr.expressions]
        choices = itertools.chain(*(itertools.combinations(items, n) for n in range(len(items), -1, -1)))
        return [tuple(itertools.chain(*choice)) for choice in choices]
    return [_members(expr, index)]


def _members(expr: Expr, index: Callable[[Expr], int]) -> tuple[int, ...]:
    if isinstance(expr, exp.Tuple):
        return tuple(index(item) for item in expr.expressions)
    if isinstance(expr, exp.Paren):
        return (index(expr.this),)
    return (index(expr),)
