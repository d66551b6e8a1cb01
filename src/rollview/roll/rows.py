"""The rows of a view's timed delta: what a forward query adds to them, and the change of the state that they mean.

| state | the delta has, beside ``__t`` |
|---|---|
| rows, by a key or as a bag | the stored columns and ``__w``, how many copies are added |
| groups | for each group, what is added to its sums and counts (a summary delta); ``__w`` is the change of its rows |
"""

from __future__ import annotations

from sqlglot import exp

from rollview.delta.derivation import CHANGE, Step
from rollview.delta.partials import ADD, COUNT, ROWS
from rollview.delta.passes import improved
from rollview.delta.timed import Sights, Way, forward_delta, untimed
from rollview.delta.weights import consolidated, negated, one_by_one
from rollview.plan.expressions import Expr, conjunction, connected, ref
from rollview.plan.nodes import Aggregate, Column, Computed, Filter, Node, Project, Scan, exactly, show
from rollview.plan.reserved import TIME, WEIGHT
from rollview.state.bag import Bag
from rollview.state.groups import Groups
from rollview.state.keyed import Keyed
from rollview.state.state import State
from rollview.state.view_delta import GroupSums, SignedRows, ViewDelta

#: The relation that has the rows of a view's delta.
DELTA = "delta"
DELTA_ROWS = f"{DELTA} {CHANGE}"


def refusal(state: State) -> str | None:
    """Why a state has no timed delta; None if it has one."""
    if isinstance(state, Groups):
        fixed = [show(partial.value) for partial in state.partials if partial.combine != ADD]
        if fixed:
            return f"{', '.join(fixed)}: it cannot be added to and subtracted from"
        return why_untimed(state.root.input)
    if isinstance(state, Keyed | Bag):
        return why_untimed(state.followed.plan)
    return f"{_NO_RULE} LIMIT"


_NO_RULE = "there is no timed delta rule for"


def why_untimed(plan: Node) -> str | None:
    """Why a plan has no timed delta; None if it has one."""
    operator = untimed(plan)
    return None if operator is None else f"{_NO_RULE} {operator}"


def forwarded_rows(state: State, table: str, sights: Sights, way: Way) -> Node | None:
    """The rows that a forward query adds to the delta, under their stored names; None if the state does not read the
    table."""
    if isinstance(state, Groups):
        rows = _summed(state, table, sights, way)
    else:
        delta = forward_delta(state.followed.plan, table, sights, way)
        rows = None if delta is None else consolidated(delta)
    if rows is None:
        return None
    stored = [(Column(c.label, c.label, c.type), ref(c.name)) for c in (*columns_of(state), WEIGHT, TIME)]
    named = Project(rows, tuple(Computed(column, value) for column, value in stored))
    return improved([Step("rows", named, "")])[0].plan


def _summed(state: Groups, table: str, sights: Sights, way: Way) -> Node | None:
    """A row for each affected group and position. Rows are summed one by one, as in ``strategy/propagate``."""
    below = forward_delta(state.root.input, table, sights, way)
    if below is None:
        return None
    unit = one_by_one(below)
    values = []
    for partial in (*state.partials, ROWS):
        assert partial.change is not None
        values.append(Computed(partial.column, partial.change))
    total = Aggregate(unit, (*state.root.keys, Computed(TIME, ref(TIME.name))), tuple(values))
    some = connected(exp.Or, [_is_some(partial.column) for partial in (*state.partials, ROWS)])
    keys = [item.column for item in state.root.keys]
    passed = [Computed(c, ref(c.name)) for c in (*keys, *(p.column for p in state.partials))]
    return Project(Filter(total, some), (*passed, Computed(WEIGHT, ref(COUNT.name)), Computed(TIME, ref(TIME.name))))


def _is_some(column: Column) -> Expr:
    return exp.NEQ(this=ref(column.name), expression=exp.Literal.number(0))


def columns_of(state: State) -> tuple[Column, ...]:
    """The columns of the state that its delta has; their labels are the stored names."""
    if isinstance(state, Groups):
        own = [*(item.column for item in state.root.keys), *(partial.column for partial in state.partials)]
        return tuple(Column(column.name, state.label(column.name), column.type) for column in own)
    return tuple(column for column in state.plan.columns if column.name != COUNT.name)


def empty_delta(state: State) -> Node:
    """No rows, with the columns and types of a delta, over the stored rows ``state``."""
    columns = columns_of(state)
    scan = Scan("state", columns, tuple(column.label for column in columns))
    zero = exp.Cast(this=exp.Literal.number(0), to=WEIGHT.type.copy())
    own = tuple(Computed(column, ref(column.name)) for column in columns)
    return Project(Filter(scan, exp.false()), (*own, Computed(WEIGHT, zero), Computed(TIME, zero.copy())))


def delta_scan(state: State) -> Scan:
    """The rows of a delta as a relation."""
    output = (*columns_of(state), WEIGHT, TIME)
    return Scan(DELTA, output, tuple(column.label for column in output), version=CHANGE)


def between(delta: Node, after: int, upto: int) -> Node:
    """The rows of a delta with a time after one position, up to another one."""
    tests = [
        kind(this=ref(TIME.name), expression=exp.Literal.number(at)) for kind, at in ((exp.GT, after), (exp.LTE, upto))
    ]
    condition = conjunction(tests)
    assert condition is not None
    return Filter(delta, condition)


def change_of(state: State, delta: Node, *, back: bool) -> ViewDelta:
    """The change of the state that rows of a delta mean, whatever their times are; if it is to go ``back``, its
    inverse."""
    if isinstance(state, Groups):
        return GroupSums((), _added(state, delta, back=back))
    rows = exactly(delta, (*columns_of(state), WEIGHT))
    return SignedRows((), negated(rows) if back else rows)


def _added(state: Groups, delta: Node, *, back: bool) -> Node:
    """What is added to each group in all."""
    keys = tuple(Computed(item.column, ref(item.column.name)) for item in state.root.keys)
    added = [(partial.column, partial.column.name) for partial in state.partials] + [(COUNT, WEIGHT.name)]
    values = []
    for column, name in added:
        total: Expr = exp.Sum(this=ref(name))
        values.append(Computed(column, exp.Neg(this=total) if back else total))
    whole: Node = Aggregate(delta, keys, tuple(values))
    if keys:
        return whole
    return Filter(whole, exp.Not(this=exp.Is(this=ref(COUNT.name), expression=exp.null())))
