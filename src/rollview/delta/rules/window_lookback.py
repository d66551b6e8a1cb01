"""Window functions that depend only on earlier rows: recompute each partition from its first affected position on.

Let p be the first affected position of a partition. Rows before p keep their values. Values from p on depend on the
rows from p on, and on the rows before p, which the change did not affect:

    C      = counts, sums, minima and maxima over the rows before p
    F      = the first row before p, for first_value
    L      = the last n rows before p, for lag and ROWS frames; the rows from p − n on, for RANGE frames
    Δ(ω R) = ω(C, F, L, Rⁿᵉʷ from p on) − ω(C, F, L, Rᵒˡᵈ from p on)

The position is the first ORDER BY term. Helpers store C, F and L of whole partitions. Those of the rows before p then
follow without reading these rows:

    C      = C of the partition − C of Rᵒˡᵈ from p on      for counts and sums
    C, L   = C, L of the partition                        if Rᵒˡᵈ has no rows from p on: rows were appended in order
    F      = F of the partition                           if it is before p
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from rollview.delta.affected_keys import all_affected
from rollview.delta.analysis.lookback import FIRSTS, LASTS, TOTALS, Lookback, Running, stored_name
from rollview.delta.derivation import OLD, Derivation
from rollview.delta.weights import consolidated, together, weighted
from rollview.plan.expressions import Expr, conjunction, ref, replace_columns
from rollview.plan.nodes import (
    ANTI,
    INNER,
    LEFT,
    Aggregate,
    Column,
    Computed,
    Filter,
    Join,
    Node,
    Project,
    UnionAll,
    Window,
    WindowFunction,
    exactly,
)

_POSITION, _NULLS = Column("__position", "__position"), Column("__nulls", "__nulls")

#: The lower bound of the RANGE frame at the position.
_FROM = Column("__from", "__from")

#: The part of its partition that a row belongs to: the first row, the last rows before the position, the rows within
#: the RANGE frame before it, or the rows from the position on.
_PART = Column("__part", "__part", exp.DataType.build("int"))
_FIRST, _LAST, _NEAR, _LATER = 0, 1, 2, 3

#: A constant, the same in all rows.
_ONE = Column("__one", "__one", exp.DataType.build("int"))

#: The number of old rows of a partition from the position on.
_MANY = Column("__many", "__many", exp.DataType.build("bigint"))


def lookback_delta(node: Window, lookback: Lookback, derivation: Derivation) -> Node | None:
    """The delta of a window, from the first affected position of each partition on."""
    changed = all_affected(node.input, [*dict.fromkeys([*lookback.by, lookback.place.value.name])], derivation)
    if changed is None:
        return None
    what = "first affected position of each partition"
    start = derivation.step("first", _first_affected(changed, lookback), what)
    before = _Before(node, lookback, start, derivation)
    earlier: list[tuple[int, Node]] = []
    if lookback.first:
        earlier.append(
            (_FIRST, derivation.step("start", before.firsts(), "first row of each partition, before that position"))
        )
    if lookback.rows:
        earlier.append((_LAST, derivation.step("last", before.lasts(), "last rows before that position")))
    if lookback.near:
        earlier.append((_NEAR, before.near()))
    carried = None
    if lookback.carried:
        carried = derivation.step("before", before.totals(), "aggregates over the rows before that position")
    after, before_change = (
        _computed(node, lookback, rows, earlier, carried)
        for rows in (before.later(derivation.new(node.input)), before.later(derivation.old(node.input)))
    )
    difference = together([weighted(after, 1), weighted(before_change, -1)], node.columns)
    assert difference is not None
    return derivation.step("partitions", consolidated(difference), f"delta of {node.title} {node.details}")


def _computed(
    node: Window, lookback: Lookback, rows: Node, earlier: Sequence[tuple[int, Node]], carried: Node | None
) -> Node:
    """The functions over the rows from the position on, combined with what is needed of the rows before."""
    own = tuple(Computed(c, ref(c.name)) for c in node.input.columns)
    kinds = [kind for kind, _ in earlier]
    if earlier:
        output = (*node.input.columns, _PART, *map(_seen, kinds))
        for part, few in ((_LATER, rows), *earlier):
            flags = (Computed(_seen(kind), exp.Literal.number(int(part in (kind, _LATER)))) for kind in kinds)
            side = Project(few, (*own, Computed(_PART, exp.Literal.number(part)), *flags))
            rows = side if part == _LATER else UnionAll(rows, side, output)
    functions = tuple(each for item in node.functions for each in _functions(item, lookback, kinds))
    found: Node = Window(rows, functions)
    if earlier:
        found = Filter(found, exp.EQ(this=ref(_PART.name), expression=exp.Literal.number(_LATER)))
    values = {name: each.result for name, each in lookback.carried.items()}
    if carried is not None:
        same = [exp.NullSafeEQ(this=ref(name), expression=ref(f"{name}_c")) for name in lookback.by]
        found = Join(LEFT, found, carried, conjunction(same) or exp.true())
        both = {part.name: part.both(ref(f"{part.name}_c"), ref(part.name)) for part in lookback.running}
        values = {name: replace_columns(value, both) for name, value in values.items()}
    return Project(found, tuple(Computed(c, values.get(c.name, ref(c.name))) for c in node.columns))


def _functions(item: WindowFunction, lookback: Lookback, kinds: Sequence[int]) -> list[WindowFunction]:
    """The window functions computed for one function. It sees only the earlier rows provided for its kind."""
    name = item.column.name
    if (carried := lookback.carried.get(name)) is not None:
        by = (*item.partition_by, *([ref(_PART.name)] if kinds else []))
        return [
            replace(item, column=Column(part.name, "", item.column.type), call=part.function, partition_by=by)
            for part in carried.parts
        ]
    kind = _FIRST if name in lookback.first else _NEAR if name in lookback.near else _LAST
    apart = [ref(_seen(kind).name)] if len(kinds) > 1 else []
    return [replace(item, partition_by=(*item.partition_by, *apart))]


def _seen(kind: int) -> Column:
    """The column that says whether functions of a kind see a row."""
    return Column(f"__seen{kind}", f"__seen{kind}", _PART.type)


def _first_affected(changed: Node, lookback: Lookback) -> Node:
    """For each affected partition, its first affected position, and whether an affected position is NULL."""
    position = ref(lookback.place.value.name)
    least = (exp.Max if lookback.place.descending else exp.Min)(this=position)
    is_null = exp.Is(this=position.copy(), expression=exp.null())
    nulls = exp.Max(
        this=exp.Case(ifs=[exp.If(this=is_null, true=exp.Literal.number(1))], default=exp.Literal.number(0))
    )
    keys = tuple(Computed(Column(f"{name}_p", ""), ref(name)) for name in lookback.by)
    start = Aggregate(changed, keys, (Computed(_POSITION, least), Computed(_NULLS, nulls)))
    if lookback.distance is None:
        return start
    back = exp.Add if lookback.place.descending else exp.Sub
    reach = back(this=ref(_POSITION.name), expression=lookback.distance.copy())
    return Project(start, (*(Computed(c, ref(c.name)) for c in start.columns), Computed(_FROM, reach)))


class _Before:
    """The rows before and after the first affected positions ``start``, and aggregates over them."""

    def __init__(self, node: Window, lookback: Lookback, start: Node, derivation: Derivation) -> None:
        self.node, self.lookback, self.start, self.derivation = node, lookback, start, derivation
        self._after: Node | None = None

    def later(self, plan: Node) -> Node:
        """The rows of affected partitions from the first affected position on."""
        return self._rows(plan, self._at_or_after())

    def earlier(self, plan: Node) -> Node:
        """The rows of affected partitions before the first affected position."""
        return self._rows(plan, self._strictly_before())

    def totals(self) -> Node:
        """The aggregates over the rows before the position, from those of whole partitions if a helper stores these."""
        running, by = self.lookback.running, self.lookback.by

        def added_up(rows: Node) -> Node:
            return self._grouped(rows, "_c", [Computed(Column(f"{r.name}_c", ""), r.before) for r in running])

        stored = self.derivation.partitions.get(stored_name(TOTALS, self.node))
        if stored is None:
            return added_up(self.earlier(self._now()))
        whole = self._of_affected(replace(stored, version=OLD), [f"{name}_t" for name in by])
        names = [Computed(Column(f"{name}_c", ""), ref(f"{name}_t")) for name in by]
        if all(r.subtracts for r in running):
            return Project(
                Join(LEFT, whole, self._late(), self._same("_t")),
                (*names, *(Computed(Column(f"{r.name}_c", ""), _subtracted(r)) for r in running)),
            )
        as_it_is = Project(
            Join(ANTI, whole, self._late(), self._same("_t")),
            (*names, *(Computed(Column(f"{r.name}_c", ""), ref(f"{r.name}_t")) for r in running)),
        )
        again = added_up(self._of_late(self.earlier(self._now())))
        return UnionAll(as_it_is, again, as_it_is.columns)

    def firsts(self) -> Node:
        """The first row of each partition, if it is before the position."""
        stored = self.derivation.partitions.get(stored_name(FIRSTS, self.node))
        if stored is not None:
            return self.earlier(replace(stored, version=OLD))
        return self.lookback.first_of(self.node.input).of(self.earlier(self._now()))

    def lasts(self) -> Node:
        """The last rows before the position: those of the partition if a helper stores them and no old row is later."""
        last = self.lookback.last_of(self.node.input)
        stored = self.derivation.partitions.get(stored_name(LASTS, self.node))
        if stored is None:
            return last.of(self.earlier(self._now()))
        whole = self._of_affected(replace(stored, version=OLD), self.lookback.by)
        as_they_are = exactly(Join(ANTI, whole, self._late(), self._same("")), self.node.input.columns)
        again = exactly(last.of(self._of_late(self.earlier(self._now()))), self.node.input.columns)
        return UnionAll(as_they_are, again, self.node.input.columns)

    def near(self) -> Node:
        """The rows before the position that are within its RANGE frame."""
        place = self.lookback.place
        test = exp.LTE if place.descending else exp.GTE
        reach = test(this=ref(place.value.name), expression=ref(_FROM.name))
        return self._rows(self._now(), exp.And(this=exp.Paren(this=self._strictly_before()), expression=reach))

    def _now(self) -> Node:
        return self.derivation.new(self.node.input)

    def _late(self) -> Node:
        """The aggregates over the old rows from the position on, for partitions that had such rows."""
        if self._after is None:
            rows = self.later(self.derivation.old(self.node.input))
            values = [s for r in self.lookback.running if r.subtracts for s in r.stored]
            sums = [Computed(Column(f"{s.column.name}_l", ""), s.value.copy()) for s in values]
            late = self._grouped(rows, "_l", [*sums, Computed(_MANY, exp.Count(this=exp.Star()))])
            self._after = self.derivation.step("late", late, "old aggregates over the rows from that position on")
        return self._after

    def _grouped(self, rows: Node, suffix: str, values: Sequence[Computed]) -> Node:
        """Aggregates of each partition; no row if there are no rows, even without PARTITION BY."""
        if not self.lookback.by:
            own = tuple(Computed(column, ref(column.name)) for column in rows.columns)
            rows = Project(rows, (*own, Computed(_ONE, exp.Literal.number(1))))
        names = self.lookback.by or (_ONE.name,)
        found = Aggregate(rows, tuple(Computed(Column(f"{n}{suffix}", ""), ref(n)) for n in names), tuple(values))
        return found if self.lookback.by else exactly(found, found.columns[1:])

    def _of_late(self, rows: Node) -> Node:
        return self.derivation.keys_in(self._late(), [f"{n}_l" for n in self.lookback.by], self.lookback.by).restrict(
            rows
        )

    def _same(self, suffix: str) -> Expr:
        same = [exp.NullSafeEQ(this=ref(f"{n}{suffix}"), expression=ref(f"{n}_l")) for n in self.lookback.by]
        return conjunction(same) or exp.true()

    def _of_affected(self, plan: Node, by: Sequence[str]) -> Node:
        """The rows of affected partitions; ``by`` are the columns that identify the partition."""
        return (
            self.derivation.keys_in(self.start, [f"{n}_p" for n in self.lookback.by], by).restrict(plan) if by else plan
        )

    def _rows(self, plan: Node, where: Expr) -> Node:
        by = self.lookback.by
        same = [exp.NullSafeEQ(this=ref(name), expression=ref(f"{name}_p")) for name in by]
        return exactly(Join(INNER, self._of_affected(plan, by), self.start, conjunction([*same, where])), plan.columns)

    def _parts(self) -> tuple[Expr, Expr, Expr, Expr, bool]:
        place = self.lookback.place
        value, position = ref(place.value.name), ref(_POSITION.name)
        descending = place.descending
        after = (exp.LTE if descending else exp.GTE)(this=value, expression=position)
        before = (exp.GT if descending else exp.LT)(this=value.copy(), expression=position.copy())
        null = exp.Is(this=value.copy(), expression=exp.null())
        affected_null = exp.EQ(this=ref(_NULLS.name), expression=exp.Literal.number(1))
        return after, before, null, affected_null, place.nulls_first

    def _at_or_after(self) -> Expr:
        after, _, null, affected_null, nulls_first = self._parts()
        return exp.Or(this=after, expression=affected_null if nulls_first else null)

    def _strictly_before(self) -> Expr:
        _, before, null, affected_null, nulls_first = self._parts()
        if nulls_first:
            return exp.And(
                this=exp.Not(this=affected_null), expression=exp.Paren(this=exp.Or(this=before, expression=null))
            )
        only_nulls = exp.Is(this=ref(_POSITION.name), expression=exp.null())
        known = exp.Not(this=null)
        return exp.Or(this=before, expression=exp.Paren(this=exp.And(this=only_nulls, expression=known)))


def _subtracted(running: Running) -> Expr:
    def rest(name: str) -> Expr:
        after = exp.Coalesce(this=ref(f"{name}_l"), expressions=[exp.Literal.number(0)])
        return exp.Sub(this=ref(name), expression=after)

    value = rest(f"{running.name}_t")
    if running.known is None:
        return value
    some = exp.GT(this=exp.Paren(this=rest(f"{running.name}_m")), expression=exp.Literal.number(0))
    return exp.Case(ifs=[exp.If(this=some, true=value)])
