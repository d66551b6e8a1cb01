"""The Δ-script of a refresh: named SELECTs in order, and what is done with the rows of the last one.

    changes of the base tables → deltas, operator by operator → the rows to write

``explain`` prints the steps that ``refresh`` runs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from rollview.delta.analysis.inexact import is_exact, of_a_bag, only_at_top, touched_rows
from rollview.delta.derivation import Derivation, Keys, Step
from rollview.delta.partials import ADD, COUNT, GREATEST, LEAST, RECOMPUTE, ROWS, Partial, combined
from rollview.delta.passes import PASSES, Pass, improved
from rollview.delta.rewrites import prepared
from rollview.delta.rules import RULES
from rollview.delta.rules.aggregate import touched_groups
from rollview.delta.rules.semi_anti import turning
from rollview.delta.rules.top_rows import First, first_delta
from rollview.delta.weights import consolidated, one_by_one
from rollview.plan.expressions import Expr, conjunction, ref, replace_columns
from rollview.plan.nodes import (
    LEFT,
    SEMI,
    Aggregate,
    Column,
    Computed,
    Filter,
    Join,
    Node,
    Ordering,
    Project,
    Scan,
    Window,
    WindowFunction,
    exactly,
    show,
    show_plans,
)
from rollview.plan.reserved import DELETED, STATE, WEIGHT
from rollview.plan.traits import grows_with
from rollview.stack import deep
from rollview.state.state import BAG, GROUPS, KEYED, State

APPEND, ROW_DELTA, AGGREGATE_MERGE = "append", "row_delta", "aggregate_merge"
GROUP_RECOMPUTE, PARTITION_RECOMPUTE = "group_recompute", "partition_recompute"

#: The version of a scan that reads the rows which the view has stored.
STATE_VERSION = "stored"


@dataclass(frozen=True)
class Script:
    """``steps`` are computed in order; ``rows`` are then appended, or merged into the state on its key.

    In a merge, ``combine`` gives new values of matched rows as SQL over ``t`` (stored) and ``s`` (given); a column that
    is not among them takes the given value. A matched row goes where ``gone`` or the given ``__delete`` is true.
    ``copies`` is the column that says how many equal rows come; of the stored ones, as many go as it is below zero.
    """

    strategy: str
    steps: tuple[Step, ...]
    rows: Node
    append: bool = False
    copies: str | None = None
    combine: Mapping[str, Expr] = field(default_factory=dict)
    gone: Expr | None = None


def show_script(script: Script) -> list[str]:
    """The steps in order, each with its plan, and what is done with the rows of the last one."""
    return _shown(script, show_plans(_plans(script)))


def show_with_plan(plan: Node, script: Script) -> tuple[list[str], list[str]]:
    """A view's plan and its script; what they have in common is written out once."""
    view, *plans = show_plans([plan, *_plans(script)])
    return view, _shown(script, plans)


def _plans(script: Script) -> list[Node]:
    return [*(step.plan for step in script.steps), script.rows]


def _shown(script: Script, plans: Sequence[Sequence[str]]) -> list[str]:
    lines = []
    for step, plan in zip(script.steps, plans, strict=False):
        lines += [f"{step.name}: {step.what}", *(f"  {line}" for line in plan)]
    how = "appended to the state" if script.append else "merged into the state on its key"
    if script.copies is not None:
        how = f"added to the state, or taken from it where {script.copies} is negative"
    lines += [f"rows: {how}", *(f"  {line}" for line in plans[-1])]
    lines += [f"  {column} = {show(value)}" for column, value in script.combine.items()]
    return lines if script.gone is None else [*lines, f"  gone where {show(script.gone)}"]


@deep
def refresh_script(
    state: State, changed: Collection[str], growing: Collection[str] = (), passes: Sequence[Pass] = PASSES
) -> Script | None:
    """How a state follows changes of some tables; ``growing`` of them only got rows. None if it need not change."""
    deriving = Derivation(RULES, changed, state.added, state.kinds, state.partitions)
    inexact = _is_inexact(state)
    if state.first is None:
        state = replace(state, root=prepared(state.root, deriving, below=state.kind == GROUPS))
    followed = state.root.inputs[0] if state.kind == GROUPS else state.root
    grows = set(changed) <= set(growing) and only_grows(followed, deriving)
    if state.kind == GROUPS:
        assert isinstance(state.root, Aggregate)
        script = _groups(state, state.root, deriving, grows)
    else:
        if state.first is not None:
            delta = _of_first(state, state.first, deriving)
        else:
            delta = touched_rows(state.root, deriving) if inexact else deriving.delta(state.root)
        if delta is not None and grows and _takes_back(state.root, deriving):
            delta = consolidated(delta)
        script = None if delta is None else _rows(state, delta, deriving, grows, inexact)
    if script is None:
        return None
    *steps, last = improved([*script.steps, Step("rows", script.rows, "")], passes)
    return replace(script, steps=tuple(steps), rows=last.plan)


def has_one_value_each(state: State) -> bool:
    """Whether every inexact value that the state is made of is computed once, or read from where it is stored."""
    if state.kind == GROUPS:
        return is_exact(state.root.inputs[0], state.kinds)
    if state.kind == KEYED and state.first is None:
        return only_at_top(state.root, state.kinds)
    return is_exact(state.root, of_a_bag(state.kinds) if state.kind == BAG else state.kinds)


def _is_inexact(state: State) -> bool:
    """Whether rows with a key hold values that are not the same when computed again."""
    return state.kind == KEYED and not is_exact(state.root, state.kinds)


def _of_first(state: State, first: First, deriving: Derivation) -> Node | None:
    """The change of the first rows of something, from those that are stored."""
    number: Expr = ref(COUNT.name) if state.kind == BAG else exp.Cast(this=exp.Literal.number(1), to=COUNT.type.copy())
    own = tuple(Computed(column, ref(column.name)) for column in first.columns)
    stored = Project(_stored_rows(state), (*own, Computed(WEIGHT, number)))
    first = replace(first, input=prepared(first.input, deriving))
    return first_delta(first, stored, deriving)


def _stored_rows(state: State) -> Scan:
    return Scan(STATE, state.plan.columns, state.columns, version=STATE_VERSION)


def _rows(state: State, delta: Node, deriving: Derivation, grows: bool, inexact: bool) -> Script:
    columns = state.plan.columns
    if state.kind == KEYED and grows:
        rows = _labelled(delta, columns, ())
        return Script(APPEND, tuple(deriving.steps), rows, append=True)
    strategy = PARTITION_RECOMPUTE if isinstance(_below_projects(state.root), Window) else ROW_DELTA
    if state.kind == BAG:
        return _bag(state, delta, deriving, strategy, grows)
    net = delta if inexact else consolidated(delta)
    return Script(strategy, tuple(deriving.steps), _latest(net, state))


def _bag(state: State, delta: Node, deriving: Derivation, strategy: str, grows: bool) -> Script:
    """Rows that come are added; those that go are taken from the stored ones, which the store looks for."""
    columns = [c for c in state.plan.columns if c.name != COUNT.name]
    number = (Computed(COUNT, ref(WEIGHT.name)),)
    if grows:
        return Script(APPEND, tuple(deriving.steps), _labelled(delta, columns, number), append=True)
    net = _labelled(consolidated(delta), columns, number)
    return Script(strategy, tuple(deriving.steps), net, copies=state.label(COUNT.name))


def _latest(net: Node, state: State) -> Node:
    """For each key the row that it has now, or that it has none."""
    keys = tuple(ref(c.name) for c in state.plan.columns if c.label in state.on)
    order = (Ordering(ref(WEIGHT.name), descending=True, nulls_first=False),)
    number = Column("__rank", "__rank")
    ranked = Window(net, (WindowFunction(number, exp.RowNumber(), keys, order),))
    first = Filter(ranked, exp.EQ(this=ref(number.name), expression=exp.Literal.number(1)))
    gone = Computed(DELETED, exp.LT(this=ref(WEIGHT.name), expression=exp.Literal.number(0)))
    return _labelled(first, state.plan.columns, (gone,))


def _labelled(plan: Node, columns: Sequence[Column], more: Sequence[Computed]) -> Node:
    return Project(plan, (*(Computed(c, ref(c.name)) for c in columns), *more))


def _below_projects(node: Node) -> Node:
    return _below_projects(node.inputs[0]) if isinstance(node, Project | Filter) else node


def _groups(state: State, root: Aggregate, deriving: Derivation, grows: bool) -> Script | None:
    ways = {partial.combine for partial in state.partials}
    if ways <= {ADD} or (grows and RECOMPUTE not in ways):
        below = deriving.delta(root.input)
        return None if below is None else _merged(state, root, below, deriving)
    keys = touched_groups(root, deriving)
    return None if keys is None else _recomputed(state, root, keys, deriving)


def _merged(state: State, root: Aggregate, below: Node, deriving: Derivation) -> Script:
    """What to add to the groups that are there, and groups that are new.

    Rows are summed one by one, n of them for a weight of n: a product with the weight could lose digits.
    """
    unit = one_by_one(exactly(below, (*root.input.columns, WEIGHT)))
    values = []
    for partial in state.partials:
        assert partial.change is not None
        values.append(Computed(partial.column, partial.change))
    assert ROWS.change is not None
    rows = Computed(COUNT, ROWS.change)
    total: Node = Aggregate(unit, root.keys, (*values, rows))
    if not root.keys:  # nothing to add is not a row of NULLs
        total = Filter(total, exp.Not(this=exp.Is(this=ref(COUNT.name), expression=exp.null())))
    together = {COUNT.name: _sum(state.label(COUNT.name))}
    together |= {p.column.name: _combined(p, state.label(p.column.name)) for p in state.partials}
    given = {key.column.name: _of("s", state.label(key.column.name)) for key in root.keys}
    combine = {state.label(name): value for name, value in together.items()}
    for partial in state.partials:
        if partial.known is not None:  # the sum of no values is NULL, not zero
            some = exp.GT(this=together[partial.known].copy(), expression=exp.Literal.number(0))
            value = together[partial.column.name].copy()
            combine[state.label(partial.column.name)] = exp.Case(ifs=[exp.If(this=some, true=value)])
    combine |= {item.column.label: replace_columns(item.value, together | given) for item in state.computed}
    gone = exp.EQ(this=exp.Paren(this=together[COUNT.name]), expression=exp.Literal.number(0)) if root.keys else None
    return Script(AGGREGATE_MERGE, tuple(deriving.steps), _stored(total, state), combine=combine, gone=gone)


def _stored(plan: Node, state: State, more: Sequence[Computed] = ()) -> Node:
    """The stored columns of groups: what is there, the constant key of the one group, and what follows from them."""
    made = {item.column.name: item.value for item in state.computed}
    output = []
    for column in state.plan.columns:
        value = made.get(column.name) or (ref(column.name) if column.name in plan.names else exp.Literal.number(1))
        output.append(Computed(column, value))
    return Project(plan, (*output, *more))


def _recomputed(state: State, root: Aggregate, keys: Keys, deriving: Derivation) -> Script:
    """The touched groups as they are now, and those that are no more."""
    values = tuple(Computed(p.column, p.value) for p in state.partials)
    rows = Computed(COUNT, exp.Count(this=exp.Star()))
    now: Node = Aggregate(keys.restrict(deriving.new(root.input)), root.keys, (*values, rows))
    if not root.keys:
        return Script(GROUP_RECOMPUTE, tuple(deriving.steps), _stored(now, state))
    pairs = [(item.column, name) for item, (_, name) in zip(root.keys, keys.pairs, strict=True)]
    tests = [exp.NullSafeEQ(this=ref(column.name), expression=ref(name)) for column, name in pairs]
    both = Join(LEFT, keys.plan, now, conjunction(tests))
    touched = [Computed(column, ref(name)) for column, name in pairs]
    kept = [Computed(c, ref(c.name)) for c in now.columns if c.name not in {column.name for column, _ in pairs}]
    gone = Computed(DELETED, exp.Is(this=ref(COUNT.name), expression=exp.null()))
    return Script(GROUP_RECOMPUTE, tuple(deriving.steps), _stored(Project(both, (*touched, *kept)), state, (gone,)))


def _sum(column: str) -> Expr:
    """The stored and the given value together; a value that is not known counts nothing."""
    stored, given = _of("t", column), _of("s", column)
    return combined(stored, given, exp.Add(this=stored, expression=given))


def _combined(partial: Partial, name: str) -> Expr:
    """Two stored values of a group as one."""
    if partial.combine == ADD:
        return _sum(name)
    kind: type[exp.Func] = {LEAST: exp.Least, GREATEST: exp.Greatest}[partial.combine]
    stored, given = _of("t", name), _of("s", name)
    return combined(stored, given, kind(this=stored, expressions=[given]))


def _of(alias: str, column: str) -> Expr:
    return exp.Column(this=exp.to_identifier(column, quoted=True), table=exp.to_identifier(alias))


def _takes_back(plan: Node, deriving: Derivation) -> bool:
    """Whether the delta of a plan that only grows adds rows and takes them away again: the general rule of a semi join
    has the rows that a changed one meets after, and before."""
    semi = (node for node in plan.walk() if isinstance(node, Join) and node.kind == SEMI)
    return any(deriving.touches(node.right) and turning(node) is None for node in semi)


def only_grows(plan: Node, deriving: Derivation) -> bool:
    """Whether more rows in the changed tables can only mean more rows in the result."""
    grows: dict[Node, bool] = {}
    for node in plan.walk():
        sides = zip(node.inputs, grows_with(node), strict=True)
        grows[node] = all((with_it and grows[side]) or not deriving.touches(side) for side, with_it in sides)
    return grows[plan]
