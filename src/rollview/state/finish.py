"""What a query does with the groups it ends in: columns computed from them, HAVING, ORDER BY … LIMIT.

The rows of a DISTINCT are groups, too: each distinct row is stored with the number of its copies, so that a change is
added to it and no row is looked for. The first rows of a DISTINCT are stored as such: see ``top_rows``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from rollview.plan.expressions import Expr, conjunction, grouped, ref, replace_columns
from rollview.plan.nodes import Aggregate, Column, Computed, Distinct, Filter, Limit, Node, Project
from rollview.state.columns import usable

#: Whether HAVING holds for a group.
SHOWN = Column("__shown", "__shown", exp.DataType.build("boolean"))


@dataclass(frozen=True)
class Finish:
    """What a query does with the groups of its aggregate: its columns, HAVING, and ORDER BY … LIMIT."""

    root: Aggregate
    values: dict[str, Expr]
    having: Expr | None
    limit: Limit | None


def finish_of(plan: Node) -> Finish | None:
    """The query as something done with groups; None if it is not that."""
    above: list[Node] = []
    node = plan
    while isinstance(node, Project | Filter | Limit):
        above.append(node)
        node = node.inputs[0]
    if isinstance(node, Distinct) and not any(isinstance(each, Limit) for each in above):
        node = Aggregate(node.input, tuple(Computed(column, ref(column.name)) for column in node.columns), ())
    if not isinstance(node, Aggregate) or node.sets is not None:
        return None
    values: dict[str, Expr] = {column.name: ref(column.name) for column in node.columns}
    having: list[Expr] = []
    limit: Limit | None = None
    for each in reversed(above):
        if isinstance(each, Project):
            values = {i.column.name: replace_columns(i.value, values) for i in each.output}
        elif limit is not None:
            return None  # what is done with the first rows cannot be done with groups
        elif isinstance(each, Filter):
            having.append(replace_columns(each.condition, values))
        elif isinstance(each, Limit):
            order = tuple(replace(term, value=replace_columns(term.value, values)) for term in each.order)
            limit = replace(each, order=order)
    return Finish(node, values, conjunction(having), limit)


def computed_columns(
    plan: Node, wanted: Mapping[str, Expr], finish: Finish, results: Mapping[str, Expr], have: frozenset[str]
) -> tuple[Computed, ...]:
    """The columns that follow from a group's stored values: visible ones, whether HAVING holds, the order."""
    made: list[Computed] = []
    taken = {name.casefold() for name in have}
    for column in plan.columns:
        value = wanted[column.name]
        if not isinstance(value, exp.Column):
            label = usable(column.label, taken) or f"__v{len(made)}"
            taken.add(label.casefold())
            made.append(Computed(Column(f"__v_{column.name}", label, column.type), value))
    if finish.having is not None:
        held = exp.Coalesce(this=grouped(replace_columns(finish.having, dict(results))), expressions=[exp.false()])
        made.append(Computed(SHOWN, held))
    if finish.limit is not None:
        for term, value in zip(finish.limit.order, order_columns(finish, results), strict=True):
            if value.name not in have:
                made.append(Computed(Column(value.name, value.name), replace_columns(term.value, dict(results))))
    return tuple(made)


def order_columns(finish: Finish, results: Mapping[str, Expr]) -> list[Expr]:
    """The stored columns by which the first groups are found: a column that is there anyway, or one made for it."""
    found = [replace_columns(term.value, dict(results)) for term in (finish.limit.order if finish.limit else ())]
    return [value if isinstance(value, exp.Column) else ref(f"__o{i}") for i, value in enumerate(found)]


def group_labels(plan: Node, wanted: Mapping[str, Expr], whole: Node) -> dict[str, str]:
    """Stored names of a group's columns: that of the visible column which shows one as it is, or a hidden name."""
    visible: dict[str, str] = {}
    taken: set[str] = set()
    for column in plan.columns:
        value = wanted[column.name]
        label = usable(column.label, taken)
        if isinstance(value, exp.Column) and value.name not in visible and label is not None:
            visible[value.name] = label
        taken.add(column.label.casefold())
    return {c.name: visible.get(c.name) or _hidden(c, i) for i, c in enumerate(whole.columns)}


def _hidden(column: Column, place: int) -> str:
    return column.name if column.name.startswith("__") else f"__g{place}"
