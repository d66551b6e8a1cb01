"""A view's plan → its shape as a join graph.

plan → parts and conditions → classes of equal columns → join tree → vertices → which columns the graph keeps
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from rollview.engine.expressions import Settings, evaluator
from rollview.live.compile.aggregates import Call, call_of, can_be_pushed
from rollview.live.compile.classes import classes_of
from rollview.live.compile.draft import Draft, DraftPart, drafted
from rollview.live.compile.join_tree import Meeting, meetings, reduced
from rollview.live.compile.refused import not_live
from rollview.live.shape import Grouping, Output, Part, Pushed, Result, Shape, Vertex
from rollview.live.words import kind_of
from rollview.plan.expressions import Expr, names_in, ref, replace_columns
from rollview.plan.nodes import Aggregate, Filter, Node, Project
from rollview.stack import deep

#: The names and types of a table's columns, as Spark writes them.
ColumnsOf = Callable[[str], Sequence[tuple[str, str]]]


@deep
def compiled_shape(plan: Node, columns_of: ColumnsOf, settings: Settings) -> Shape:
    """The shape of a view's join graph. Raises NotLive, or Refused for an expression, if it cannot have one."""
    above, aggregate = _peeled(plan)
    draft = drafted(plan if aggregate is None else aggregate.input)
    compiler = _Compiler(draft, columns_of, settings)
    if aggregate is None:
        return compiler.rows([(draft.columns[c.name], c.label) for c in plan.columns])
    return compiler.groups(aggregate, above.filters, [(above.values[c.name], c.label) for c in plan.columns])


@dataclass(frozen=True)
class _Above:
    """Conditions and columns above an aggregate, over its columns."""

    filters: tuple[Expr, ...]
    values: Mapping[str, Expr]


def _peeled(plan: Node) -> tuple[_Above, Aggregate | None]:
    """What is above the aggregate of a plan, and the aggregate; None if there is none before the joins."""
    above, node = _Above((), {name: ref(name) for name in plan.names}), plan
    while isinstance(node, Filter | Project):
        if isinstance(node, Filter):
            above = replace(above, filters=(node.condition, *above.filters))
        else:
            made = {item.column.name: item.value for item in node.output}
            filters = tuple(replace_columns(each, made) for each in above.filters)
            above = _Above(filters, {name: replace_columns(value, made) for name, value in above.values.items()})
        node = node.input
    if not isinstance(node, Aggregate):
        return above, None
    if node.sets is not None:
        raise not_live("GROUPING SETS", "the join graph groups rows in one way")
    return above, node


class _Compiler:
    """Makes the shape of one view."""

    def __init__(self, draft: Draft, columns_of: ColumnsOf, settings: Settings) -> None:
        self._settings = settings
        tables = {part.scan.table for part in draft.parts}
        self._table_kinds = {table: dict(columns_of(table)) for table in tables}
        self._kinds: dict[str, str] = {}  # of all columns of all parts
        for part in draft.parts:
            self._kinds |= self._part_kinds(part)
        names = [part.names for part in draft.parts]
        self._classes, self._residual = classes_of(draft.conditions, names, lambda _, value: self._kind(value))
        self._draft = self._with_own_equalities(draft)
        self._computed: list[dict[str, Expr]] = [dict(part.computed) for part in self._draft.parts]
        self._keys = [self._key_columns(number) for number in range(len(draft.parts))]

    def rows(self, shown: Sequence[tuple[Expr, str]]) -> Shape:
        """The shape of a view that is not aggregated."""
        values = tuple(value for value, _ in shown)
        output = self._output((), values, [label for _, label in shown], self._kinds)
        return self._shape([*values, *self._residual], None, output, {})

    def groups(self, aggregate: Aggregate, having: tuple[Expr, ...], shown: Sequence[tuple[Expr, str]]) -> Shape:
        """The shape of a view that is aggregated."""
        computed: dict[str, Expr] = {}
        pushed: dict[str, int] = {}  # columns of parts, with the part
        keys = []
        for item in aggregate.keys:
            keys.append(self._path_column(self._draft.bound(item.value), item.column.name, computed))
        results = []
        for item in aggregate.aggregates:
            call = call_of(item)
            call = call if call.value is None else replace(call, value=self._draft.bound(call.value))
            results.append(self._result(call, computed, pushed))
        kinds = dict(self._kinds)
        if computed:
            kinds |= evaluator(list(computed.items()), self._kinds, self._settings).types
        names = [item.column.name for item in aggregate.keys]
        named = tuple((name, column, kind_of(kinds[column])) for name, column in zip(names, keys, strict=True))
        for name, _, kind in named:
            if kind.has_floats_inside:
                raise not_live(f"GROUP BY {name}, of type {kind.name}", "equal values of this type differ in memory")
        grouping = Grouping(computed, named, tuple(results))
        above = {name: kind.name for name, _, kind in named} | {result.name: result.kind.name for result in results}
        output = self._output(having, tuple(value for value, _ in shown), [label for _, label in shown], above)
        plain = [ref(name) for name in keys if name not in computed]
        plain += [ref(r.column) for r in results if r.column is not None and not r.pushed and r.column not in computed]
        return self._shape([*computed.values(), *plain, *self._residual], grouping, output, pushed)

    def _result(self, call: Call, computed: dict[str, Expr], pushed: dict[str, int]) -> Result:
        if call.value is None:
            return Result(call.name, call.function, None, call.result(None), None)
        kind = kind_of(self._kind(call.value))
        result = call.result(kind)
        owners = [i for i, part in enumerate(self._draft.parts) if part.names & names_in(call.value)]
        if len(owners) == 1 and can_be_pushed(call, kind, lambda: self._can_fail(call.value)):
            name = self._part_column(owners[0], call.value, f"__{call.name}")
            pushed[name] = owners[0]
            return Result(call.name, call.function, name, result, kind, pushed=True)
        name = self._path_column(call.value, f"__{call.name}", computed)
        return Result(call.name, call.function, name, result, kind)

    def _can_fail(self, value: Expr | None) -> bool:
        return value is not None and evaluator([("x", value)], self._kinds, self._settings).can_fail

    def _kind(self, value: Expr) -> str:
        return self._type(value, self._kinds)

    def _type(self, value: Expr, kinds: Mapping[str, str]) -> str:
        """The type of an expression over columns of some types."""
        if isinstance(value, exp.Column):
            return kinds[value.name]
        return evaluator([("x", value)], kinds, self._settings).types["x"]

    def _part_kinds(self, part: DraftPart) -> dict[str, str]:
        table = self._table_kinds[part.scan.table]
        sources = zip(part.scan.output, part.scan.sources, strict=True)
        found = {column.name: table[source] for column, source in sources}
        if part.computed:
            found |= evaluator(list(part.computed.items()), found, self._settings).types
        return found

    def _path_column(self, value: Expr, name: str, computed: dict[str, Expr]) -> str:
        """The column of paths that has a value; a new one if it is not a part's column."""
        if isinstance(value, exp.Column):
            return value.name
        computed[name] = value
        return name

    def _part_column(self, part: int, value: Expr, name: str) -> str:
        """The column of a part that has a value; a new one if there is none."""
        if isinstance(value, exp.Column):
            return value.name
        over = self._draft.parts[part].over_scan(value)
        known = next((known for known, each in self._computed[part].items() if each == over), None)
        if known is None:
            self._computed[part][name] = over
            self._kinds[name] = self._kind(value)
        return known or name

    def _with_own_equalities(self, draft: Draft) -> Draft:
        """The draft with filters for what a class makes equal inside of one part."""
        parts = list(draft.parts)
        for each in self._classes:
            for number in each.parts:
                first, *others = each.of(number)
                equal = exp.NullSafeEQ if each.null_safe else exp.EQ
                more = tuple(parts[number].over_scan(equal(this=first.copy(), expression=x.copy())) for x in others)
                parts[number] = replace(parts[number], filters=(*parts[number].filters, *more))
        self._classes = [each for each in self._classes if len(each.parts) > 1]
        return replace(draft, parts=tuple(parts))

    def _key_columns(self, number: int) -> dict[int, str]:
        """The column of a part for each class that the part is in."""
        return {
            i: self._part_column(number, each.of(number)[0], f"__k{number}_{i}")
            for i, each in enumerate(self._classes)
            if number in each.parts
        }

    def _output(
        self, filters: tuple[Expr, ...], values: tuple[Expr, ...], labels: Sequence[str], kinds: Mapping[str, str]
    ) -> Output:
        found = tuple(kind_of(self._type(value, kinds)) for value in values)
        return Output(filters, values, tuple(labels), found)

    def _shape(
        self, used: Sequence[Expr], grouping: Grouping | None, output: Output, pushed: Mapping[str, int]
    ) -> Shape:
        needed = frozenset[str]().union(*map(names_in, used))
        vertices = self._vertices()
        parts = tuple(self._part(i, part, vertices, needed, pushed) for i, part in enumerate(self._draft.parts))
        tables = tuple(dict.fromkeys(part.table for part in parts))
        return Shape(parts, tuple(vertex for vertex, _ in vertices), tuple(self._residual), grouping, output, tables)

    def _vertices(self) -> list[tuple[Vertex, Meeting]]:
        own = [
            frozenset(i for i, each in enumerate(self._classes) if part in each.parts)
            for part in range(len(self._draft.parts))
        ]
        edges, left = reduced(own)
        apart = [edge for edge in edges if not edge.classes]
        if apart:
            raise not_live(
                f"a join of {self._title(apart[0].to)} and {self._title(apart[0].part)} by no equality",
                "the join graph finds matching rows by equal values: here each row would be compared with all others",
            )
        if len(left) > 1:
            raise not_live(
                f"a cycle of joins between {', '.join(self._title(part) for part in sorted(left))}",
                "the join graph needs tables that are joined as a tree",
            )
        return [(self._vertex(i, each), each) for i, each in enumerate(meetings(edges))]

    def _vertex(self, number: int, meeting: Meeting) -> Vertex:
        classes = [self._classes[i] for i in sorted(meeting.classes)]
        title = " AND ".join(each.title for each in classes)
        return Vertex(
            number,
            title,
            tuple(each.kind for each in classes),
            tuple(each.null_safe for each in classes),
            tuple(sorted(meeting.parts)),
        )

    def _part(
        self,
        number: int,
        part: DraftPart,
        vertices: Sequence[tuple[Vertex, Meeting]],
        needed: frozenset[str],
        pushed: Mapping[str, int],
    ) -> Part:
        own = [(vertex, meeting) for vertex, meeting in vertices if number in meeting.parts]
        keys = tuple(tuple(self._keys[number][i] for i in sorted(meeting.classes)) for _, meeting in own)
        computed = self._computed[number]
        fields = sorted(needed & (part.scan.names | computed.keys()), key=self._order(part, computed))
        sums = tuple(Pushed(name, kind_of(self._kinds[name])) for name, owner in pushed.items() if owner == number)
        kept = {*fields, *(name for key in keys for name in key), *(each.column for each in sums)}
        computed = {name: value for name, value in computed.items() if name in kept}
        read = kept.union(*map(names_in, (*part.filters, *computed.values())))
        kinds = self._table_kinds[part.scan.table]
        sources = tuple(
            (column.name, source, kinds[source])
            for column, source in zip(part.scan.output, part.scan.sources, strict=True)
            if column.name in read
        )
        return Part(
            number,
            part.scan.table,
            self._title(number),
            sources,
            part.filters,
            computed,
            tuple(vertex.number for vertex, _ in own),
            keys,
            tuple((name, kind_of(self._kinds[name])) for name in fields),
            sums,
        )

    def _order(self, part: DraftPart, computed: Mapping[str, Expr]) -> Callable[[str], int]:
        names = [*(column.name for column in part.scan.output), *computed]
        return names.index

    def _title(self, number: int) -> str:
        """A part's table; with a number if several parts read the table."""
        table = self._draft.parts[number].scan.table
        same = [i for i, part in enumerate(self._draft.parts) if part.scan.table == table]
        return table if len(same) == 1 else f"{table} #{same.index(number) + 1}"
