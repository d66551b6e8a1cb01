"""Order-dependent aggregates, evaluated in the order of the key.

| aggregate | what decides it |
|---|---|
| collect_list, listagg; first, last, any_value | the rows are ordered by the key |
| max_by, min_by | among rows with equal compared values: the greatest key, the least key |
| collect_set, and lists of DISTINCT values | the elements are sorted |
| mode | the least of the most frequent values |

The first two become ``f(x ORDER BY k)``, which ``codegen/ordered`` prints for each dialect. Not for lists whose order
has no effect: ``sort_array(collect_list(x))``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sqlglot import exp

from rollview.keys.choices import Choice, Deciding, as_written, deciding
from rollview.keys.facts import Names, facts_of
from rollview.plan.expressions import Expr, conjunction, names_in, ref
from rollview.plan.nodes import FROM_START, Aggregate, Combined, Distinct, Frame, Node

#: Modifiers that wrap an aggregate: FILTER, IGNORE NULLS, RESPECT NULLS.
_WRAPPERS = (exp.Filter, exp.IgnoreNulls, exp.RespectNulls)

#: Functions of a list whose result does not depend on the order of the elements; some are known by name only.
_OF_ANY_ORDER = (exp.ArraySort, exp.ArraySize, exp.ArrayMax, exp.ArrayMin, exp.ArrayContains)
_NAMED_OF_ANY_ORDER = {"cardinality", "arrays_overlap"}

_LISTS = (exp.ArrayAgg, exp.ArrayUniqueAgg)
_FIRST = (exp.First, exp.FirstValue, exp.AnyValue)
_LAST = (exp.Last, exp.LastValue)


def aggregate_in_order(node: Aggregate, choices: list[Choice], unseen: Names) -> Node:
    """The aggregate with a deciding order for each order-dependent function. ``unseen`` are the lists whose order has
    no effect."""
    known_keys = [item.value.name for item in node.keys if isinstance(item.value, exp.Column)]
    given: Sequence[str] = known_keys if node.sets is None else ()
    used = frozenset().union(*(names_in(item.value) for item in node.aggregates))
    below, found = node.input, []
    for item in node.aggregates:
        decided = None if item.column.name in unseen else _decided(item.value, below, given, used)
        if decided is None:
            found.append(item)
            continue
        value, row, choice = decided
        below = row.input
        choices.append(choice)
        found.append(replace(item, value=value))
    return node if tuple(found) == node.aggregates else replace(node, input=below, aggregates=tuple(found))


def _decided(value: Expr, below: Node, given: Iterable[str], used: Names) -> tuple[Expr, Deciding, Choice] | None:
    """The function with a deciding order, what decides, and the choice; None if the order of the rows has no effect."""
    called = unwrapped(value)
    ordered = called.find(exp.Order)
    own = [term.this.name for term in ordered.expressions if isinstance(term.this, exp.Column)] if ordered else []
    row = deciding(below, [*given, *own], used)
    if row.key and not row.columns:
        return None
    known = facts_of(row.input).closure([*given, *own])
    arguments = [part for part in called.iter_expressions() if not isinstance(part, exp.Literal)]
    if arguments and names_in(arguments[0]) <= known:
        return None  # the same value in every row of the group
    what = as_written(value, below)
    of_values = by_value(value)
    if of_values is not None:
        return of_values[0], replace(row, input=below), Choice(what, of_values[1])
    found = by_row(value, row, known) or in_order(value, [term.clause for term in row.order])
    if found is None:
        return None
    if not row.columns:
        return value, row, row.choice(what, "rows")
    kind = "elements" if isinstance(called, exp.ArrayAgg | exp.GroupConcat) else "rows"
    return found, row, row.choice(what, "ties" if isinstance(called, exp.ArgMax | exp.ArgMin) else kind)


def unwrapped(value: Expr) -> Expr:
    """The function without FILTER, IGNORE NULLS and RESPECT NULLS."""
    while isinstance(value, _WRAPPERS):
        value = value.this
    return value


def by_value(value: Expr) -> tuple[Expr, str] | None:
    """The aggregate with its choice made by the values alone, and how it is made; None for other aggregates."""
    called = unwrapped(value)
    if isinstance(called, exp.Mode) and called.args.get("this") is not None and not called.args.get("deterministic"):
        return _put(value, exp.Mode(this=called.this.copy(), deterministic=exp.true())), "the least of these values"
    inner = called.args.get("this")
    if isinstance(inner, exp.Distinct) and isinstance(called, exp.ArrayAgg | exp.GroupConcat):
        element = inner.expressions[0]
        if isinstance(called, exp.ArrayAgg):
            return _put(value, exp.ArrayUniqueAgg(this=_order(element, _ascending([element])))), "elements in order"
        changed = called.copy()
        changed.set("this", _order(inner, _ascending([element])))
        return _put(value, changed), "elements in order"
    if isinstance(called, exp.ArrayUniqueAgg) and not isinstance(inner, exp.Order):
        return _put(value, exp.ArrayUniqueAgg(this=_order(called.this, _ascending([called.this])))), "elements in order"
    return None


def by_row(value: Expr, row: Deciding, known: Names) -> Expr | None:
    """``max_by(x, y)`` that takes the greatest key among equal y, or ``min_by`` that takes the least; None for other
    functions, and if y determines x."""
    called = unwrapped(value)
    if not isinstance(called, exp.ArgMax | exp.ArgMin):
        return None
    by = called.expression
    bare = by.this if isinstance(by, exp.Order) else by
    if isinstance(bare, exp.Column) and names_in(called.this) <= facts_of(row.input).closure({*known, bare.name}):
        return None
    falling = isinstance(called, exp.ArgMax)
    terms: list[Expr] = [
        exp.Ordered(this=ref(column.name), desc=falling, nulls_first=not falling)
        for column in row.columns
        if column.name != bare.name
    ]
    if not terms:
        return None
    changed = called.copy()
    changed.set("expression", _order(by, terms))
    return _put(value, changed)


def in_order(value: Expr, terms: Sequence[Expr], frame: Frame | None = None) -> Expr | None:
    """The function with these terms appended to its own ORDER BY; None if the order of the rows has no effect on it.
    ``frame`` is the frame of a window function."""
    called, conditions = unwrapped(value), _conditions(value)
    found: Expr
    if isinstance(called, exp.ArrayAgg | exp.GroupConcat):
        inner = called.this
        if isinstance(inner, exp.Distinct) or (isinstance(inner, exp.Order) and isinstance(inner.this, exp.Distinct)):
            return None
        found = called.copy()
        found.set("this", _order(inner, terms))
    elif isinstance(called, (*_FIRST, *_LAST)):
        inner = called.this.this if isinstance(called.this, exp.Order) else called.this
        if isinstance(called, exp.AnyValue) or _ignores_nulls(value):
            conditions.append(exp.Not(this=exp.Is(this=inner.copy(), expression=exp.null())))
        found = (exp.Last if isinstance(called, _LAST) else exp.First)(this=_order(called.this, terms))
    elif isinstance(called, exp.NthValue) and (frame is None or frame.start == FROM_START):
        if _ignores_nulls(value):
            return None
        conditions.append(exp.EQ(this=terms[0].this.copy(), expression=called.args["offset"].copy()))
        found = exp.First(this=_order(called.this, terms))
    else:
        return None
    condition = conjunction(conditions)
    return found if condition is None else exp.Filter(this=found, expression=exp.Where(this=condition))


def order_unseen(plan: Node) -> Names:
    """The lists in a plan that are used only in ways that do not depend on their order: size, sorted elements."""
    lists = {
        item.column.name
        for node in plan.walk()
        if isinstance(node, Aggregate)
        for item in node.aggregates
        if isinstance(unwrapped(item.value), _LISTS)
    }
    if not lists:
        return frozenset()
    seen = {column.name for column in plan.columns}
    for node in plan.walk():
        if isinstance(node, Distinct | Combined):
            seen |= {name for side in node.inputs for name in side.names}
        for value in node.expressions:
            for column in value.find_all(exp.Column):
                if column.name in lists and not _of_any_order(column):
                    seen.add(column.name)
    return frozenset(lists - seen)


def _of_any_order(column: exp.Column) -> bool:
    reader = column.parent
    while isinstance(reader, exp.Paren):
        reader = reader.parent
    if isinstance(reader, exp.Anonymous):
        return reader.name.lower() in _NAMED_OF_ANY_ORDER
    return isinstance(reader, _OF_ANY_ORDER) and not (isinstance(reader, exp.ArraySort) and reader.expression)


def _order(value: Expr, terms: Sequence[Expr]) -> Expr:
    """``x ORDER BY …``; the terms are appended to an existing order."""
    if isinstance(value, exp.Order):
        value, terms = value.this, [*value.expressions, *terms]
    return exp.Order(this=value.copy(), expressions=[term.copy() for term in terms])


def _ascending(values: Sequence[Expr]) -> list[Expr]:
    return [exp.Ordered(this=value.copy(), nulls_first=True) for value in values]


def _ignores_nulls(value: Expr) -> bool:
    return isinstance(value, exp.IgnoreNulls) or (isinstance(value, exp.Filter) and _ignores_nulls(value.this))


def _conditions(value: Expr) -> list[Expr]:
    found: list[Expr] = []
    while isinstance(value, _WRAPPERS):
        if isinstance(value, exp.Filter):
            found.append(value.expression.this.copy())
        value = value.this
    return found


def _put(value: Expr, called: Expr) -> Expr:
    """The function with the FILTER conditions of another."""
    condition = conjunction(_conditions(value))
    return called if condition is None else exp.Filter(this=called, expression=exp.Where(this=condition))
