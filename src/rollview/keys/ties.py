"""Orders without ties: where the choice among equals would be chance, the key decides.

Before: ``limit 3 by amount`` over ``scan orders`` (key id); ``row_number() over (order by amount)``.
After: ``limit 3 by amount, id``; ``row_number() over (order by amount, id)``.
Not for rank and sums over frames by RANGE, to which ties mean something. A function that depends on the order of the
rows inside such a frame takes them by their numbers, which a window below gives them:

Before: ``last_value(x) over (order by day)``.
After: ``last(x ORDER BY n) over (order by day)`` over ``window row_number() over (order by day, id) AS n``.
A LIMIT of one row at most is none.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sqlglot import exp

from rollview.keys.choices import Choice, Deciding, deciding, said
from rollview.keys.elements import by_row, by_value, in_order, unwrapped
from rollview.keys.facts import facts_of
from rollview.plan.expressions import MEANT, Expr, ref
from rollview.plan.nodes import Column, Computed, Limit, Node, Ordering, Window, exactly

#: Window functions whose value depends on the place of a row among its ties, whatever their frame is.
_BY_PLACE = (exp.RowNumber, exp.Ntile, exp.Lag, exp.Lead)

#: Functions whose value depends on the order of the rows in their frame.
_BY_ORDER = (
    exp.FirstValue, exp.LastValue, exp.NthValue, exp.First, exp.Last, exp.AnyValue, exp.ArrayAgg, exp.GroupConcat,
)  # fmt: skip


def limit_without_ties(node: Limit, choices: list[Choice]) -> Node:
    """The first rows in an order that decides."""
    if facts_of(node.input).key == frozenset() and node.count != 0 and node.offset == 0:
        return node.input
    given = [term.value.name for term in node.order if isinstance(term.value, exp.Column)]
    row = deciding(node.input, given)
    what = node.clause
    if not row.columns:
        if node.order:
            return node
        if not row.any_order:
            choices.append(row.choice(what, "the first rows"))
        return replace(node, order=tuple(Ordering(term.this) for term in row.any_order))
    choices.append(row.choice(what, "ties" if node.order else "the first rows"))
    more = (Ordering(ref(column.name)) for column in row.columns)
    return exactly(replace(node, input=row.input, order=(*node.order, *more)), node.columns)


def window_without_ties(node: Window, choices: list[Choice]) -> Node:
    """The functions over orders that decide."""
    found = _Orders(node, choices)
    functions = tuple(replace(item, value=found.decided(item.value)) for item in node.functions)
    if functions == node.functions:
        return node
    below = Window(found.input, tuple(found.numbers)) if found.numbers else found.input
    return exactly(Window(below, functions), node.columns)


@dataclass
class _Orders:
    """The functions of a window while they are decided: their input, and the numbers of its rows that some need."""

    node: Window
    choices: list[Choice]
    numbers: list[Computed] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.input = self.node.input

    def decided(self, window: Expr) -> Expr:
        called, order = unwrapped(window.this), window.args.get("order")
        if any(isinstance(part, exp.Order) for part in called.iter_expressions()):
            return window  # it has an order of its own: that of another decision
        spec, by = window.args.get("spec"), window.args.get("partition_by") or ()
        terms = list(order.expressions) if order is not None else []
        names = [part.name for part in by if isinstance(part, exp.Column)]
        if not _counts_rows(spec):
            if not isinstance(called, (*_BY_PLACE, *_BY_ORDER)):
                return self._of_values(window, names)
            if isinstance(called, exp.ArrayAgg | exp.GroupConcat) and isinstance(called.this, exp.Distinct):
                return self._of_values(window, names)
        row = deciding(self.input, [*names, *(t.this.name for t in terms if isinstance(t.this, exp.Column))])
        if isinstance(called, _BY_PLACE) or _counts_rows(spec) or _is_first(window.this, spec):
            return self._of_values(self._extended(window, terms, row), names)
        if terms and not row.columns:
            return window
        if _is_whole(spec, terms):
            found = self._extended(window, terms, row).copy()
            found.set("spec", _whole_partition())
            return found
        return self._numbered(window, terms, row)

    def _of_values(self, window: Expr, names: list[str]) -> Expr:
        """With a function that leaves nothing open whatever the order of its frame is."""
        what = said(window, self.node.input)
        found = by_value(window.this)
        if found is not None:
            self.choices.append(Choice(what, found[1]))
        elif isinstance(unwrapped(window.this), exp.ArgMax | exp.ArgMin):
            row = deciding(self.input, names)
            value = by_row(window.this, row, facts_of(row.input).closure(names))
            if value is None:
                return window
            self.choices.append(row.choice(what, "ties"))
            self.input, found = row.input, (value, "")
        if found is None:
            return window
        changed = window.copy()
        changed.set("this", found[0])
        return changed

    def _extended(self, window: Expr, terms: list[Expr], row: Deciding) -> Expr:
        """Over the order with the columns that decide."""
        more = row.terms
        if more:
            self._tell(window, row, "ties" if terms else "rows")
        elif not terms:
            more = row.any_order
        if not more:
            return window
        changed = window.copy()
        changed.set("order", exp.Order(expressions=[*(term.copy() for term in terms), *more]))
        return changed

    def _numbered(self, window: Expr, terms: list[Expr], row: Deciding) -> Expr:
        """Over a frame with ties, the rows of which are taken by their numbers in the order that decides."""
        number = Column(f"{self.node.functions[0].column.name}_n{len(self.numbers)}", "", exp.DataType.build("int"))
        value = in_order(window.this, [exp.Ordered(this=ref(number.name), nulls_first=True)], window.args.get("spec"))
        if value is None:
            return window
        self._tell(window, row, "ties")
        order = exp.Order(expressions=[*(term.copy() for term in terms), *row.terms])
        by = [part.copy() for part in window.args.get("partition_by") or ()]
        function = exp.Window(this=exp.RowNumber(), partition_by=by, order=order)
        known = next((item for item in self.numbers if item.value == function), None)
        if known is None:
            self.numbers.append(Computed(number, function))
        elif known.column != number:
            value = in_order(
                window.this, [exp.Ordered(this=ref(known.column.name), nulls_first=True)], window.args.get("spec")
            )
        changed = window.copy()
        changed.set("this", value)
        return changed

    def _tell(self, window: Expr, row: Deciding, kind: str) -> None:
        what = said(window, self.node.input)
        if (limit := window.meta.get(MEANT)) is not None:
            each = ", ".join(said(part, self.node.input) for part in window.args["partition_by"])
            what, kind = f"{limit} for each {each}", "the first rows" if kind == "rows" else kind
        self.choices.append(row.choice(what, kind))
        self.input = row.input


def _counts_rows(spec: Expr | None) -> bool:
    """Whether a frame has other rows if ties come in another order."""
    return spec is not None and spec.args.get("kind") == "ROWS" and not _unbounded(spec)


def _unbounded(spec: Expr) -> bool:
    sides = (spec.args.get("start"), spec.args.get("start_side"), spec.args.get("end"), spec.args.get("end_side"))
    return sides == ("UNBOUNDED", "PRECEDING", "UNBOUNDED", "FOLLOWING")


def _is_first(function: Expr, spec: Expr | None) -> bool:
    """Whether a function takes the first row of its partition. With IGNORE NULLS, it takes one of the frame."""
    while isinstance(function, exp.RespectNulls):
        function = function.this
    return isinstance(function, exp.FirstValue | exp.First) and (spec is None or _from_the_start(spec))


def _from_the_start(spec: Expr) -> bool:
    return spec.args.get("start") == "UNBOUNDED" and spec.args.get("start_side") == "PRECEDING"


def _is_whole(spec: Expr | None, terms: list[Expr]) -> bool:
    """Whether a frame is the whole partition."""
    return (spec is None and not terms) or (spec is not None and _unbounded(spec))


def _whole_partition() -> Expr:
    return exp.WindowSpec(kind="ROWS", start="UNBOUNDED", start_side="PRECEDING", end="UNBOUNDED", end_side="FOLLOWING")
