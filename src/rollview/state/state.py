"""What is stored of a view, and how its readers see it.

| kind | one row for each | told apart by | shown as |
|---|---|---|---|
| keyed | row of the query | its key, hidden columns included | the visible columns |
| bag | row of the query, or some equal ones | nothing | itself, as often as the hidden ``__n`` says |
| groups | group of the root's aggregate | the group columns | its visible columns, if HAVING lets it |

Of a bag, several stored rows may be equal: rows that come are added without a look at what is there.

A group also stores what a change can be added to: the number of its rows, sums and counts. See ``partials``. What the
query computes from them is stored, too: readers need not compute, whatever their session's settings are. Only ORDER BY
… LIMIT above groups is left to the readers, because any group may come to be among the first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property

from sqlglot import exp

from rollview.codegen.printer import print_plan
from rollview.delta.analysis.inexact import mean_in
from rollview.delta.analysis.lookback import sum_of
from rollview.delta.derivation import CHANGE, names_of
from rollview.delta.partials import ADD, COUNT, RECOMPUTE, ROWS, Added, Partial, Partials, exact
from rollview.delta.rules.top_rows import First, first_rows
from rollview.frontend.query import CompiledView
from rollview.plan.expressions import Expr, conjunction, grouped, ref, replace_columns
from rollview.plan.nodes import Aggregate, Column, Computed, Filter, Generate, Limit, Node, Project, Scan, Window
from rollview.plan.reserved import STATE, WEIGHT

KEYED, BAG, GROUPS = "keyed", "bag", "groups"

#: The key of a group that has none, and whether HAVING holds for a group.
ONE = Column("__one", "__one", exp.DataType.build("int"))
SHOWN = Column("__shown", "__shown", exp.DataType.build("boolean"))

#: Types of a plan's columns, as the engine finds them.
Types = Callable[[Node], Sequence[str]]


@dataclass(frozen=True)
class State:
    """``plan`` gives the stored rows; the labels of its columns are their names in the state table. ``on`` are the
    stored columns that tell rows apart. ``show`` reads the state as the view's rows, ``feed`` the state's changes as
    the view's; both are SQL over ``__state``. Without a feed, the view's changes are found by comparing.

    ``picked`` are the stored names of the visible columns, if the view's rows are just the stored ones.

    ``root`` is what a refresh follows: the query's plan, or the aggregate of which groups are stored; of groups,
    ``computed`` are the stored columns that follow from the others. ``added`` are the aggregates below it that can be
    added up, ``kinds`` the types of what aggregates and window functions make below it, ``partitions`` what helpers
    store of windows. ``first`` says of which rows the stored ones are the first.
    """

    kind: str
    plan: Node
    on: tuple[str, ...]
    show: str
    feed: str | None
    root: Node
    partials: tuple[Partial, ...] = ()
    computed: tuple[Computed, ...] = ()
    added: Mapping[str, Added] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    picked: tuple[str, ...] | None = None
    partitions: Mapping[str, Scan] = field(default_factory=dict)
    first: First | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(column.label for column in self.plan.columns)

    def label(self, name: str) -> str:
        """The stored name of a column of the plan."""
        return self._labels[name]

    @cached_property
    def _labels(self) -> dict[str, str]:
        return {column.name: column.label for column in self.plan.columns}


def state_of(compiled: CompiledView, types: Types, labels: Sequence[str], dialect: str = "spark") -> State:
    """The state of a view whose visible columns have these names."""
    finish = _split(compiled.plan)
    followed = compiled.keyed.plan if finish is None else finish.root.input
    added, kinds = added_up(followed, types)
    kinds |= window_types(followed, types)
    made = _groups(compiled.plan, finish, types, labels, dialect) if finish else _of_rows(compiled, labels, dialect)
    return replace(made, added=added, kinds=kinds, partitions=compiled.partitions)


def window_types(plan: Node, types: Types) -> dict[str, str]:
    """The types of the columns that window functions make."""
    found: dict[str, str] = {}
    for node in plan.walk():
        if isinstance(node, Window):
            found |= _of_window(node, types)
    return found


def _of_window(node: Window, types: Types) -> dict[str, str]:
    names = [item.column.name for item in node.functions]
    found = dict(zip(names, types(node)[-len(names) :], strict=True))
    means = [item for item in node.functions if isinstance(item.call, exp.Avg)]
    others = ((exp.Sum, sum_of), (exp.Max, mean_in))  # the sum of which a running mean is made, and a value of those
    more = tuple(
        replace(item, column=Column(named(item.column.name), ""), call=function(this=item.call.this.copy()))
        for item in means
        for function, named in others
    )
    if more:
        kinds = types(Window(node.input, more))[-len(more) :]
        found |= dict(zip([item.column.name for item in more], kinds, strict=True))
    return found


def added_up(plan: Node, types: Types) -> tuple[dict[str, Added], dict[str, str]]:
    """The aggregates of a plan that can be added up, by ``names_of``, and the types of what all of them make, and of
    what their means are of."""
    added: dict[str, Added] = {}
    kinds: dict[str, str] = {}
    for node in plan.walk():
        if isinstance(node, Aggregate) and node.sets is None:
            own, found = _of_aggregate(node, types)
            kinds |= own
            if found is not None:
                added[names_of(node)] = found
    return added, kinds


def _of_aggregate(node: Aggregate, types: Types) -> tuple[dict[str, str], Added | None]:
    """The types of an aggregate's results, and of what its means are of; and how its groups follow from sums and
    counts, None if they do not."""
    names = [item.column.name for item in node.aggregates]
    kinds = dict(zip(names, types(node)[len(node.keys) :], strict=True)) if names else {}
    partials = Partials()
    pairs = ((item, kinds[item.column.name]) for item in node.aggregates)
    results = {item.column.name: partials.finished(item, COUNT.name, kind) for item, kind in pairs}
    values = [Computed(p.column, p.value) for p in partials.found]
    means = [(mean_in(item.column.name), mean) for item in node.aggregates if (mean := item.value.find(exp.Avg))]
    values += [Computed(Column(name, ""), exp.Max(this=mean.this.copy())) for name, mean in means]
    stored = types(Aggregate(node.input, (), tuple(values))) if values else ()
    found = dict(zip([item.column.name for item in values], stored, strict=True))
    averaged = _averaged(node)
    settled = [_settled(p, found[p.column.name], averaged) for p in partials.found]
    kinds |= {name: found[name] for name, _ in means}
    if any(partial.combine != ADD for partial in settled):
        return kinds, None
    return kinds, Added(tuple(settled), ROWS, results)


def made_types(node: Node, types: Types) -> dict[str, str]:
    """The types of what one aggregate or window operator makes, and of what its means are of."""
    if isinstance(node, Window):
        return _of_window(node, types)
    return _of_aggregate(node, types)[0] if isinstance(node, Aggregate) else {}


def _of_rows(compiled: CompiledView, labels: Sequence[str], dialect: str) -> State:
    """The rows themselves, by their key or as a bag. Of the first rows of something, what their order is by, too."""
    keyed = compiled.keyed
    root, key = (compiled.plan, ()) if keyed.key is None else (keyed.plan, keyed.key)
    if keyed.key == ():  # one row at most has a key, too, so that it can be merged on
        root = Project(root, (*(Computed(c, ref(c.name)) for c in root.columns), Computed(ONE, exp.Literal.number(1))))
        key = (ONE.name,)
    visible = [column for column in keyed.plan.columns if column.name not in keyed.hidden]
    first = first_rows(root)
    plan = root if first is None else first.of(first.input)
    stored = _stored(plan.columns, [c.name for c in visible])
    shown_of = first if first is not None and first.limit else None  # of which there are more than are shown

    def shown(rows: Node, columns: Sequence[Column]) -> Project:
        if shown_of is not None:
            rows = Limit(rows, shown_of.order, shown_of.needed - shown_of.skipped, shown_of.skipped)
        return Project(rows, tuple(Computed(c, ref(c.name)) for c in columns))

    if key:
        plan = _relabelled(plan, stored)
        picked = shown(_scan(plan, ""), visible)
        on = tuple(stored[name] for name in key)
        feed = _feed(picked, labels, dialect) if shown_of is None else None
        names = tuple(stored[c.name] for c in visible) if shown_of is None else None
        return State(KEYED, plan, on, _text(picked, labels, dialect), feed, root, picked=names, first=first)
    columns = tuple(Computed(c, ref(c.name)) for c in plan.columns)
    on = tuple(stored[c.name] for c in plan.columns)
    counted = Aggregate(plan, columns, (Computed(COUNT, _all()),))
    plan = _relabelled(counted, {**stored, COUNT.name: COUNT.label})
    copy = Column("__copy", "__copy")
    series = exp.GenerateSeries(start=exp.Literal.number(1), end=ref(COUNT.name))
    repeated = shown(Generate(_scan(plan, ""), exp.Explode(this=series), (copy,)), visible)
    feed = None
    if shown_of is None:
        times = Computed(WEIGHT, exp.Mul(this=ref(WEIGHT.name), expression=ref(COUNT.name)))
        seen = (*(Computed(c, ref(c.name)) for c in visible), times)
        feed = print_plan(Project(_scan(plan, CHANGE), seen), dialect, [*labels, WEIGHT.label], _relation)
    return State(BAG, plan, on, _text(repeated, labels, dialect), feed, root, first=first)


@dataclass(frozen=True)
class _Finish:
    """What a query does with the groups of its aggregate: its columns, HAVING, and ORDER BY … LIMIT."""

    root: Aggregate
    values: dict[str, Expr]
    having: Expr | None
    limit: Limit | None


def _split(plan: Node) -> _Finish | None:
    """The query as something done with groups; None if it is not that."""
    above: list[Node] = []
    node = plan
    while isinstance(node, Project | Filter | Limit):
        above.append(node)
        node = node.inputs[0]
    if not isinstance(node, Aggregate) or node.sets is not None:
        return None
    values: dict[str, Expr] = {column.name: ref(column.name) for column in node.columns}
    having: list[Expr] = []
    limit: Limit | None = None
    for each in reversed(above):
        if isinstance(each, Project):
            values = {i.column.name: replace_columns(i.value, values) for i in each.output}
        elif limit is not None:
            return None  # what is done with the first rows cannot be done with groups
        elif isinstance(each, Filter):
            having.append(replace_columns(each.condition, values))
        elif isinstance(each, Limit):
            order = tuple(replace(term, value=replace_columns(term.value, values)) for term in each.order)
            limit = replace(each, order=order)
    return _Finish(node, values, conjunction(having), limit)


def _groups(plan: Node, finish: _Finish, types: Types, names: Sequence[str], dialect: str) -> State:
    root, partials = finish.root, Partials()
    kinds = types(root)[len(root.keys) :]
    pairs = zip(root.aggregates, kinds, strict=True)
    results = {item.column.name: partials.finished(item, COUNT.name, kind) for item, kind in pairs}
    results |= {key.column.name: ref(key.column.name) for key in root.keys}
    wanted = {column.name: replace_columns(finish.values[column.name], results) for column in plan.columns}
    stored = (*root.keys, *(Computed(p.column, p.value) for p in partials.found))
    whole: Node = Aggregate(root.input, root.keys, (*stored[len(root.keys) :], Computed(COUNT, _all())))
    if not root.keys:  # the one group has a key, too, so that it can be merged on
        passed = (Computed(c, ref(c.name)) for c in whole.columns)
        whole = Project(whole, (Computed(ONE, exp.Literal.number(1)), *passed))
    computed = _computed(plan, wanted, finish, results, whole.names)
    labels = _labels(plan, wanted, whole)
    passed_on = tuple(Computed(Column(c.name, labels[c.name], c.type), ref(c.name)) for c in whole.columns)
    state_plan = Project(whole, (*passed_on, *computed))
    found = dict(zip([c.name for c in state_plan.columns], types(state_plan), strict=True))
    averaged = _averaged(root)
    settled = tuple(_settled(p, found[p.column.name], averaged) for p in partials.found)
    on = tuple(labels[key.column.name] for key in root.keys) or (ONE.label,)
    seen = {
        name: ref(value.name) if isinstance(value, exp.Column) else ref(f"__v_{name}") for name, value in wanted.items()
    }

    values = _order(finish, results)
    order = (
        [replace(t, value=value) for t, value in zip(finish.limit.order, values, strict=True)] if finish.limit else []
    )

    def shown(version: str) -> Node:
        node: Node = _scan(state_plan, version)
        if finish.having is not None:
            node = Filter(node, ref(SHOWN.name))
        if finish.limit is not None:
            node = replace(finish.limit, input=node, order=tuple(order))
        weight = (Computed(WEIGHT, ref(WEIGHT.name)),) if version == CHANGE else ()
        return Project(node, (*(Computed(c, seen[c.name]) for c in plan.columns), *weight))

    feed = None if finish.limit is not None else print_plan(shown(CHANGE), dialect, [*names, WEIGHT.label], _relation)
    show = print_plan(shown(""), dialect, names, _relation)
    picked = None
    if finish.having is None and finish.limit is None:
        stored_as = {column.name: column.label for column in state_plan.columns}
        picked = tuple(stored_as[seen[column.name].name] for column in plan.columns)
    return State(GROUPS, state_plan, on, show, feed, root, settled, computed, picked=picked)


def _computed(
    plan: Node, wanted: dict[str, Expr], finish: _Finish, results: dict[str, Expr], have: frozenset[str]
) -> tuple[Computed, ...]:
    """The columns that follow from a group's stored values: visible ones, whether HAVING holds, the order."""
    made: list[Computed] = []
    taken = {name.casefold() for name in have}
    for column in plan.columns:
        value = wanted[column.name]
        if not isinstance(value, exp.Column):
            label = _usable(column.label, taken) or f"__v{len(made)}"
            taken.add(label.casefold())
            made.append(Computed(Column(f"__v_{column.name}", label, column.type), value))
    if finish.having is not None:
        held = exp.Coalesce(this=grouped(replace_columns(finish.having, results)), expressions=[exp.false()])
        made.append(Computed(SHOWN, held))
    if finish.limit is not None:
        for term, value in zip(finish.limit.order, _order(finish, results), strict=True):
            if value.name not in have:
                made.append(Computed(Column(value.name, value.name), replace_columns(term.value, results)))
    return tuple(made)


def _order(finish: _Finish, results: dict[str, Expr]) -> list[Expr]:
    """The stored columns by which the first groups are found: a column that is there anyway, or one made for it."""
    found = [replace_columns(term.value, results) for term in (finish.limit.order if finish.limit else ())]
    return [value if isinstance(value, exp.Column) else ref(f"__o{i}") for i, value in enumerate(found)]


def _labels(plan: Node, wanted: dict[str, Expr], whole: Node) -> dict[str, str]:
    """Stored names of a group's columns: that of the visible column which shows one as it is, or a hidden name."""
    visible: dict[str, str] = {}
    taken: set[str] = set()
    for column in plan.columns:
        value = wanted[column.name]
        label = _usable(column.label, taken)
        if isinstance(value, exp.Column) and value.name not in visible and label is not None:
            visible[value.name] = label
        taken.add(column.label.casefold())
    return {c.name: visible.get(c.name) or _hidden(c, i) for i, c in enumerate(whole.columns)}


def _hidden(column: Column, place: int) -> str:
    return column.name if column.name.startswith("__") else f"__g{place}"


def _usable(label: str, taken: Collection[str]) -> str | None:
    """The label, if it can be a column of a table and does not look like one of ours."""
    fits = re.fullmatch(r"\w+", label) and not label.startswith("_") and label.casefold() not in taken
    return label if fits else None


def _all() -> Expr:
    return exp.Count(this=exp.Star())


def _averaged(node: Aggregate) -> set[Expr]:
    """The values of which an aggregate operator computes the mean."""
    return {item.value.this for item in node.aggregates if isinstance(item.value, exp.Avg)}


def _settled(partial: Partial, kind: str, averaged: Set[Expr]) -> Partial:
    """A sum is added to only if its type allows it."""
    if partial.combine != ADD or not isinstance(partial.value, exp.Sum):
        return partial
    mean = partial.value.this in averaged
    return partial if exact(kind, mean=mean) else replace(partial, change=None, combine=RECOMPUTE)


def _stored(columns: Sequence[Column], visible: Sequence[str]) -> dict[str, str]:
    """Names for the columns in the state table: their own where a table can have them, and hidden ones."""
    taken: set[str] = set()
    found: dict[str, str] = {}
    for index, column in enumerate(columns):
        own = _usable(column.label, taken) if column.name in visible else None
        label = own or f"__c{index}"
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
