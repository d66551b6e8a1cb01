"""A plan as one SQL query: each operator is a CTE, columns keep the unique names of the plan, and the last SELECT gives
them back the names that the user knows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import TypeGuard

from sqlglot import exp
from sqlglot.errors import ErrorLevel

from rollview.codegen.dialects import in_dialect, inner_generator, unnested
from rollview.codegen.flatten import flattened
from rollview.errors import InternalError
from rollview.plan.expressions import Expr, conjunction, conjuncts, names_in, ref
from rollview.plan.nodes import (
    CROSS,
    FULL,
    LEFT,
    MARK,
    SEMI,
    SINGLE,
    Aggregate,
    Column,
    Combined,
    Distinct,
    Filter,
    Generate,
    Join,
    Limit,
    MultiJoin,
    Node,
    Project,
    Recursive,
    RecursiveRef,
    Restrict,
    Scan,
    SetKind,
    SetOperation,
    UnionAll,
    Values,
    Window,
)
from rollview.stack import deep

DIALECTS = ("spark", "duckdb", "postgres")

#: Names the relation that a scan reads.
Relations = Callable[[Scan], str]


@deep
def print_plan(
    plan: Node,
    dialect: str = "spark",
    labels: Sequence[str] | None = None,
    relations: Relations = lambda scan: scan.table,
    lines: bool = False,
) -> str:
    """The plan as SQL text; with ``lines``, each CTE is a line. For Spark, raises an error rather than leave out what
    the library cannot say."""
    query = plan_query(plan, dialect, labels, relations)
    level = ErrorLevel.RAISE if dialect == "spark" else ErrorLevel.WARN
    clause = query.args.get("with_")
    if lines and clause is not None:
        query.set("with_", None)
        parts = [part.sql(dialect=dialect, copy=False, unsupported_level=level) for part in clause.expressions]
        start = "WITH RECURSIVE " if clause.args.get("recursive") else "WITH "
        last = query.sql(dialect=dialect, copy=False, unsupported_level=level)
        return "\n".join([start + ",\n  ".join(parts), last])
    return query.sql(dialect=dialect, copy=False, unsupported_level=level)


@deep
def printed(tree: Expr, dialect: str) -> str:
    """A tree as SQL text."""
    return tree.sql(dialect=dialect)  # of a copy: what has to be printed again must be as it was


@deep
def plan_query(
    plan: Node, dialect: str, labels: Sequence[str] | None = None, relations: Relations = lambda scan: scan.table
) -> exp.Select:
    """The plan as a tree of SQL."""
    printer = _Printer(dialect, relations, Counter(child for node in plan.walk() for child in node.inputs))
    names = labels if labels is not None else [column.label for column in plan.columns]
    query = printer.flat(plan, [(ref(c.name), name) for c, name in zip(plan.columns, names, strict=True)])
    if printer.ctes:
        named = [(select, exp.TableAlias(this=exp.to_identifier(name, quoted=True))) for name, select in printer.ctes]
        ctes = [exp.CTE(this=select, alias=alias) for select, alias in named]
        query.set("with_", exp.With(expressions=ctes, recursive=printer.recursive or None))
    printed = in_dialect(query, dialect)
    assert isinstance(printed, exp.Select)
    return printed


class _Printer:
    """Collects the CTEs, from the leaves up; equal parts of a plan are one CTE."""

    def __init__(self, dialect: str, relations: Relations, readers: Mapping[Node, int]) -> None:
        self.dialect = dialect
        self.relations = relations
        self.readers = readers
        self.ctes: list[tuple[str, exp.Query]] = []
        self.recursive = False
        self._known: dict[Node, str] = {}
        self._inline = False

    def cte(self, node: Node) -> str:
        """The name of the CTE that is this operator."""
        if node not in self._known:
            query = self.query(node)
            title = Join.title if isinstance(node, Restrict) else node.title
            name = f"{title.replace(' ', '_')}_{len(self.ctes)}"
            self.ctes.append((name, query))
            self._known[node] = name
        return self._known[node]

    def source(self, node: Node) -> Expr:
        """What stands in FROM for an input: a CTE, or inside a recursion a subquery."""
        if isinstance(node, RecursiveRef):
            query = _select(node.columns, ref).from_(_table(node.name), copy=False)
            query.set("expressions", [exp.alias_(ref(c.label), c.name, quoted=True) for c in node.columns])
            return query.subquery(exp.to_identifier(f"r_{node.columns[0].name}", quoted=True), copy=False)
        if self._inline and _is_recursive(node):
            alias = exp.to_identifier(f"{node.title.replace(' ', '_')}_{node.columns[0].name}", quoted=True)
            return self.query(node).subquery(alias, copy=False)
        return _table(self.cte(node))

    def query(self, node: Node) -> exp.Query:
        """The operator's own SELECT."""
        method = getattr(self, "_" + type(node).__name__.lower(), None)
        if method is None:
            raise InternalError(f"there is no SQL for {node.title}")
        result = method(node)
        assert isinstance(result, exp.Query)
        return result

    def _over(self, node: Node, columns: Sequence[Column]) -> exp.Select:
        return _select(columns, ref).from_(self.source(node), copy=False)

    def _scan(self, node: Scan) -> exp.Query:
        return self.flat(node, [(ref(c.name), c.name) for c in node.columns])

    def _values(self, node: Values) -> exp.Query:
        if not node.columns:
            return exp.Select(expressions=[_dummy()])
        rows = [exp.Tuple(expressions=[value.copy() for value in row]) for row in node.rows]
        alias = exp.TableAlias(
            this=exp.to_identifier("v", quoted=True),
            columns=[exp.to_identifier(c.name, quoted=True) for c in node.columns],
        )
        return _select(node.columns, ref).from_(exp.Values(expressions=rows, alias=alias), copy=False)

    def _filter(self, node: Filter) -> exp.Query:
        return self.flat(node, [(ref(c.name), c.name) for c in node.columns])

    def _project(self, node: Project) -> exp.Query:
        return self.flat(node.input, [(item.value, item.column.name) for item in node.output])

    def flat(self, node: Node, output: Sequence[tuple[Expr, str]], *, computed: bool = True) -> exp.Select:
        """Values over an operator's rows, each with its name, as one SELECT with what is below."""
        flat = flattened(node, [value for value, _ in output], computed=computed)
        named = [_named(value.copy(), name) for value, (_, name) in zip(flat.values, output, strict=True)]
        source = self.source(flat.source) if flat.read is None else _table(self.relations(flat.read))
        query = exp.Select(expressions=named or [_dummy()]).from_(source, copy=False)
        condition = conjunction([part.copy() for part in flat.conditions])
        return query if condition is None else query.where(condition, copy=False)

    def _join(self, node: Join) -> exp.Query:
        if node.kind == MARK:
            return self._mark(node)
        if node.kind == SINGLE:
            return self._single(node)
        if node.kind.keeps_left_only:
            return self._semi(node)
        if node.kind == FULL and self.dialect == "postgres" and not _hashable(node):
            return self._full_by_parts(node)
        return self._paired(node)

    def _restrict(self, node: Restrict) -> exp.Query:
        return self._semi(node.join)

    def _paired(self, node: Join) -> exp.Select:
        if self._continues(node.left):  # the joins of a chain are those of one SELECT
            query = self._paired(node.left)
            query.set("expressions", [ref(column.name) for column in node.columns] or [_dummy()])
        else:
            query = self._over(node.left, node.columns)
        how = node.kind.upper() + (" OUTER" if node.kind.is_outer else "")
        on = None if node.kind == CROSS else (node.condition.copy() if node.condition is not None else exp.true())
        self._hint(query, node)
        return _joined(query, _apart(query, self.source(node.right)), how, on)

    def _continues(self, node: Node) -> TypeGuard[Join]:
        """Whether a join needs no SELECT of its own: not for Spark, which is told of each join what is small."""
        plain = isinstance(node, Join) and (node.kind.is_inner or node.kind is LEFT)
        return plain and self.dialect != "spark" and self.readers[node] == 1

    def _hint(self, query: exp.Select, node: Join) -> None:
        """Tells Spark which side of a join is small."""
        if node.small is not None and self.dialect == "spark":
            name = self.cte(node.left if node.small == "left" else node.right)
            hint = exp.Anonymous(this="BROADCAST", expressions=[exp.to_identifier(name, quoted=True)])
            query.set("hint", exp.Hint(expressions=[hint]))

    def _full_by_parts(self, node: Join) -> exp.Query:
        """A full join that PostgreSQL cannot do: the left join, and the right rows that match nothing."""
        left = self._join(Join(LEFT, node.left, node.right, node.condition))
        unmatched = exp.Not(this=exp.Exists(this=self._matching(node, node.condition, side=node.left)))
        padded = exp.Select().from_(self.source(node.right), copy=False).where(unmatched, copy=False)
        padded.set(
            "expressions",
            [
                ref(c.name) if c.name in node.right.names else exp.alias_(exp.null(), c.name, quoted=True)
                for c in node.columns
            ],
        )
        return exp.Union(this=left, expression=padded, distinct=False)

    def _multijoin(self, node: MultiJoin) -> exp.Query:
        """The inputs one after the other, each as soon as a condition ties it to those before it."""
        query = self._over(node.parts[0], node.columns)
        placed, waiting, open_ = {0}, list(range(1, len(node.parts))), list(node.graph)
        while waiting:
            tied = [i for i in waiting if any(i in edge and edge <= placed | {i} for edge, _ in open_)]
            chosen = (tied or waiting)[0]
            waiting.remove(chosen)
            placed.add(chosen)
            ready = [condition for edge, condition in open_ if edge <= placed]
            open_ = [(edge, condition) for edge, condition in open_ if not edge <= placed]
            on = conjunction(ready)
            how = "CROSS" if on is None else "INNER"
            query = _joined(query, _apart(query, self.source(node.parts[chosen])), how, on)
        return query

    def _semi(self, node: Join) -> exp.Query:
        query = self._over(node.left, node.columns)
        condition = node.condition.copy() if node.condition is not None else exp.true()
        if self.dialect == "postgres":
            inner = exp.Exists(this=self._matching(node, condition))
            return query.where(inner if node.kind == SEMI else exp.Not(this=inner), copy=False)
        kind = f"LEFT {node.kind.upper()}" if self.dialect == "spark" else node.kind.upper()
        self._hint(query, node)
        return _joined(query, self.source(node.right), kind, condition)

    def _matching(
        self, node: Join, condition: Expr | None, output: Expr | None = None, side: Node | None = None
    ) -> exp.Select:
        """The rows of the right side, or of the given one, that meet a condition."""
        query = exp.Select(expressions=[output or exp.Literal.number(1)])
        query = query.from_(self.source(side or node.right), copy=False)
        return query if condition is None else query.where(condition.copy(), copy=False)

    def _mark(self, node: Join) -> exp.Query:
        assert node.mark is not None
        query = self._over(node.left, node.left.columns)
        value: Expr
        sides = _in_sides(node)
        if node.compared is None:
            value = exp.Exists(this=self._matching(node, node.condition))
        elif sides is not None:
            outer = [left.copy() for left, _ in sides]
            inner = self._matching(node, node.condition)
            inner.set("expressions", [right.copy() for _, right in sides])
            left = outer[0] if len(outer) == 1 else exp.Tuple(expressions=outer)
            value = exp.In(this=left, query=inner.subquery(copy=False))
        else:
            true = conjunction([*conjuncts(node.condition), node.compared])
            unknown = exp.Is(this=exp.Paren(this=node.compared.copy()), expression=exp.null())
            null = conjunction([*conjuncts(node.condition), unknown])
            value = exp.Case(
                ifs=[exp.If(this=exp.Exists(this=self._matching(node, true)), true=exp.true()),
                     exp.If(this=exp.Exists(this=self._matching(node, null)), true=exp.null())],
                default=exp.false(),
            )  # fmt: skip
        return query.select(exp.alias_(value, node.mark.name, quoted=True), copy=False)

    def _single(self, node: Join) -> exp.Query:
        query = self._over(node.left, node.left.columns)
        for column in node.right.columns:
            value = self._matching(node, node.condition, ref(column.name)).subquery(copy=False)
            query = query.select(exp.alias_(value, column.name, quoted=True), copy=False)
        return query

    def _aggregate(self, node: Aggregate) -> exp.Query:
        items = [(item.value, item.column.name) for item in (*node.keys, *node.aggregates)]
        # one group, also of no rows, even where nobody needs a column of it
        output = items or [(exp.Count(this=exp.Star()), "_one")]
        if node.sets is None:
            query = self.flat(node.input, output, computed=False)
            keys = [item.unalias().copy() for item in query.expressions[: len(node.keys)]]
            return query.group_by(*keys, copy=False) if keys else query
        named = [exp.alias_(value.copy(), name, quoted=True) for value, name in output]
        query = exp.Select(expressions=named).from_(self.source(node.input), copy=False)
        sets = [exp.Tuple(expressions=[node.keys[i].value.copy() for i in subset]) for subset in node.sets]
        query.set("group", exp.Group(grouping_sets=[exp.GroupingSets(expressions=sets)]))
        return query

    def _distinct(self, node: Distinct) -> exp.Query:
        return self.flat(node.input, [(ref(c.name), c.name) for c in node.columns], computed=False).distinct(copy=False)

    def _unionall(self, node: UnionAll) -> exp.Query:
        return self._set(node, exp.Union, distinct=False)

    def _setoperation(self, node: SetOperation) -> exp.Query:
        kind = exp.Intersect if node.kind is SetKind.INTERSECT else exp.Except
        return self._set(node, kind, distinct=not node.all)

    def _set(self, node: Combined, kind: type[exp.SetOperation], *, distinct: bool) -> exp.Query:
        sides: list[exp.Query] = []
        waiting: list[Node] = [node.right, node.left]
        while waiting:
            side = waiting.pop()
            if kind is exp.Union and isinstance(side, UnionAll) and self.readers[side] == 1:
                waiting += [side.right, side.left]
                continue
            query = exp.Select().from_(self.source(side), copy=False)
            names = zip(side.columns, node.output, strict=True)
            query.set("expressions", [exp.alias_(ref(c.name), out.name, quoted=True) for c, out in names] or [_dummy()])
            sides.append(query)
        return reduce(lambda left, right: kind(this=left, expression=right, distinct=distinct), sides)

    def _recursive(self, node: Recursive) -> exp.Query:
        self.recursive = True
        anchor = exp.Select().from_(_table(self.cte(node.left)), copy=False)
        anchor.set(
            "expressions",
            [
                exp.alias_(ref(c.name), out.label, quoted=True)
                for c, out in zip(node.left.columns, node.output, strict=True)
            ],
        )
        self._inline = True
        step = exp.Select().from_(self.source(node.right), copy=False)
        self._inline = False
        step.set(
            "expressions",
            [
                exp.alias_(ref(c.name), out.label, quoted=True)
                for c, out in zip(node.right.columns, node.output, strict=True)
            ],
        )
        self.ctes.append((node.name, exp.Union(this=anchor, expression=step, distinct=node.distinct)))
        output = [exp.alias_(ref(c.label), c.name, quoted=True) for c in node.output]
        return exp.Select(expressions=output).from_(_table(node.name), copy=False)

    def _window(self, node: Window) -> exp.Query:
        own = [(ref(c.name), c.name) for c in node.input.columns]
        return self.flat(
            node.input, [*own, *((item.value, item.column.name) for item in node.functions)], computed=False
        )

    def _limit(self, node: Limit) -> exp.Query:
        query = self._over(node.input, node.columns)
        query = query.order_by(*(term.clause for term in node.order), copy=False)
        if node.count is not None:
            query = query.limit(node.count, copy=False)
        return query.offset(node.offset, copy=False) if node.offset else query

    def _generate(self, node: Generate) -> exp.Query:
        query = self._over(node.input, node.columns)
        names = [exp.to_identifier(c.name, quoted=True) for c in node.output]
        alias = exp.to_identifier(f"g_{node.output[0].name}", quoted=True)
        if self.dialect == "spark":
            plain = inner_generator(node.generator)
            query.append(
                "laterals",
                exp.Lateral(this=plain, view=True, outer=node.outer, alias=exp.TableAlias(this=alias, columns=names)),
            )
            return query
        inner = exp.Select(expressions=unnested(node)).subquery(alias, copy=False)
        lateral = exp.Lateral(this=inner.this.subquery(copy=False), alias=exp.TableAlias(this=alias))
        if node.outer:
            return _joined(query, lateral, "LEFT", exp.true())
        return _joined(query, lateral, "CROSS", None)


def _named(value: Expr, name: str) -> Expr:
    """The value under a name. A column that has it gets no alias: over one, Spark's optimizer may trip in a union."""
    if isinstance(value, exp.Column) and value == ref(name):
        return value
    return exp.alias_(value, name, quoted=True, copy=False)


def _hashable(node: Join) -> bool:
    """Whether PostgreSQL can do a full join on the condition: it needs an equality of the two sides."""
    for part in conjuncts(node.condition):
        if isinstance(part, exp.EQ):
            a, b = names_in(part.left), names_in(part.right)
            if (
                a
                and b
                and any(a <= x.names and b <= y.names for x, y in ((node.left, node.right), (node.right, node.left)))
            ):
                return True
    return False


def _in_sides(node: Join) -> list[tuple[Expr, Expr]] | None:
    """A comparison that IN can say: equalities of outer values with inner columns."""
    found: list[tuple[Expr, Expr]] = []
    for part in conjuncts(node.compared):
        if not isinstance(part, exp.EQ):
            return None
        if not (isinstance(part.right, exp.Column) and part.right.name in node.right.names):
            return None
        if names_in(part.left) & node.right.names:
            return None
        found.append((part.left, part.right))
    return found or None


def _is_recursive(node: Node) -> bool:
    return any(isinstance(part, RecursiveRef) for part in node.walk())


def _select(columns: Sequence[Column], value: Callable[[str], Expr]) -> exp.Select:
    return exp.Select(expressions=[value(column.name) for column in columns] or [_dummy()])


def _dummy() -> Expr:
    """A column for relations that have none."""
    return exp.alias_(exp.Literal.number(1), "_one", quoted=True)


def _joined(query: exp.Select, source: Expr, how: str, on: Expr | None) -> exp.Select:
    """The query with one more join, such as LEFT OUTER."""
    words = how.split()
    side = words.pop(0) if words[0] in ("LEFT", "RIGHT", "FULL") else None
    query.append("joins", exp.Join(this=source, side=side, kind=words[0] if words else None, on=on))
    return query


def _apart(query: exp.Select, source: Expr) -> Expr:
    """A relation to join; under another name if it is there already, as one without columns may be."""
    there = [table.alias_or_name for table in query.find_all(exp.Table)]
    if isinstance(source, exp.Table) and source.name in there:
        return exp.alias_(source, f"{source.name}_{len(there)}", quoted=True, table=True)
    return source


def _table(name: str) -> exp.Table:
    return exp.Table(this=exp.to_identifier(name, quoted=True))
