"""Decorrelation: a join with a correlated plan becomes a join with an independent plan.

Two methods, tried in this order:

1. *Pulling*: conditions that read outer columns move up through filters, projections, inner joins, and, if they are
   equalities, through aggregations, which get their inner columns as keys; at the top they become the join's condition.
2. *The domain* (Neumann and Kemper, "Unnesting arbitrary queries"): the distinct values of the outer columns are joined
   at the innermost place that needs them, and passed up to the top. It applies to more plans, but reads the outer plan
   twice.

An empty group is a special case: ``count(*)`` over no rows is 0, but a group that does not exist matches no row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from rollview.frontend.sql.context import Context, Unbuildable, again
from rollview.frontend.sql.functions import of_nothing
from rollview.frontend.sql.scope import typed
from rollview.plan.expressions import (
    Expr,
    conjunction,
    conjuncts,
    equality,
    grouped,
    names_in,
    ref,
    rename,
    replace_columns,
    same,
)
from rollview.plan.nodes import (
    CROSS,
    INNER,
    LEFT,
    MARK,
    SINGLE,
    Aggregate,
    Column,
    Computed,
    Distinct,
    Filter,
    Generate,
    Join,
    JoinKind,
    Limit,
    Node,
    Project,
    SetOperation,
    UnionAll,
    Window,
    WindowFunction,
    exactly,
)


def exists_join(context: Context, outer: Node, inner: Node, kind: JoinKind, compared: Expr | None) -> Node:
    """A semi or anti join with a subquery."""
    if compared is None:
        inner = _without_projections(inner, outer)
    right, parts = independent(context, outer, inner)
    condition = conjunction([*parts, *conjuncts(compared)])
    return Join(kind, outer, right, condition if condition is not None else exp.true())


def mark_join(context: Context, outer: Node, inner: Node, mark: Column, compared: Expr | None) -> Node:
    """A column that says whether a row has a match in a subquery."""
    if compared is None:
        inner = _without_projections(inner, outer)
    right, parts = independent(context, outer, inner)
    return Join(MARK, outer, right, conjunction(parts), mark, compared)


def scalar_join(context: Context, outer: Node, inner: Node) -> tuple[Node, Expr]:
    """Adds the value of a scalar subquery to each row: the plan, and the expression for the value in it."""
    value, having, core = _peeled(inner)
    if isinstance(core, Aggregate) and not core.keys and core.sets is None:
        return _aggregate_join(context, outer, core, value, having)
    right, parts = independent(context, outer, inner)
    return Join(SINGLE, outer, right, conjunction(parts)), typed(inner.columns[0])


def lateral_join(
    context: Context, outer: Node, inner: Node, kind: JoinKind, condition: Expr | None
) -> tuple[Node, dict[str, Column]]:
    """FROM …, LATERAL (…)."""
    over: tuple[Computed, ...] = ()
    if kind == INNER and isinstance(inner, Project) and any(names_in(v) - inner.input.names for v in inner.expressions):
        over, inner = inner.output, inner.input  # values that read both sides are computed above the join
    right, parts = independent(context, outer, inner)
    if over and condition is not None:
        condition = replace_columns(condition, {item.column.name: item.value for item in over})
    whole = conjunction([*parts, *conjuncts(condition)])
    how = CROSS if kind == INNER and whole is None else kind
    plan: Node = Join(how, outer, right, whole if whole is not None or how == CROSS else exp.true())
    if over:
        kept = tuple(Computed(column, typed(column)) for column in outer.columns)
        plan = Project(plan, kept + over)
    return plan, {}


def independent(context: Context, outer: Node, inner: Node) -> tuple[Node, list[Expr]]:
    """The inner plan without outer columns, and the conditions that join it to the outer plan."""
    if not inner.free & outer.names:
        return inner, []
    pulled = _pull(inner, outer.names)
    if pulled is not None:
        return pulled
    domain = Domain(context, outer, sorted(inner.free & outer.names))
    names, plan = domain.fresh()
    return domain.inject(inner, names, plan), [same(old, new) for old, new in names.items()]


def _without_projections(node: Node, outer: Node) -> Node:
    """The plan without operators that do not decide whether it has rows. Its column names must differ from those of the
    outer plan, which may read the same CTE."""
    while isinstance(node, Project | Distinct) or (isinstance(node, Limit) and node.count != 0 and node.offset == 0):
        if node.inputs[0].names & outer.names:
            break
        node = node.inputs[0]
    return node


def _peeled(inner: Node) -> tuple[Expr, Expr | None, Node]:
    """The value of a subquery, its HAVING, and the plan below the projections and filters at its top."""
    value: Expr = typed(inner.columns[0])
    having: Expr | None = None
    node = inner
    while isinstance(node, Project | Filter):
        if isinstance(node, Project):
            values = {item.column.name: item.value for item in node.output}
            value = replace_columns(value, values)
            having = replace_columns(having, values) if having is not None else None
        else:
            having = conjunction([*conjuncts(node.condition), *conjuncts(having)])
        node = node.input
    return value, having, node


def _aggregate_join(
    context: Context, outer: Node, core: Aggregate, value: Expr, having: Expr | None
) -> tuple[Node, Expr]:
    """A scalar subquery that aggregates: an outer row without a group gets the aggregates of no rows."""
    if not core.free & outer.names:
        if core.names & outer.names:  # a CTE that the outer plan has already joined
            once_more, names = again(context, core)
            value = rename(value, names)
            having = None if having is None else rename(having, names)
            plan: Node = Join(CROSS, outer, once_more)
        else:
            plan = Join(CROSS, outer, core)
    else:
        pulled = _pull_into_groups(core, outer.names)
        if pulled is None:
            domain = Domain(context, outer, sorted(core.free & outer.names))
            names, source = domain.fresh()
            keys = tuple(Computed(c, typed(c)) for c in source.columns)
            aggregates = _renamed(core.aggregates, names)
            right: Node = Aggregate(domain.inject(core.input, names, source), keys, aggregates)
            parts = [same(old, new) for old, new in names.items()]
        else:
            right, parts = pulled
        plan = Join(LEFT, outer, right, conjunction(parts))
        empty = _defaults(core.aggregates)
        value = replace_columns(value, empty)
        having = replace_columns(having, empty) if having is not None else None
    if having is not None:
        value = exp.Case(ifs=[exp.If(this=having, true=value)])
    return plan, grouped(value)


def _defaults(aggregates: Sequence[Computed]) -> dict[str, Expr]:
    """For each aggregate that is not NULL over no rows: its value, with that default."""
    found: dict[str, Expr] = {}
    for item in aggregates:
        default = of_nothing(item.value)
        if not isinstance(default, exp.Null):
            found[item.column.name] = exp.Coalesce(this=typed(item.column), expressions=[default])
    return found


# pulling


def _pull(node: Node, outer: frozenset[str]) -> tuple[Node, list[Expr]] | None:
    """The plan without outer columns, and the conditions taken out of it; None if this method does not apply."""
    if not node.free & outer:
        return node, []
    if isinstance(node, Filter):
        below = _pull(node.input, outer)
        if below is None:
            return None
        plan, parts = below
        mine = conjuncts(node.condition)
        local = [part for part in mine if not names_in(part) & outer]
        parts = parts + [part for part in mine if names_in(part) & outer]
        kept = conjunction(local)
        return (plan if kept is None else Filter(plan, kept)), parts
    if isinstance(node, Project):
        if any(names_in(value) & outer for value in node.expressions):
            return None
        below = _pull(node.input, outer)
        return None if below is None else (_exposing(node, below[0], below[1]), below[1])
    if isinstance(node, Join):
        return _pull_join(node, outer)
    if isinstance(node, Aggregate) and node.keys and node.sets is None:
        return _pull_into_groups(node, outer)
    if isinstance(node, Distinct):
        below = _pull(node.input, outer)
        if below is None or not all(_of_a_column(part, outer) for part in below[1]):
            return None
        return Distinct(below[0]), below[1]
    return None


def _exposing(node: Project, plan: Node, parts: Sequence[Expr]) -> Project:
    """The projection with the columns that the pulled conditions need."""
    needed = set().union(*(names_in(part) for part in parts)) & plan.names - node.names
    extra = tuple(Computed(c, typed(c)) for c in plan.columns if c.name in needed)
    return Project(plan, node.output + extra)


def _pull_join(node: Join, outer: frozenset[str]) -> tuple[Node, list[Expr]] | None:
    condition = conjuncts(node.condition)
    if node.kind.is_inner:
        left, right = _pull(node.left, outer), _pull(node.right, outer)
        if left is None or right is None:
            return None
        local = conjunction(part for part in condition if not names_in(part) & outer)
        parts = [*left[1], *right[1], *(part for part in condition if names_in(part) & outer)]
        return Join(INNER if local is not None else CROSS, left[0], right[0], local), parts
    outside = node.right.free | frozenset().union(*(names_in(e) for e in node.expressions), frozenset())
    if node.kind.pads_left or outside & outer:
        return None
    left = _pull(node.left, outer)
    if left is None:
        return None
    return Join(node.kind, left[0], node.right, node.condition, node.mark, node.compared), left[1]


def _of_a_column(part: Expr, outer: frozenset[str]) -> str | None:
    """The inner column that an equality compares with outer values; None if the condition is no such equality."""
    sides = equality(part) or ()
    for inner, other in (sides, sides[::-1]) if sides else ():
        if isinstance(inner, exp.Column) and inner.name not in outer and names_in(other) and names_in(other) <= outer:
            return inner.name
    return None


def _pull_into_groups(node: Aggregate, outer: frozenset[str]) -> tuple[Node, list[Expr]] | None:
    """The inner columns of equalities with the outer query become keys of the aggregation."""
    if any(names_in(value) & outer for value in node.expressions):
        return None
    below = _pull(node.input, outer)
    if below is None:
        return None
    plan, parts = below
    keys, tied = list(node.keys), []
    for part in parts:
        name = _of_a_column(part, outer)
        if name is None:
            return None
        if name not in {item.column.name for item in keys}:
            column = next(c for c in plan.columns if c.name == name)
            keys.append(Computed(column, typed(column)))
        tied.append(part)
    return Aggregate(plan, tuple(keys), node.aggregates), tied


# the domain


class Domain:
    """The distinct values of some outer columns, which a plan that reads them is joined with."""

    def __init__(self, context: Context, outer: Node, needed: Sequence[str]) -> None:
        self.context = context
        self.outer = outer
        self.needed = [column for column in outer.columns if column.name in needed]

    def fresh(self) -> tuple[dict[str, str], Node]:
        """A new copy of the domain: its column names by the outer names, and its plan."""
        columns = self.context.numbering.columns([c.label for c in self.needed], [c.type for c in self.needed])
        names = {old.name: new.name for old, new in zip(self.needed, columns, strict=True)}
        output = tuple(Computed(new, typed(old)) for old, new in zip(self.needed, columns, strict=True))
        return names, Distinct(Project(self.outer, output))

    def inject(self, node: Node, names: Mapping[str, str], source: Node) -> Node:
        """The plan joined with the domain at the innermost place; it also returns the domain's columns."""
        if not node.free & names.keys():
            return Join(CROSS, source, node)
        carried = tuple(Computed(c, typed(c)) for c in source.columns)
        if isinstance(node, Filter):
            return Filter(self.inject(node.input, names, source), rename(node.condition, names))
        if isinstance(node, Project):
            return Project(self.inject(node.input, names, source), _renamed(node.output, names) + carried)
        if isinstance(node, Generate):
            return Generate(
                self.inject(node.input, names, source), rename(node.generator, names), node.output, node.outer
            )
        if isinstance(node, Distinct):
            return Distinct(exactly(self.inject(node.input, names, source), node.columns + source.columns))
        if isinstance(node, Window):
            functions = tuple(_partitioned(function, names, source) for function in node.functions)
            return Window(self.inject(node.input, names, source), functions)
        if isinstance(node, Limit):
            return self._inject_limit(node, names, source)
        if isinstance(node, UnionAll | SetOperation):
            return self._inject_set(node, names, source)
        if isinstance(node, Aggregate) and node.sets is None:
            return self._inject_aggregate(node, names, source, carried)
        if isinstance(node, Join):
            return self._inject_join(node, names, source)
        raise Unbuildable(f"A correlated subquery with a {node.title} cannot be compiled yet")

    def _inject_limit(self, node: Limit, names: Mapping[str, str], source: Node) -> Node:
        below = self.inject(node.input, names, source)
        rank = self.context.numbering.column("rank")
        order = tuple(term.over(lambda value: rename(value, names)) for term in node.order)
        by = tuple(typed(column) for column in source.columns)
        ranked = Window(below, (WindowFunction(rank, exp.RowNumber(), by, order, meant=node.clause),))
        tests: list[Expr] = [exp.GT(this=typed(rank), expression=exp.Literal.number(node.offset))]
        if node.count is not None:
            tests.append(exp.LTE(this=typed(rank), expression=exp.Literal.number(node.offset + node.count)))
        condition = conjunction(tests)
        assert condition is not None
        return exactly(Filter(ranked, condition), node.columns + source.columns)

    def _inject_set(self, node: UnionAll | SetOperation, names: Mapping[str, str], source: Node) -> Node:
        left = exactly(self.inject(node.left, names, source), node.left.columns + source.columns)
        right = exactly(self.inject(node.right, names, source), node.right.columns + source.columns)
        output = node.output + source.columns
        if isinstance(node, SetOperation):
            return SetOperation(left, right, output, node.kind, node.all)
        return UnionAll(left, right, output)

    def _inject_aggregate(
        self, node: Aggregate, names: Mapping[str, str], source: Node, carried: tuple[Computed, ...]
    ) -> Node:
        if node.keys:
            below = self.inject(node.input, names, source)
            return Aggregate(below, _renamed(node.keys, names) + carried, _renamed(node.aggregates, names))
        inner, copy = self.fresh()
        groups = tuple(Computed(c, typed(c)) for c in copy.columns)
        found = Aggregate(self.inject(node.input, inner, copy), groups, _renamed(node.aggregates, inner))
        ties = [same(names[old], new) for old, new in inner.items()]
        whole = Join(LEFT, source, found, conjunction(ties))
        empty = _defaults(node.aggregates)
        values = tuple(
            Computed(item.column, empty.get(item.column.name, typed(item.column))) for item in node.aggregates
        )
        return Project(whole, values + carried)

    def _inject_join(self, node: Join, names: Mapping[str, str], source: Node) -> Node:
        left, right = bool(node.left.free & names.keys()), bool(node.right.free & names.keys())
        condition, compared = (rename(e, names) if e is not None else None for e in (node.condition, node.compared))
        if node.kind.is_inner and right and not left:
            below = self.inject(node.right, names, source)
            return Join(node.kind, node.left, below, condition)
        if node.kind.pads_left:
            raise Unbuildable(f"A correlated subquery with a {node.kind} join cannot be compiled yet")
        first = self.inject(node.left, names, source)
        second = node.right
        ties: list[Expr] = []
        if right:
            copied, copy = self.fresh()
            second = self.inject(node.right, copied, copy)
            ties = [same(names[old], new) for old, new in copied.items()]
        whole = conjunction([*conjuncts(condition), *ties])
        kind = INNER if node.kind == CROSS and whole is not None else node.kind
        result = Join(kind, first, second, whole, node.mark, compared)
        return exactly(result, node.columns + source.columns) if right else result


def _renamed(items: Sequence[Computed], names: Mapping[str, str]) -> tuple[Computed, ...]:
    return tuple(Computed(item.column, rename(item.value, names)) for item in items)


def _partitioned(function: WindowFunction, names: Mapping[str, str], source: Node) -> WindowFunction:
    """The window function, partitioned also by the domain's columns."""
    renamed = function.over(lambda value: rename(value, names))
    return replace(renamed, partition_by=(*renamed.partition_by, *(ref(c.name) for c in source.columns)))
