"""What is stored of a view, and how its readers see it.

| kind | one row for each | told apart by | shown as |
|---|---|---|---|
| keyed | row of the query | its key, hidden columns included | the visible columns |
| bag | distinct row of the query | all its columns | itself, as often as the hidden ``__n`` says |
| groups | group of the root's aggregate | the group columns | what HAVING, expressions and LIMIT make of it |

A group also stores what a change can be added to: the number of its rows, sums and counts. See ``partials``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from rollview.compile.partials import ADD, RECOMPUTE, Partial, Partials, exact
from rollview.compile.printing import print_plan
from rollview.compile.view import CompiledView
from rollview.delta.deriving import CHANGE
from rollview.delta.weights import WEIGHT
from rollview.plan.expressions import ref
from rollview.plan.nodes import Aggregate, Column, Computed, Filter, Generate, Limit, Node, Project, Scan

KEYED, BAG, GROUPS = "keyed", "bag", "groups"

#: The name by which the SQL that shows a view reads the state.
STATE = "__state"

#: The hidden number of copies of a bag's row, or of rows of a group.
COUNT = Column("__n", "__n", exp.DataType.build("bigint"))

#: Types of a plan's columns, as the engine finds them.
Types = Callable[[Node], Sequence[str]]


@dataclass(frozen=True)
class State:
    """``plan`` gives the stored rows; the labels of its columns are their names in the state table. ``on`` are the
    stored columns that tell rows apart. ``show`` reads the state as the view's rows, ``feed`` the state's changes as
    the view's; both are SQL over ``__state``. Without a feed, the view's changes are found by comparing."""

    kind: str
    plan: Node
    on: tuple[str, ...]
    show: str
    feed: str | None
    root: Node
    partials: tuple[Partial, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(column.label for column in self.plan.columns)


def state_of(compiled: CompiledView, types: Types, dialect: str = "spark") -> State:
    """The state of a view."""
    finish, root = _split(compiled.plan)
    if isinstance(root, Aggregate) and root.sets is None:
        return _groups(compiled.plan, finish, root, types, dialect)
    keyed = compiled.keyed
    labels = [column.label for column in compiled.plan.columns]
    visible = [column for column in keyed.plan.columns if column.name not in keyed.hidden]
    if keyed.key:
        stored = _stored(keyed.plan.columns, [c.name for c in visible])
        plan = _relabelled(keyed.plan, stored)
        shown = _scan(plan, "")
        picked = Project(shown, tuple(Computed(c, ref(c.name)) for c in visible))
        on = tuple(stored[name] for name in keyed.key)
        return State(KEYED, plan, on, _text(picked, labels, dialect), _feed(picked, labels, dialect), keyed.plan)
    stored = _stored(compiled.plan.columns, [c.name for c in visible])
    columns = tuple(Computed(c, ref(c.name)) for c in compiled.plan.columns)
    counted = Aggregate(compiled.plan, columns, (Computed(COUNT, exp.Count(this=exp.Star())),))
    plan = _relabelled(counted, {**stored, COUNT.name: COUNT.label})
    copy = Column("__copy", "__copy")
    series = exp.GenerateSeries(start=exp.Literal.number(1), end=ref(COUNT.name))
    repeated = Project(Generate(_scan(plan, ""), exp.Explode(this=series), (copy,)), columns)
    times = Computed(WEIGHT, exp.Mul(this=ref(WEIGHT.name), expression=ref(COUNT.name)))
    feed = print_plan(Project(_scan(plan, CHANGE), (*columns, times)), dialect, [*labels, WEIGHT.label], _relation)
    on = tuple(stored[c.name] for c in compiled.plan.columns)
    return State(BAG, plan, on, _text(repeated, labels, dialect), feed, compiled.plan)


def _split(plan: Node) -> tuple[list[Node], Node]:
    """What is above the root's aggregate and can be done when the view is read; the root."""
    above: list[Node] = []
    node = plan
    while isinstance(node, Project | Filter | Limit):
        above.append(node)
        node = node.inputs[0]
    return (above, node) if isinstance(node, Aggregate) else ([], plan)


def _groups(plan: Node, finish: list[Node], root: Aggregate, types: Types, dialect: str) -> State:
    partials = Partials()
    kinds = types(root)[len(root.keys) :]
    finished = [partials.finished(item, COUNT.name, kind) for item, kind in zip(root.aggregates, kinds, strict=True)]
    lone = Column("__one", "__one", exp.DataType.build("int"))
    keys = root.keys or ()
    stored = _stored([k.column for k in keys], [k.column.name for k in keys])
    values = tuple(Computed(p.column, p.value) for p in partials.found)
    rows = Computed(COUNT, exp.Count(this=exp.Star()))
    whole: Node = Aggregate(root.input, keys, (*values, rows))
    if not keys:  # the one group has a key, too, so that it can be merged on
        passed = tuple(Computed(c, ref(c.name)) for c in whole.columns)
        whole = Project(whole, (Computed(lone, exp.Literal.number(1)), *passed))
    names = stored | {p.column.name: p.column.label for p in partials.found} | {COUNT.name: COUNT.label}
    state_plan = _relabelled(whole, names | {lone.name: lone.label})
    found = dict(zip([c.name for c in state_plan.columns], types(state_plan), strict=True))
    settled = tuple(_settled(p, found[p.column.name], root) for p in partials.found)
    on = tuple(stored[k.column.name] for k in keys) or (lone.label,)
    pairs = zip(root.aggregates, finished, strict=True)
    output = (
        *(Computed(k.column, ref(k.column.name)) for k in keys),
        *(Computed(a.column, value) for a, value in pairs),
    )

    def above(scan: Scan, weight: bool) -> Node:
        extra = (Computed(WEIGHT, ref(WEIGHT.name)),) if weight else ()
        node: Node = Project(scan, (*output, *extra))
        for each in reversed(finish):
            node = each.with_inputs([node])
            if isinstance(node, Project):
                node = replace(node, output=(*node.output, *extra))
        return node

    labels = [column.label for column in plan.columns]
    show = _text(above(_scan(state_plan, ""), False), labels, dialect)
    limited = any(isinstance(node, Limit) for node in finish)
    feed = None
    if not limited:
        feed = print_plan(above(_scan(state_plan, CHANGE), True), dialect, [*labels, WEIGHT.label], _relation)
    return State(GROUPS, state_plan, on, show, feed, root, settled)


def _settled(partial: Partial, kind: str, root: Aggregate) -> Partial:
    """A sum is added to only if its type allows it."""
    if partial.combine != ADD or not isinstance(partial.value, exp.Sum):
        return partial
    mean = any(isinstance(i.value, exp.Avg) and i.value.this == partial.value.this for i in root.aggregates)
    return partial if exact(kind, mean=mean) else replace(partial, change=None, combine=RECOMPUTE)


def _stored(columns: Sequence[Column], visible: Sequence[str]) -> dict[str, str]:
    """Names for the columns in the state table: their own where a table can have them, and hidden ones."""
    taken: set[str] = set()
    found: dict[str, str] = {}
    for index, column in enumerate(columns):
        label = column.label
        usable = column.name in visible and re.fullmatch(r"\w+", label) and not label.startswith("_")
        if not usable or label.casefold() in taken:
            label = f"__c{index}"
        taken.add(label.casefold())
        found[column.name] = label
    return found


def _relabelled(plan: Node, labels: dict[str, str]) -> Node:
    pairs = [(column, labels[column.name]) for column in plan.columns]
    return Project(plan, tuple(Computed(Column(c.name, label, c.type), ref(c.name)) for c, label in pairs))


def _scan(plan: Node, version: str) -> Scan:
    """The state, or its changes, as a relation."""
    weight = (WEIGHT,) if version == CHANGE else ()
    output = (*plan.columns, *weight)
    return Scan(STATE, output, tuple(column.label for column in output), version=version)


def _relation(scan: Scan) -> str:
    return STATE


def _text(plan: Node, labels: Sequence[str], dialect: str) -> str:
    return print_plan(plan, dialect, labels, _relation)


def _feed(plan: Project, labels: Sequence[str], dialect: str) -> str:
    scan = plan.input
    assert isinstance(scan, Scan)
    changes = replace(scan, output=(*scan.output, WEIGHT), sources=(*scan.sources, WEIGHT.label), version=CHANGE)
    weighted = Project(changes, (*plan.output, Computed(WEIGHT, ref(WEIGHT.name))))
    return print_plan(weighted, dialect, [*labels, WEIGHT.label], _relation)
