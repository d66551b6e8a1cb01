"""Replace GROUPING SETS by a UNION ALL of aggregations, one for each set.

Before: ``aggregate by a, b sets ((a, b), (a)) [count(*)]``.
After: ``union all (aggregate by a, b [count(*)], project a, NULL AS b, count over aggregate by a [count(*)])``.
Not if the argument of ``grouping`` or ``grouping_id`` is anything but a plain key.
"""

from __future__ import annotations

from sqlglot import exp

from rollview.plan.expressions import Expr, ref
from rollview.plan.nodes import Aggregate, Column, Computed, Node, Project, union_of


def expand_grouping_sets(node: Node) -> Node | None:
    if not isinstance(node, Aggregate) or node.sets is None:
        return None
    branches = []
    for number, members in enumerate(node.sets):
        branch = _branch(node, members, number)
        if branch is None:
            return None
        branches.append(branch)
    whole = union_of(branches, node.columns)
    return (
        whole
        if len(branches) > 1
        else Project(
            whole, tuple(Computed(new, ref(old.name)) for new, old in zip(node.columns, whole.columns, strict=True))
        )
    )


def _branch(node: Aggregate, members: tuple[int, ...], number: int) -> Node | None:
    keys = tuple(node.keys[i] for i in members)
    grouped = {item.column.name for item in keys}
    aggregates = tuple(item for item in node.aggregates if not _is_grouping(item.value))
    output = []
    for item in node.keys:
        value: Expr = ref(item.column.name) if item.column.name in grouped else _null(item.column.type)
        output.append(Computed(_own(item.column, number), value))
    for item in node.aggregates:
        result: Expr | None = ref(item.column.name)
        if _is_grouping(item.value):
            result = _grouping(node, item.value, grouped)
        if result is None:
            return None
        output.append(Computed(_own(item.column, number), result))
    return Project(Aggregate(node.input, keys, aggregates), tuple(output))


def _own(column: Column, number: int) -> Column:
    return Column(f"{column.name}_g{number}", column.label, column.type)


def _is_grouping(value: Expr) -> bool:
    if isinstance(value, exp.Anonymous):
        return value.name.lower() in ("grouping", "grouping_id")
    return isinstance(value, exp.Grouping | exp.GroupingId)


def _grouping(node: Aggregate, value: Expr, grouped: set[str]) -> Expr | None:
    """The value of ``grouping`` in this set: one bit per key, 1 if the set does not group by it."""
    arguments = list(value.args.get("expressions") or ([value.this] if value.args.get("this") is not None else []))
    if isinstance(value, exp.Anonymous):
        arguments = list(value.expressions)
    names = [part.name for part in arguments if isinstance(part, exp.Column)]
    if len(names) != len(arguments):
        return None
    if not names:
        names = [item.column.name for item in node.keys]
    bits = 0
    for name in names:
        bits = bits * 2 + (name not in grouped)
    one = isinstance(value, exp.Grouping) or (isinstance(value, exp.Anonymous) and value.name.lower() == "grouping")
    kind = exp.DataType.build("tinyint" if one else "bigint")
    return exp.Cast(this=exp.Literal.number(bits), to=kind)


def _null(kind: exp.DataType) -> Expr:
    """NULL of a type. If the type is not known, the branches that have the column determine it."""
    return exp.null() if kind.this == exp.DataType.Type.UNKNOWN else exp.Cast(this=exp.null(), to=kind.copy())
