"""The timed changes of a view's rows, from its timed delta: what a view above it propagates.

The rows of a delta are changes of the stored rows, or of the sums of groups. From the latter follows how the stored row
of a group changes at each position:

    sums before t  =  sums where the view stands ± the changes up to the first position + those before t
    −1 row with the sums before t, if the group was there      +1 row with the sums at t, if it is there

``layout.feed`` shows changes of stored rows as changes of the view's: HAVING is part of that. ORDER BY … LIMIT is not,
because which rows are shown may change without a change of theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

from rollview.delta.partials import COUNT
from rollview.plan.expressions import Expr, conjunction, ref
from rollview.plan.nodes import (
    CURRENT_ROW,
    FROM_START,
    INNER,
    Aggregate,
    Bound,
    Column,
    Computed,
    Distinct,
    Filter,
    Frame,
    Join,
    Node,
    Ordering,
    Project,
    Scan,
    Window,
    WindowFunction,
    exactly,
    union_of,
)
from rollview.plan.reserved import TIME, WEIGHT
from rollview.roll.rows import between, delta_scan
from rollview.state.groups import Groups
from rollview.state.state import State

#: The relation that has the stored rows, as they are where the view stands.
STORED = "stored"


def stored_changes(state: State, kinds: Mapping[str, str], shown: int, after: int, upto: int) -> Node:
    """The changes of the stored rows with times after one position, up to another one, under their stored names.
    ``kinds`` are the types of the stored columns, ``shown`` is the position at which the view stands."""
    if isinstance(state, Groups):
        return _of_groups(state, kinds, shown, after, upto)
    rows = between(delta_scan(state), after, upto)
    one = Computed(COUNT, _number(1))
    own = [Computed(c, ref(c.name)) if c.name != COUNT.name else one for c in state.plan.columns]
    return Project(rows, (*own, Computed(WEIGHT, ref(WEIGHT.name)), Computed(TIME, ref(TIME.name))))


def _of_groups(state: Groups, kinds: Mapping[str, str], shown: int, after: int, upto: int) -> Node:
    """Running sums over the positions, of the groups that change."""
    keys = [item.column for item in state.root.keys]
    sums = [*(partial.column for partial in state.partials), COUNT]
    changed = _sums(between(delta_scan(state), after, upto), keys, state, lambda value: value, ref(TIME.name))
    touched = Distinct(Project(changed, tuple(Computed(_touched(c), ref(c.name)) for c in keys))) if keys else None
    low, high = min(shown, after), max(shown, after)
    way = between(delta_scan(state), low, high)
    moved = _sums(way, keys, state, (lambda v: exp.Neg(this=v)) if shown > after else (lambda v: v), _number(after))
    parts = [changed, *(_restricted(part, keys, touched) for part in (_stored_sums(state, keys, sums, after), moved))]
    columns = (*keys, *sums, TIME)
    together = union_of([exactly(part, columns) for part in parts], columns)
    by = (*(Computed(c, ref(c.name)) for c in keys), Computed(TIME, ref(TIME.name)))
    net = Aggregate(together, by, tuple(Computed(c, exp.Sum(this=ref(c.name))) for c in sums))
    running = Window(net, tuple(_running(keys, sums, "now", CURRENT_ROW) + _running(keys, sums, "old", _BEFORE)))
    rows = [_rows(state, kinds, running, when, weight, after) for when, weight in (("now", 1), ("old", -1))]
    return union_of(rows, rows[0].columns)


_BEFORE = Bound(exp.Literal.number(1), "PRECEDING")


def _sums(delta: Node, keys: Sequence[Column], state: Groups, signed: Callable[[Expr], Expr], time: Expr) -> Node:
    """Rows of the delta as changes of sums at a time."""
    own = [Computed(c, ref(c.name)) for c in keys]
    own += [Computed(p.column, signed(ref(p.column.name))) for p in state.partials]
    return Project(delta, (*own, Computed(COUNT, signed(ref(WEIGHT.name))), Computed(TIME, time)))


def _stored_sums(state: Groups, keys: Sequence[Column], sums: Sequence[Column], after: int) -> Node:
    columns = (*keys, *sums)
    scan = Scan(STORED, columns, tuple(state.label(column.name) for column in columns))
    return Project(scan, (*(Computed(c, ref(c.name)) for c in columns), Computed(TIME, _number(after))))


def _restricted(part: Node, keys: Sequence[Column], touched: Node | None) -> Node:
    """The rows of the groups that change."""
    if touched is None:
        return part
    same = conjunction([exp.NullSafeEQ(this=ref(c.name), expression=ref(_touched(c).name)) for c in keys])
    return exactly(Join(INNER, part, touched, same, small="right"), part.columns)


def _touched(column: Column) -> Column:
    return Column(f"{column.name}_touched", column.label, column.type)


def _running(keys: Sequence[Column], sums: Sequence[Column], when: str, end: Bound) -> list[WindowFunction]:
    by, order = tuple(ref(c.name) for c in keys), (Ordering(ref(TIME.name)),)
    frame = Frame("ROWS", FROM_START, end)
    return [WindowFunction(_at(c, when), exp.Sum(this=ref(c.name)), by, order, frame) for c in sums]


def _at(column: Column, when: str) -> Column:
    return Column(f"{column.name}_{when}", column.label, column.type)


def _rows(state: Groups, kinds: Mapping[str, str], running: Node, when: str, weight: int, after: int) -> Node:
    """The stored rows that groups have at each position, or had before it."""
    tests: list[Expr] = [exp.GT(this=ref(TIME.name), expression=exp.Literal.number(after))]
    if state.root.keys:
        tests.append(exp.GT(this=ref(_at(COUNT, when).name), expression=exp.Literal.number(0)))
    there = Filter(running, conjunction(tests) or exp.true())
    own = [Computed(item.column, ref(item.column.name)) for item in state.root.keys]
    own += [Computed(c, _value(state, kinds, c, known, when)) for c, known in _known(state)]
    time = Computed(TIME, ref(TIME.name))
    rows = state.stored(Project(there, (*own, time)), (Computed(WEIGHT, _number(weight)), time))
    computed = {item.column.name for item in state.computed}
    typed = [
        Computed(c, _cast(state, kinds, c, ref(c.name)) if c.name in computed else ref(c.name)) for c in rows.columns
    ]
    return Project(rows, tuple(typed))


def _known(state: Groups) -> list[tuple[Column, str | None]]:
    """The sums, each with the count that says whether there is one."""
    return [*((partial.column, partial.known) for partial in state.partials), (COUNT, None)]


def _value(state: Groups, kinds: Mapping[str, str], column: Column, known: str | None, when: str) -> Expr:
    """A sum in its stored type; NULL if it is the sum of no values."""
    value = _cast(state, kinds, column, ref(_at(column, when).name))
    if known is None:
        return value
    some = exp.GT(this=ref(f"{known}_{when}"), expression=exp.Literal.number(0))
    return exp.Case(ifs=[exp.If(this=some, true=value)])


def _cast(state: Groups, kinds: Mapping[str, str], column: Column, value: Expr) -> Expr:
    return exp.Cast(this=value, to=exp.DataType.build(kinds[state.label(column.name)], dialect="spark"))


def _number(value: int) -> Expr:
    return exp.Cast(this=exp.Literal.number(value), to=WEIGHT.type.copy())
