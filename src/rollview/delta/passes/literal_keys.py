"""Turn a small set of affected keys into literal predicates, so that file statistics can skip data.

Before: ``join inner a = b (scan orders change, scan items new)``, if the change has a ∈ {3, 7}.
After: ``join inner a = b (scan orders change, filter b IN (3, 7) over scan items new)``.
Many keys become the range from the least to the greatest. Not for floats, whose literals are not exact; not for a
column of another type, since an engine may compare it with literals and with columns differently; not if the values are
not in this process; and not if the range is as wide as the table: it would skip nothing, and each new literal makes the
engine compile again. Without keys, nothing is read. A restriction to listed keys is replaced by the list; an optional
restriction is replaced by one list for each column.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection, Sequence
from typing import Any

from sqlglot import exp

from rollview.delta.derivation import CHANGE, STEP
from rollview.limits import DEFAULT, Limits
from rollview.plan.expressions import Expr, columns_equal_to, conjunction, equal_groups, ref
from rollview.plan.literals import in_order, is_literal, predicate, written
from rollview.plan.nodes import (
    FULL,
    INNER,
    JOINS,
    SEMI,
    UNKNOWN,
    Aggregate,
    Distinct,
    Filter,
    Join,
    JoinKind,
    MultiJoin,
    Node,
    Project,
    Restrict,
    Scan,
    SetOperation,
    UnionAll,
)
from rollview.plan.rewrite import apply_rule

#: The distinct values of a column of a step or of a table's change, if the rows are in this process.
Known = Callable[[Scan, str], Sequence[object] | None]

#: The least and the greatest value of a column of a table; None if not known.
Bounds = Callable[[Scan, str], tuple[Any, Any] | None]

_Type = exp.DataType.Type

#: The column types with which a Python value compares without a cast.
_TYPES: dict[type, Collection[exp.DType]] = {
    int: {*exp.DataType.INTEGER_TYPES, _Type.DECIMAL},
    str: exp.DataType.TEXT_TYPES,
    datetime.date: {_Type.DATE},
    datetime.datetime: exp.DataType.TEMPORAL_TYPES - {_Type.DATE},
}


def literal_keys(
    plan: Node, known: Known, bounds: Bounds = lambda scan, column: None, limits: Limits = DEFAULT
) -> Node:
    def rule(node: Node) -> Node | None:
        if not isinstance(node, JOINS) or node.kind == FULL:
            return None
        if isinstance(node, Restrict) and (listed := _listed(node, known, limits.listed_keys)) is not None:
            return listed
        parts = list(node.inputs)
        for condition in node.conditions:
            if isinstance(condition, exp.Or | exp.GTE | exp.LTE) and node.kind == INNER:
                _from_position(parts, node.inputs, condition, known, limits.listed_keys)
            if not isinstance(condition, exp.EQ | exp.NullSafeEQ):
                continue
            for mine, theirs in ((condition.left, condition.right), (condition.right, condition.left)):
                if isinstance(mine, exp.Column) and isinstance(theirs, exp.Column):
                    _narrow(
                        parts,
                        node.inputs,
                        node.kind,
                        mine.name,
                        theirs.name,
                        isinstance(condition, exp.EQ),
                        known,
                        bounds,
                        limits,
                    )
        return node.with_inputs(parts) if any(a is not b for a, b in zip(parts, node.inputs, strict=True)) else None

    return apply_rule(plan, rule)


def _listed(node: Restrict, known: Known, most: int) -> Node | None:
    """The restricted plan, filtered by the list of its keys; None if there are too many keys, or they are not known."""
    keys = node.keys.inputs[0] if isinstance(node.keys, Distinct) else None
    exact = isinstance(keys, Project) and isinstance(keys.input, Scan)  # the known values are exactly the keys
    if not node.optional and not (exact and len(node.pairs) == 1):
        return None
    tests: list[Expr] = []
    for value, name in node.pairs:
        values = _values(node.keys, name, known)
        if not isinstance(value, exp.Column) or values is None or len(values) > most:
            return None
        test = predicate(value.name, values, strict=False, listed=most)
        if test is None or not _of_type(node.input, value.name, values):
            return None
        tests.append(test)
    found = conjunction(tests)
    return None if found is None else Filter(node.input, found)


def _narrow(
    parts: list[Node],
    inputs: Sequence[Node],
    kind: JoinKind,
    mine: str,
    theirs: str,
    strict: bool,
    known: Known,
    bounds: Bounds,
    limits: Limits,
) -> None:
    """Filters the input with column ``theirs`` by the known values of the equal column ``mine`` of another input."""
    giver = next((part for part in inputs if mine in part.names), None)
    place = next((i for i, part in enumerate(inputs) if theirs in part.names), None)
    if giver is None or place is None or giver is inputs[place]:
        return
    if place == 0 and not (kind.is_inner or kind is SEMI):
        return  # rows of the preserved side stay, whether or not they match
    values = _values(giver, mine, known)
    if values is None or _values(inputs[place], theirs, known) is not None:
        return
    if not _of_type(inputs[place], theirs, values):
        return
    test, most = predicate(theirs, values, strict, limits.listed_keys), limits.listed_keys
    wide = len(values) > most and _as_wide(inputs[place], theirs, values, bounds, 1 - limits.range_share)
    if test is not None and not wide:
        parts[place] = Filter(parts[place], test)


def _from_position(parts: list[Node], inputs: Sequence[Node], condition: Expr, known: Known, most: int) -> None:
    """For ``a >= b OR …`` with known values of b: filters by ``a >= (the least of them)``.

    The other alternatives may be ``a IS NULL``, which is kept, and ``flag = v`` for a flag beside b that never is v."""
    tests = list(condition.flatten()) if isinstance(condition, exp.Or) else [condition]
    ranges = [t for t in tests if isinstance(t, exp.GTE | exp.LTE) and isinstance(t.right, exp.Column)]
    if len(ranges) != 1 or not isinstance(ranges[0].left, exp.Column):
        return
    column, position = ranges[0].left, ranges[0].right
    giver = next((part for part in inputs if position.name in part.names), None)
    place = next((i for i, part in enumerate(inputs) if column.name in part.names), None)
    values = None if giver is None else _values(giver, position.name, known)
    present = [value for value in values or () if value is not None]
    if giver is None or place is None or not present or not all(is_literal(value) for value in present):
        return
    ordered = in_order(present, most)
    if ordered is None or not _of_type(inputs[place], column.name, present):
        return
    bound = ordered[0 if isinstance(ranges[0], exp.GTE) else -1]
    kept: list[Expr] = [type(ranges[0])(this=ref(column.name), expression=written(bound))]
    for test in tests:
        if isinstance(test, exp.Is) and test.this == column:
            kept.append(test.copy())
        elif isinstance(test, exp.EQ) and test.left.name in giver.names:
            flags = _values(giver, test.left.name, known)
            if flags is None or any(str(flag) == test.right.name for flag in flags):
                return
        elif test is not ranges[0]:
            return
    parts[place] = Filter(parts[place], exp.or_(*kept))


def _of_type(node: Node, name: str, values: Sequence[object]) -> bool:
    """Whether values have the type of the column; True if that type is not known."""
    kind = next(column.type for column in node.columns if column.name == name)
    if kind.this == UNKNOWN.this:
        return True
    return all(kind.this in _TYPES.get(type(value), ()) for value in values if value is not None)


def _values(node: Node, name: str, known: Known) -> Sequence[object] | None:
    """A superset of the values of a column, if they come from rows in this process."""
    if isinstance(node, Filter | Distinct):
        return _values(node.inputs[0], name, known)
    if isinstance(node, Project | Aggregate):
        made = node.output if isinstance(node, Project) else node.keys
        value = next((item.value for item in made if item.column.name == name), None)
        return _values(node.inputs[0], value.name, known) if isinstance(value, exp.Column) else None
    if isinstance(node, UnionAll | SetOperation):
        places = [column.name for column in node.columns]
        sides = [_values(side, side.columns[places.index(name)].name, known) for side in node.inputs]
        return None if any(side is None for side in sides) else [value for side in sides for value in side or ()]
    if isinstance(node, JOINS):
        return _values_of_join(node, name, known)
    if isinstance(node, Scan) and node.version in (STEP, CHANGE):
        return known(node, next(s for c, s in zip(node.output, node.sources, strict=True) if c.name == name))
    return None


def _values_of_join(node: Join | MultiJoin | Restrict, name: str, known: Known) -> Sequence[object] | None:
    """Those of the input that has the column, or of one with an equal column."""
    if node.kind == FULL:  # any column may be NULL
        return None
    inner = node.kind.is_inner
    same = columns_equal_to(name, equal_groups(node.conditions)) if inner else [name]
    for side in node.inputs if inner else node.inputs[:1]:
        for column in same:
            values = _values(side, column, known) if column in side.names else None
            if values is not None:
                return values
    return None


def _as_wide(node: Node, name: str, values: Sequence[object], bounds: Bounds, share: float) -> bool:
    """Whether the range of the values covers at least this share of the range of the table's column."""
    if isinstance(node, Filter | Distinct):
        return _as_wide(node.inputs[0], name, values, bounds, share)
    if isinstance(node, Project | Aggregate):
        made = node.output if isinstance(node, Project) else node.keys
        value = next((item.value for item in made if item.column.name == name), None)
        return isinstance(value, exp.Column) and _as_wide(node.inputs[0], value.name, values, bounds, share)
    if isinstance(node, JOINS):
        return any(name in side.names and _as_wide(side, name, values, bounds, share) for side in node.inputs)
    if not isinstance(node, Scan):
        return False
    found = bounds(node, next(s for c, s in zip(node.output, node.sources, strict=True) if c.name == name))
    present = [value for value in values if value is not None]
    if found is None or not present or not all(isinstance(value, int) for value in (*found, *present)):
        return False
    width = found[1] - found[0]
    return bool(max(present) - min(present) >= share * width)  # type: ignore[type-var, operator]
