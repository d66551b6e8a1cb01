"""SELECT: WHERE, GROUP BY and HAVING, window functions, the select list, DISTINCT, ORDER BY with LIMIT.

The steps are in the order in which SQL evaluates them, and that is the order of the functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby

from sqlglot import exp

from rollview.errors import SqlError
from rollview.frontend.sql.bind import bind
from rollview.frontend.sql.context import Context, unbuildable
from rollview.frontend.sql.from_clause import build_from, generator_labels
from rollview.frontend.sql.functions import holds_aggregate, is_aggregate, is_outer_generator
from rollview.frontend.sql.group import group_keys
from rollview.frontend.sql.limit import ordering, with_limit
from rollview.frontend.sql.scope import Scope, place, typed
from rollview.frontend.sql.subqueries import Pending, attach, attach_predicate, predicate
from rollview.frontend.sql.time_window import with_time_window
from rollview.frontend.sql.types import type_of
from rollview.frontend.sql.understood import REFERRING_WINDOW, SELECT, STAR, WINDOW, only, only_generator
from rollview.frontend.sql.windows import window_function
from rollview.parse.tree import is_generator
from rollview.plan.expressions import Expr, conjunction, replace_columns
from rollview.plan.nodes import (
    Aggregate,
    Column,
    Computed,
    Distinct,
    Filter,
    Generate,
    Node,
    Ordering,
    Project,
    Window,
    WindowFunction,
)


@dataclass(frozen=True)
class _Generated:
    """A generator in the select list, and the columns that it makes."""

    node: Expr
    value: Expr
    output: tuple[Column, ...]

    def over(self, plan: Node, value: Expr) -> Node:
        return Generate(plan, value, self.output, is_outer_generator(self.node))


@dataclass
class _Select:
    """A SELECT while it is built: the plan so far, what its names mean, and the items of the select list. ``generated``
    is a generator over groups, which waits for them."""

    context: Context
    node: exp.Select
    scope: Scope
    plan: Node
    items: list[tuple[str, Expr]] = field(default_factory=list)
    pending: list[Pending] = field(default_factory=list)
    values: dict[str, Expr] = field(default_factory=dict)
    generated: _Generated | None = None

    def bound(self, expr: Expr) -> Expr:
        aliases = {label.casefold(): value for label, value in self.items}
        return bind(self._windows_named(expr), self.scope, self.context, self.pending, aliases)

    def _windows_named(self, expr: Expr) -> Expr:
        """Windows that refer to others of the WINDOW clause, written out."""
        named = {w.name.casefold(): w for w in self.node.args.get("windows") or ()}

        def clauses(window: Expr, seen: frozenset[str] = frozenset()) -> dict[str, object]:
            only(self.context, window, REFERRING_WINDOW)
            own = {k: window.args.get(k) for k in ("partition_by", "order", "spec")}
            other = window.alias.casefold()
            if not other:
                return own
            if other not in named or other in seen:
                raise unbuildable(self.context, f"the window {window.alias}", window)
            base = clauses(named[other], seen | {other})
            return {k: value or base[k] for k, value in own.items()}

        def one(part: Expr) -> Expr:
            if isinstance(part, exp.Window) and part.alias:
                return exp.Window(this=part.this, **clauses(part))
            return part

        return expr.transform(one, copy=True) if named else expr

    def settle(self) -> None:
        """Joins the subqueries that are waiting, and puts their values where they were used."""
        if not self.pending:
            return
        self.plan, values = attach(self.context, self.plan, self.pending)
        self.pending.clear()
        self.items = [(label, replace_columns(value, values)) for label, value in self.items]
        self.values.update(values)


def build_select(context: Context, node: exp.Select, parent: Scope | None) -> Node:
    only(context, node, SELECT)
    node = _subqueries_in_where(node)
    node, source = with_time_window(context, node, build_from(context, node, parent), parent)
    select = _Select(context, node, Scope(context.sql, list(source.entries), parent), source.plan)
    if node.args.get("where") is not None:
        conditions = [_condition(select, part) for part in _parts(node.args["where"].this)]
        for condition in _together(conditions):
            select.plan = condition.applied(context, select.plan)
    _select_list(select)
    order = _order_terms(select)
    having = node.args.get("having")
    grouped = (
        node.args.get("group") is not None
        or select.generated is not None
        or any(holds_aggregate(value) for value in [*(v for _, v in select.items), *(t for t, _ in order)])
        or (having is not None and holds_aggregate(having.this))
    )
    if grouped:
        _aggregate(select, order, having.this if having is not None else None)
    elif having is not None:
        raise SqlError("HAVING without a group", where=place(context.sql, having), todo="use WHERE")
    select.settle()
    order = [(replace_columns(value, select.values), term) for value, term in order]
    order = _windows(select, order)
    return _output(select, order)


def _subqueries_in_where(node: exp.Select) -> exp.Select:
    """``a JOIN b ON a.k = b.k AND EXISTS (…)`` with the EXISTS in WHERE, where no outer join keeps rows despite it."""
    joins = node.args.get("joins") or []
    inner = [join for join in joins if not (join.side or join.method) and (join.kind or "INNER").upper() == "INNER"]
    if any((join.side or "").upper() in ("RIGHT", "FULL") for join in joins):
        return node
    for join in inner:
        parts = _parts(join.args["on"]) if join.args.get("on") is not None else []
        moved = [part for part in parts if part.find(exp.Query)]
        if moved:
            kept = [part for part in parts if part not in moved]
            join.set("on", exp.and_(*kept) if kept else None)
            node = node.where(*moved, copy=False)
    return node


@dataclass(frozen=True)
class _Condition:
    """A part of WHERE or HAVING: a test, with the subqueries in it; or IN or EXISTS that stands alone."""

    test: Expr | None = None
    waiting: tuple[Pending, ...] = ()
    inner: Node | None = None
    compared: Expr | None = None
    negated: bool = False

    def over(self, change: Callable[[Expr], Expr]) -> _Condition:
        """The same above an aggregation."""
        return _Condition(
            change(self.test) if self.test is not None else None,
            tuple(item.rewritten(change) for item in self.waiting),
            self.inner,
            change(self.compared) if self.compared is not None else None,
            self.negated,
        )

    def applied(self, context: Context, plan: Node) -> Node:
        if self.inner is not None:
            plan, values = attach(context, plan, list(self.waiting))
            compared = replace_columns(self.compared, values) if self.compared is not None else None
            return attach_predicate(context, plan, self.inner, compared, self.negated)
        assert self.test is not None
        plan, values = attach(context, plan, list(self.waiting))
        return Filter(plan, replace_columns(self.test, values))


def _condition(select: _Select, part: Expr) -> _Condition:
    negated = isinstance(part, exp.Not)
    bare = part.this.unnest() if negated else part
    before, select.pending = select.pending, []
    try:
        if isinstance(bare, exp.Exists) or (isinstance(bare, exp.In) and bare.args.get("query") is not None):
            inner, compared, _ = predicate(select.context, bare, select.scope, select.bound)
            return _Condition(None, tuple(select.pending), inner, compared, negated)
        test = select.bound(part)
        return _Condition(test, tuple(select.pending))
    finally:
        select.pending = before


def _together(conditions: Sequence[_Condition]) -> list[_Condition]:
    """The conditions in their order, neighbouring tests without subqueries as one."""
    found: list[_Condition] = []
    for plain, some in groupby(conditions, lambda condition: condition.inner is None and not condition.waiting):
        part = list(some)
        tests = [condition.test for condition in part if condition.test is not None]
        found += [_Condition(conjunction(tests))] if plain else part
    return found


def _parts(condition: Expr) -> list[Expr]:
    found: list[Expr] = []
    waiting = [condition]
    while waiting:
        bare = waiting.pop().unnest()
        if isinstance(bare, exp.And):
            waiting += [bare.right, bare.left]
        else:
            found.append(bare)
    return found


def _select_list(select: _Select) -> None:
    for item in select.node.expressions:
        bare = item.this if isinstance(item, exp.Alias | exp.Aliases) else item
        if isinstance(bare, exp.Star) or (isinstance(bare, exp.Column) and isinstance(bare.this, exp.Star)):
            _star(select, bare)
        elif is_generator(bare):
            _generator(select, item, bare)
        else:
            label = item.alias if isinstance(item, exp.Alias) else _label(bare)
            select.items.append((label, select.bound(bare)))


def _label(expr: Expr) -> str:
    if isinstance(expr, exp.Column | exp.Dot):
        return expr.name
    return expr.sql("spark")


def _star(select: _Select, star: Expr) -> None:
    whole = star.this if isinstance(star, exp.Column) else star
    left_out = {part.name.casefold() for part in whole.args.get("except_") or ()}
    only(select.context, whole, STAR)
    alias = star.table if isinstance(star, exp.Column) else None
    for entry in select.scope.star(alias, star):
        if entry.label.casefold() not in left_out:
            select.items.append((entry.label, typed(entry.column)))


def _generator(select: _Select, item: Expr, generator: Expr) -> None:
    """A generator in the select list."""
    only_generator(select.context, generator)
    if isinstance(item, exp.Aliases):
        labels = [part.name for part in item.args["expressions"]]
    elif isinstance(item, exp.Alias):
        labels = [item.alias]
    else:
        labels = generator_labels(select.context, generator)
    output = select.context.numbering.columns(labels)
    if _is_over_groups(select.node, generator, labels):
        if select.generated is not None or generator.find(exp.Query) or _has_windows(select.node):
            raise unbuildable(select.context, f"{_label(generator)} over groups", generator)
        select.generated = _Generated(generator, select.bound(generator), output)
    else:
        value = select.bound(generator)
        select.settle()
        select.plan = _Generated(generator, value, output).over(select.plan, value)
    select.items += [(column.label, typed(column)) for column in output]


def _has_windows(node: exp.Select) -> bool:
    return any(item.find(exp.Window) for item in node.expressions) or node.args.get("qualify") is not None


def _is_over_groups(node: exp.Select, generator: Expr, labels: Sequence[str]) -> bool:
    """Whether a generator in the select list takes apart values of groups. A key that names it is made of its rows."""
    group = node.args.get("group")
    if group is None:
        return node.args.get("having") is not None or any(map(holds_aggregate, node.expressions))
    names = {label.casefold() for label in labels}
    keys = all(isinstance(key, exp.Column) and key.name.casefold() not in names for key in group.expressions)
    return holds_aggregate(generator) or (keys and bool(group.expressions))


def _order_terms(select: _Select) -> list[tuple[Expr, exp.Ordered]]:
    """ORDER BY, if a LIMIT needs it: each term names a column of the select list, or is an expression beside it."""
    if select.node.args.get("limit") is None and select.node.args.get("offset") is None:
        return []
    found = []
    clause = select.node.args.get("order")
    for term in clause.expressions if clause is not None else ():
        if isinstance(term.this, exp.Var):  # ORDER BY ALL
            found += [(value.copy(), term) for _, value in select.items]
            continue
        found.append((_item_of(select, term.this) or select.bound(term.this), term))
    return found


def _item_of(select: _Select, term: Expr) -> Expr | None:
    """The item of the select list that a name or a number means."""
    if isinstance(term, exp.Literal) and not term.is_string and term.is_int:
        position = int(term.this)
        if not 0 < position <= len(select.items):
            raise SqlError(f"There is no column {position} in the select list", where=place(select.context.sql, term))
        return select.items[position - 1][1].copy()
    if isinstance(term, exp.Column) and not term.table:
        found = [value for label, value in select.items if label.casefold() == term.name.casefold()]
        return found[0].copy() if found else None
    return None


def _aggregate(select: _Select, order: list[tuple[Expr, exp.Ordered]], having: Expr | None) -> None:
    """GROUP BY: keys and aggregates get columns; everything above is rewritten to use them."""
    context = select.context
    waiting = list(select.pending)
    select.pending.clear()
    group = select.node.args.get("group")
    values = [value for _, value in select.items]
    keys, sets = ([], None) if group is None else group_keys(context, group, values, partial(_key, select))
    groups, below = _computed_below(context, select.plan, keys)
    grouped_by = {group.value: group.column for group in reversed(groups)}
    aggregates: dict[Expr, Computed] = {}

    def over(expr: Expr) -> Expr:
        """The expression over the columns of the aggregation."""
        for value in (expr, _unwrapped(expr)):
            if value in grouped_by:
                return typed(grouped_by[value])
        if isinstance(expr, exp.Grouping | exp.GroupingId) or _is_grouping(expr):
            expr = type(expr)(**{k: _each(v, over) for k, v in expr.args.items()})
        if is_aggregate(expr):
            if expr not in aggregates:
                aggregates[expr] = Computed(context.numbering.column(_short(expr), type_of(expr)), expr)
            return typed(aggregates[expr].column)
        if isinstance(expr, exp.Window):
            return _window_over(expr, over)
        return type(expr)(**{k: _each(v, over) for k, v in expr.args.items()})

    select.items = [(label, over(value)) for label, value in select.items]
    order[:] = [(over(value), term) for value, term in order]
    generated = None if select.generated is None else over(select.generated.value)
    select.pending += [item.rewritten(over) for item in waiting]
    conditions = [_condition(select, part).over(over) for part in (_parts(having) if having is not None else ())]
    by = tuple(Computed(group.column, typed(group.column)) for group in groups)
    select.plan = Aggregate(below, by, tuple(aggregates.values()), sets)
    for condition in conditions:
        select.plan = condition.applied(context, select.plan)
    if select.generated is not None and generated is not None:
        select.plan = select.generated.over(select.plan, generated)


def _computed_below(context: Context, plan: Node, keys: Sequence[Expr]) -> tuple[list[Computed], Node]:
    """The keys as columns; those that are not yet columns are computed in a projection below the groups."""
    groups: list[Computed] = []
    for value in keys:
        column = next((c for c in plan.columns if isinstance(value, exp.Column) and c.name == value.name), None)
        groups.append(Computed(column or context.numbering.column(_label(value), type_of(value)), value))
    new = [group for group in groups if group.column.name not in plan.names]
    if not new:
        return groups, plan
    return groups, Project(plan, (*(Computed(c, typed(c)) for c in plan.columns), *new))


def _is_grouping(expr: Expr) -> bool:
    return isinstance(expr, exp.Anonymous) and expr.name.lower() in ("grouping", "grouping_id")


def _unwrapped(expr: Expr) -> Expr:
    return expr.unnest() if isinstance(expr, exp.Paren) else expr


def _each(value: object, change: Callable[[Expr], Expr]) -> object:
    if isinstance(value, exp.Expr):
        return change(value)
    if isinstance(value, list):
        return [_each(item, change) for item in value]
    return value


def _window_over(window: exp.Window, over: Callable[[Expr], Expr]) -> Expr:
    """A window function above an aggregation: its arguments are rewritten, it is not itself an aggregate."""
    function = window.this
    wrapper = function if isinstance(function, exp.Filter | exp.IgnoreNulls | exp.RespectNulls) else None
    inner = function.this if wrapper is not None else function
    inner = type(inner)(**{k: _each(v, over) for k, v in inner.args.items()})
    if wrapper is not None:
        rest = {k: _each(v, over) for k, v in wrapper.args.items() if k != "this"}
        inner = type(wrapper)(this=inner, **rest)
    return exp.Window(this=inner, **{k: _each(v, over) for k, v in window.args.items() if k != "this"})


def _short(expr: Expr) -> str:
    return (expr.name if isinstance(expr, exp.Anonymous) else expr.key) or "agg"


def _key(select: _Select, expr: Expr) -> Expr:
    """A key: a column of FROM, a number or name of the select list, or an expression."""
    if isinstance(expr, exp.Column) and select.scope.knows(expr):
        return select.scope.resolve(expr)
    found = _item_of(select, expr)
    if found is not None:
        if holds_aggregate(found):
            raise SqlError("A group key cannot hold an aggregate", where=place(select.context.sql, expr))
        return _unwrapped(found)
    return _unwrapped(select.bound(expr))


def _windows(select: _Select, order: list[tuple[Expr, exp.Ordered]]) -> list[tuple[Expr, exp.Ordered]]:
    """Window functions get columns; QUALIFY filters by them."""
    qualify = select.node.args.get("qualify")
    functions: dict[Expr, WindowFunction] = {}

    def over(expr: Expr) -> Expr:
        if isinstance(expr, exp.Window):
            only(select.context, expr, WINDOW)
            if by := expr.args.get("partition_by"):  # a column named twice makes the same partitions
                expr.set("partition_by", list(dict.fromkeys(by)))
            if expr not in functions:
                column = select.context.numbering.column(_short(expr.this), type_of(expr))
                functions[expr.copy()] = window_function(column, expr)
            return typed(functions[expr].column)
        return expr

    if qualify is not None:
        test = _item_of(select, qualify.this) or select.bound(qualify.this)
        select.settle()
        test = replace_columns(test, select.values).transform(over, copy=True)
    select.items = [(label, value.transform(over, copy=True)) for label, value in select.items]
    order = [(value.transform(over, copy=True), term) for value, term in order]
    if functions:
        select.plan = Window(select.plan, tuple(functions.values()))
    if qualify is not None:
        select.plan = Filter(select.plan, test)
    return order


def _output(select: _Select, order: Sequence[tuple[Expr, exp.Ordered]]) -> Node:
    """The select list as a projection, then DISTINCT, then LIMIT; what only the order needs is dropped at the end."""
    computed = _computed(select.context, select.plan, select.items)
    terms: list[Ordering] = []
    extra: list[Computed] = []
    for value, term in order:
        same = next((item for item in computed if item.value == value), None)
        if same is None:
            same = Computed(select.context.numbering.column("order", type_of(value)), value)
            extra.append(same)
        terms.append(ordering(term, typed(same.column)))
    plan: Node = Project(select.plan, tuple(computed + extra))
    if select.node.args.get("distinct") is not None:
        if extra:
            raise SqlError(
                "DISTINCT orders by a column that it does not select", where=place(select.context.sql, select.node)
            )
        plan = Distinct(plan)
    plan = with_limit(select.context, select.node, plan, tuple(terms))
    if extra:
        plan = Project(plan, tuple(Computed(item.column, typed(item.column)) for item in computed))
    return plan


def _computed(context: Context, plan: Node, items: Sequence[tuple[str, Expr]]) -> list[Computed]:
    """A column that is only passed on keeps its name, the first time."""
    types = {column.name: column for column in plan.columns}
    taken: set[str] = set()
    found = []
    fresh = context.numbering.columns([label for label, _ in items])
    for (label, value), column in zip(items, fresh, strict=True):
        bare = _unwrapped(value)
        if isinstance(bare, exp.Column) and bare.name in types and bare.name not in taken:
            taken.add(bare.name)
            found.append(Computed(Column(bare.name, label, types[bare.name].type), bare))
        else:
            found.append(Computed(Column(column.name, label, type_of(value)), value))
    return found
