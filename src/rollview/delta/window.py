"""Window functions: the touched partitions, or what comes after the first touched position of each.

    K     = touched partitions
    Δ(ω R) = ω(Rⁿᵉʷ ⋉ K) − ω(Rᵒˡᵈ ⋉ K)

A function that looks only backward has its old values up to the first touched position p of its partition. What comes
after p is computed from the rows there, and from what the rows before p amount to; those are the same before and after:

    C      = the rows before p, as one row of counts and sums; or the last n of them, for frames of n rows and for lag
    Δ(ω R) = ω(C, Rⁿᵉʷ from p on) − ω(C, Rᵒˡᵈ from p on)

The position is the first ORDER BY term. Functions of both kinds in one window, and others, take the whole partition.
Where a helper stores the counts and sums of whole partitions, the rows before p are not read at all:

    C      = the partition before the change − Rᵒˡᵈ from p on
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from rollview.delta.deriving import OLD, Deriving, Keys
from rollview.delta.partials import combined, exact
from rollview.delta.recomputed import recomputed, touched_keys
from rollview.delta.touched import all_touched
from rollview.delta.weights import consolidated, together, weighted
from rollview.plan.expressions import Expr, conjunction, ref
from rollview.plan.nodes import (
    INNER,
    LEFT,
    UNKNOWN,
    Aggregate,
    Column,
    Computed,
    Filter,
    Join,
    Limit,
    Node,
    Ordering,
    Project,
    Scan,
    UnionAll,
    Window,
    exactly,
)

_POSITION, _NULLS = Column("__position", "__position"), Column("__nulls", "__nulls")
_LATER = Column("__later", "__later", exp.DataType.build("boolean"))
_RANK = Column("__back", "__back")


def window(node: Window, deriving: Deriving) -> Node | None:
    by = partitions(node)
    if len(by) > 1:  # one partitioning after the other
        chained: Node = node.input
        for group in by:
            chained = Window(chained, group)
        return deriving.delta(chained)
    backward = _backward(node, deriving)
    if backward is not None:
        return _from_first_touched(node, backward, deriving)
    keys = touched_keys(node.input, partition_of(node), deriving)
    return None if keys is None else recomputed(node, [keys], deriving, "partitions")


def partition_of(node: Window) -> list[Expr]:
    return list(node.functions[0].value.args.get("partition_by") or ())


def partitions(node: Window) -> list[tuple[Computed, ...]]:
    """The functions, together where they have the same PARTITION BY."""
    groups: dict[tuple[Expr, ...], list[Computed]] = {}
    for item in node.functions:
        groups.setdefault(tuple(item.value.args.get("partition_by") or ()), []).append(item)
    return [tuple(group) for group in groups.values()]


@dataclass(frozen=True)
class _Carried:
    """What the rows before amount to, and a function's value from that and from its value over the rows after."""

    before: Expr
    combined: Callable[[Expr, Expr], Expr]


@dataclass(frozen=True)
class _Backward:
    """``carried`` by the functions' columns; or else ``rows``, the number of rows before that are looked at."""

    by: tuple[str, ...]
    order: tuple[exp.Ordered, ...]
    carried: dict[str, _Carried]
    rows: int


def _backward(node: Window, deriving: Deriving) -> _Backward | None:
    """How the functions look backward; None if one of them does not, or not in the way of the others."""
    placed = _placed(node)
    if placed is None:
        return None
    by, terms = placed
    carried = {item.column.name: _carried(item, deriving.kinds.get(item.column.name)) for item in node.functions}
    if all(value is not None for value in carried.values()):
        return _Backward(by, terms, {name: value for name, value in carried.items() if value is not None}, 0)
    counts = [_rows_before(item.value) for item in node.functions]
    if all(count is not None for count in counts):
        return _Backward(by, terms, {}, max(count for count in counts if count is not None))
    return None


def _placed(node: Window) -> tuple[tuple[str, ...], tuple[exp.Ordered, ...]] | None:
    """The columns of the partition and the order, if it is one for all functions and begins with a column."""
    orders = {item.value.args.get("order") for item in node.functions}
    order = orders.pop()
    if orders or order is None:
        return None
    columns = [*partition_of(node), order.expressions[0].this]
    if not all(isinstance(column, exp.Column) for column in columns):
        return None
    return tuple(column.name for column in columns[:-1]), tuple(order.expressions)


def _carried(item: Computed, kind: str | None) -> _Carried | None:
    spec, function = item.value.args.get("spec"), item.value.this
    if kind is None or (spec is not None and not _from_the_start(spec)):
        return None

    def typed(value: Expr) -> Expr:
        return exp.Cast(this=value, to=exp.DataType.build(kind, dialect="spark"))

    def added(a: Expr, b: Expr) -> Expr:
        return typed(combined(a, b, exp.Add(this=a.copy(), expression=b.copy())))

    if isinstance(function, exp.RowNumber | exp.Rank) and not function.expressions:
        return _Carried(exp.Count(this=exp.Star()), added)
    if function.expressions or isinstance(function.this, exp.Distinct):
        return None
    if isinstance(function, exp.Count):
        return _Carried(function.copy(), added)
    if isinstance(function, exp.Sum) and exact(kind):
        return _Carried(function.copy(), added)
    if isinstance(function, exp.Min | exp.Max):
        pick = exp.Least if isinstance(function, exp.Min) else exp.Greatest
        return _Carried(function.copy(), lambda a, b: combined(a, b, pick(this=a.copy(), expressions=[b.copy()])))
    return None


def _from_the_start(spec: Expr) -> bool:
    first = spec.args.get("start") == "UNBOUNDED" and spec.args.get("start_side") == "PRECEDING"
    return first and spec.args.get("end") == "CURRENT ROW" and not spec.args.get("exclude")


def _rows_before(window: Expr) -> int | None:
    """How many rows before its own a function looks at; None if that is not known, or if it looks at later ones."""
    spec, function = window.args.get("spec"), window.this
    if isinstance(function, exp.Lag):
        offset = function.args.get("offset")
        return 1 if offset is None else int(offset.this) if isinstance(offset, exp.Literal) else None
    if spec is None or spec.args.get("kind") != "ROWS" or spec.args.get("start_side") != "PRECEDING":
        return None
    start, ends = (
        spec.args.get("start"),
        spec.args.get("end") == "CURRENT ROW" or spec.args.get("end_side") == "PRECEDING",
    )
    known = isinstance(start, exp.Literal) and not start.is_string and isinstance(function, exp.AggFunc)
    return int(start.this) if known and ends else None


def _from_first_touched(node: Window, backward: _Backward, deriving: Deriving) -> Node | None:
    first, by = backward.order[0], backward.by
    changed = all_touched(node.input, [*dict.fromkeys([*by, first.this.name])], deriving)
    if changed is None:
        return None
    start = deriving.step("first", _first_touched(changed, first, by), "the first touched position of each partition")
    place = _Place(first, by, start, deriving)
    new, old = (place.rows(version(node.input), later=True) for version in (deriving.new, deriving.old))
    before = place.rows(deriving.new(node.input), later=False)
    totals = deriving.totals.get(totals_name(node))
    if backward.carried:
        step = _before(backward, before) if totals is None else _subtracted(node, backward, totals, old, place)
        after, gone = _with_carried(node, backward, [new, old], step, deriving)
    else:
        after, gone = _with_last(node, backward, [new, old], before, deriving)
    difference = together([weighted(after, 1), weighted(gone, -1)], node.columns)
    assert difference is not None
    return deriving.step("partitions", consolidated(difference), f"change of {node.title} {node.details}")


def _first_touched(changed: Node, first: exp.Ordered, by: Sequence[str]) -> Node:
    """For each touched partition its first touched position, and whether a NULL is among the touched."""
    position = ref(first.this.name)
    least = (exp.Max if first.args.get("desc") else exp.Min)(this=position)
    is_null = exp.Is(this=position.copy(), expression=exp.null())
    nulls = exp.Max(
        this=exp.Case(ifs=[exp.If(this=is_null, true=exp.Literal.number(1))], default=exp.Literal.number(0))
    )
    keys = tuple(Computed(Column(f"{name}_p", ""), ref(name)) for name in by)
    return Aggregate(changed, keys, (Computed(_POSITION, least), Computed(_NULLS, nulls)))


@dataclass(frozen=True)
class _Place:
    """The first touched positions, and which rows lie before and after them."""

    first: exp.Ordered
    by: tuple[str, ...]
    start: Node
    deriving: Deriving

    def rows(self, plan: Node, *, later: bool) -> Node:
        """The rows of touched partitions from the first touched position on, or those before it."""
        names = [f"{name}_p" for name in self.by]
        near = self.near(plan, self.by)
        same = [exp.NullSafeEQ(this=ref(name), expression=ref(key)) for name, key in zip(self.by, names, strict=True)]
        where = conjunction([*same, self._after() if later else self._before()])
        return exactly(Join(INNER, near, self.start, where), plan.columns)

    def near(self, plan: Node, by: Sequence[str]) -> Node:
        """The rows of touched partitions; ``by`` are the columns that say of which a row is."""
        if not by:
            return plan
        keys = self.deriving.keys(self.start, [ref(f"{name}_p") for name in self.by])
        pairs = tuple((ref(name), key) for name, (_, key) in zip(by, keys.pairs, strict=True))
        return Keys(keys.plan, pairs).restrict(plan)

    def _parts(self) -> tuple[Expr, Expr, Expr, Expr, bool]:
        value, position = ref(self.first.this.name), ref(_POSITION.name)
        descending = bool(self.first.args.get("desc"))
        after = (exp.LTE if descending else exp.GTE)(this=value, expression=position)
        before = (exp.GT if descending else exp.LT)(this=value.copy(), expression=position.copy())
        null = exp.Is(this=value.copy(), expression=exp.null())
        touched_null = exp.EQ(this=ref(_NULLS.name), expression=exp.Literal.number(1))
        return after, before, null, touched_null, bool(self.first.args.get("nulls_first"))

    def _after(self) -> Expr:
        after, _, null, touched_null, nulls_first = self._parts()
        return exp.Or(this=after, expression=touched_null if nulls_first else null)

    def _before(self) -> Expr:
        _, before, null, touched_null, nulls_first = self._parts()
        if nulls_first:
            return exp.And(
                this=exp.Not(this=touched_null), expression=exp.Paren(this=exp.Or(this=before, expression=null))
            )
        only_nulls = exp.Is(this=ref(_POSITION.name), expression=exp.null())
        known = exp.Not(this=null)
        return exp.Or(this=before, expression=exp.Paren(this=exp.And(this=only_nulls, expression=known)))


def totals_of(node: Window) -> list[tuple[str, Aggregate]]:
    """Counts and sums of whole partitions from which those of their first rows follow, for each set of functions with
    one partitioning that can be had so; and the name by which the rule finds them."""
    found = []
    for functions in partitions(node):
        group = Window(node.input, functions)
        values = [_counted(item) for item in functions]
        if _placed(group) is not None and all(values):
            by = partition_of(group)
            keys = tuple(Computed(Column(f"{value.name}_t", "", value.type or UNKNOWN), value) for value in by)
            sums = tuple(total for value in values for total in value)
            found.append((totals_name(group), Aggregate(node.input, keys, sums)))
    return found


def totals_name(node: Window) -> str:
    return " ".join(item.column.name for item in node.functions)


def _counted(item: Computed) -> tuple[Computed, ...]:
    """What of the whole partition is stored for a function: a count; or a sum, and of how many values. Nothing if the
    function's value over the first rows cannot be told from that."""
    spec, function, name = item.value.args.get("spec"), item.value.this, item.column.name
    if (
        (spec is not None and not _from_the_start(spec))
        or function.expressions
        or isinstance(function.this, exp.Distinct)
    ):
        return ()
    if isinstance(function, exp.RowNumber | exp.Rank):
        return (Computed(Column(f"{name}_t", ""), exp.Count(this=exp.Star())),)
    if isinstance(function, exp.Count):
        return (Computed(Column(f"{name}_t", ""), function.copy()),)
    if isinstance(function, exp.Sum):
        count = exp.Count(this=function.this.copy())
        return Computed(Column(f"{name}_t", ""), function.copy()), Computed(Column(f"{name}_m", ""), count)
    return ()


def _before(backward: _Backward, before: Node) -> Node:
    """What the rows before amount to, from these rows."""
    keys = tuple(Computed(Column(f"{name}_c", ""), ref(name)) for name in backward.by)
    sums = tuple(Computed(Column(f"{name}_c", ""), c.before) for name, c in backward.carried.items())
    return Aggregate(before, keys, sums)


def _subtracted(node: Window, backward: _Backward, totals: Scan, later: Node, place: _Place) -> Node:
    """What the rows before amount to, from the whole partitions and the rows that come later."""
    whole = place.near(replace(totals, version=OLD), [f"{name}_t" for name in backward.by])
    keys = tuple(Computed(Column(f"{name}_l", ""), ref(name)) for name in backward.by)
    sums = [total for item in node.functions for total in _counted(item)]
    renamed = tuple(Computed(Column(f"{s.column.name}_l", ""), s.value.copy()) for s in sums)
    same = [exp.NullSafeEQ(this=ref(f"{name}_t"), expression=ref(f"{name}_l")) for name in backward.by]
    both = Join(LEFT, whole, Aggregate(later, keys, renamed), conjunction(same) or exp.true())

    def rest(name: str) -> Expr:
        after = exp.Coalesce(this=ref(f"{name}_l"), expressions=[exp.Literal.number(0)])
        return exp.Sub(this=ref(name), expression=after)

    output = [Computed(Column(f"{name}_c", ""), ref(f"{name}_t")) for name in backward.by]
    for name in backward.carried:
        value = rest(f"{name}_t")
        if f"{name}_m" in whole.names:
            some = exp.GT(this=exp.Paren(this=rest(f"{name}_m")), expression=exp.Literal.number(0))
            value = exp.Case(ifs=[exp.If(this=some, true=value)])
        output.append(Computed(Column(f"{name}_c", ""), value))
    return Project(both, tuple(output))


def _with_carried(
    node: Window, backward: _Backward, versions: Sequence[Node], before: Node, deriving: Deriving
) -> list[Node]:
    """The functions over the rows from there on, together with what the rows before amount to."""
    step = deriving.step("before", before, "what the rows before that amount to")
    same = [exp.NullSafeEQ(this=ref(name), expression=ref(f"{name}_c")) for name in backward.by]
    found: list[Node] = []
    for rows in versions:
        joined = Join(LEFT, node.with_inputs([rows]), step, conjunction(same) or exp.true())
        values = {name: c.combined(ref(f"{name}_c"), ref(name)) for name, c in backward.carried.items()}
        found.append(Project(joined, tuple(Computed(c, values.get(c.name, ref(c.name))) for c in node.columns)))
    return found


def _with_last(
    node: Window, backward: _Backward, versions: Sequence[Node], before: Node, deriving: Deriving
) -> list[Node]:
    """The functions over the rows from there on and the last rows before them."""
    turned = [_turned(term) for term in backward.order]
    if backward.by:
        order = exp.Order(expressions=turned)
        number = exp.Window(this=exp.RowNumber(), partition_by=[ref(name) for name in backward.by], order=order)
        most = exp.LTE(this=ref(_RANK.name), expression=exp.Literal.number(backward.rows))
        last: Node = Filter(Window(before, (Computed(_RANK, number),)), most)
    else:
        terms = tuple(
            Ordering(t.this.copy(), bool(t.args.get("desc")), bool(t.args.get("nulls_first"))) for t in turned
        )
        last = Limit(before, terms, backward.rows)
    step = deriving.step("before", exactly(last, before.columns), "the last rows before that")
    own = tuple(Computed(c, ref(c.name)) for c in node.input.columns)
    found: list[Node] = []
    for rows in versions:
        earlier, later = (
            Project(p, (*own, Computed(_LATER, flag))) for p, flag in ((step, exp.false()), (rows, exp.true()))
        )
        both = node.with_inputs([UnionAll(earlier, later, (*node.input.columns, _LATER))])
        found.append(exactly(Filter(both, ref(_LATER.name)), node.columns))
    return found


def _turned(term: exp.Ordered) -> exp.Ordered:
    """The term of the opposite order."""
    return exp.Ordered(
        this=term.this.copy(), desc=not term.args.get("desc"), nulls_first=not term.args.get("nulls_first")
    )
