"""What rows of a view's delta mean for the rows that readers see: ± stored rows, each with the position of its change.

| state | stored rows that are inserted and deleted at ``__t`` |
|---|---|
| rows, by a key or as a bag | those of the delta |
| groups | at each position that the delta has for a group, the group as it was before and as it is then |

A group comes from the stored sums where the interval begins, and the running totals of the delta. The state's own query
over changes turns these into visible rows, so hidden columns and HAVING are taken care of.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from rollview.delta.partials import COUNT
from rollview.delta.weights import negated
from rollview.plan.expressions import Expr, conjunction, ref
from rollview.plan.nodes import (
    CURRENT_ROW,
    FROM_START,
    INNER,
    Aggregate,
    Column,
    Computed,
    Filter,
    Frame,
    Join,
    Node,
    Ordering,
    Project,
    Window,
    WindowFunction,
    exactly,
    union_of,
)
from rollview.plan.reserved import TIME, WEIGHT
from rollview.roll.rows import between, columns_of, delta_scan
from rollview.state.groups import Groups
from rollview.state.state import State
from rollview.state.written import GONE, matched

#: The position at which a group changes next; the first one at which it does.
_NEXT, _FIRST = Column("__next", "__next", TIME.type), Column("__first", "__first", TIME.type)


def stored_changes(state: State, stored: Node, after: int, upto: int, *, timed: bool) -> Node:
    """The inserted and deleted stored rows, with ``__w`` and ``__t``, by the delta after one position, up to another
    one. ``stored`` are the rows at the first one. If they are not to be ``timed``, all have the time ``upto``."""
    rows = between(delta_scan(state), after, upto)
    if not timed:
        own = tuple(Computed(c, ref(c.name)) for c in rows.columns if c.name != TIME.name)
        rows = Project(rows, (*own, Computed(TIME, _number(upto))))
    if isinstance(state, Groups):
        return _of_groups(state, stored, rows)
    one = {COUNT.name: Computed(COUNT, _number(1))}  # the weight says how many copies are inserted or deleted
    own = tuple(one.get(c.name) or Computed(c, ref(c.name)) for c in (*state.plan.columns, WEIGHT, TIME))
    return Project(rows, own)


def back(changes: Node) -> Node:
    """The changes that lead back."""
    return exactly(negated(changes), changes.columns)


def _of_groups(state: Groups, stored: Node, rows: Node) -> Node:
    keys = [item.column for item in state.root.keys]
    totals = _running(state, rows, keys)
    write = state.added(totals, (TIME, _NEXT))
    there = Filter(matched(stored, write), exp.Not(this=ref(GONE.name)))
    columns = (*state.plan.columns, WEIGHT, TIME)
    come = _signed(there, state.plan.columns, 1, TIME)
    replaced = Filter(there, exp.Not(this=exp.Is(this=ref(_NEXT.name), expression=exp.null())))
    gone = _signed(replaced, state.plan.columns, -1, _NEXT)
    old = _signed(_met_first(stored, rows, keys), state.plan.columns, -1, _FIRST)
    return union_of([come, gone, old], columns)


def _running(state: Groups, rows: Node, keys: Sequence[Column]) -> Node:
    """For each group and position what has been added to its sums and counts by then, and when it changes next."""
    own = tuple(Computed(column, ref(column.name)) for column in keys)
    taken = {column.name for column in keys}
    sums = [column for column in columns_of(state) if column.name not in taken]
    total = [Computed(column, exp.Sum(this=ref(column.name))) for column in (*sums, WEIGHT)]
    at_each = Aggregate(rows, (*own, Computed(TIME, ref(TIME.name))), tuple(total))
    by, order = tuple(ref(column.name) for column in keys), (Ordering(ref(TIME.name)),)
    so_far = Frame("ROWS", FROM_START, CURRENT_ROW)
    named = [(Column(f"__r_{column.name}", column.label, column.type), column) for column in (*sums, WEIGHT)]
    functions = [WindowFunction(new, exp.Sum(this=ref(old.name)), by, order, so_far) for new, old in named]
    following = exp.Lead(this=ref(TIME.name))
    ran = Window(at_each, (*functions, WindowFunction(_NEXT, following, by, order)))
    output = [Computed(COUNT if old is WEIGHT else old, ref(new.name)) for new, old in named]
    return Project(ran, (*own, *output, *(Computed(column, ref(column.name)) for column in (TIME, _NEXT))))


def _met_first(stored: Node, rows: Node, keys: Sequence[Column]) -> Node:
    """The stored groups that change, with the position at which they do so first."""
    own = tuple(Computed(Column(f"__f_{c.name}", c.label, c.type), ref(c.name)) for c in keys)
    first: Node = Aggregate(rows, own, (Computed(_FIRST, exp.Min(this=ref(TIME.name))),))
    if not keys:  # of no rows there is no first one
        first = Filter(first, exp.Not(this=exp.Is(this=ref(_FIRST.name), expression=exp.null())))
    pairs = zip(keys, own, strict=True)
    tests: list[Expr] = [exp.NullSafeEQ(this=ref(c.name), expression=ref(f.column.name)) for c, f in pairs]
    return Join(INNER, stored, first, conjunction(tests) or exp.true())


def _signed(rows: Node, columns: Sequence[Column], weight: int, time: Column) -> Node:
    own = tuple(Computed(column, ref(column.name)) for column in columns)
    return Project(rows, (*own, Computed(WEIGHT, _number(weight)), Computed(TIME, ref(time.name))))


def _number(value: int) -> Expr:
    number: Expr = exp.Literal.number(abs(value))
    if value < 0:
        number = exp.Neg(this=number)
    return exp.Cast(this=number, to=WEIGHT.type.copy())
