"""The operators of a plan. Immutable; each knows its columns and checks itself when it is made.

A column's name is unique in its plan, so a join needs no qualifiers, and a part of a plan means the same anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

from sqlglot import exp

from rollview.errors import InternalError
from rollview.plan.expressions import Expr, conjuncts, names_in, ref

UNKNOWN = exp.DataType(this=exp.DataType.Type.UNKNOWN)


@dataclass(frozen=True)
class Column:
    """A column of a plan: its unique name, what the user calls it, and its type as far as it is known."""

    name: str
    label: str
    type: exp.DataType = UNKNOWN


@dataclass(frozen=True)
class Computed:
    """A column and the expression that gives its value."""

    column: Column
    value: Expr


@dataclass(frozen=True)
class Ordering:
    """One term of an ORDER BY."""

    value: Expr
    descending: bool = False
    nulls_first: bool = True


@dataclass(frozen=True)
class Node:
    """An operator."""

    title: ClassVar[str] = "node"

    @property
    def inputs(self) -> tuple[Node, ...]:
        return tuple(value for name in self.__dataclass_fields__ if isinstance(value := getattr(self, name), Node))

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        """The same operator over other inputs."""
        given = iter(inputs)
        changed = {name: next(given) for name in self.__dataclass_fields__ if isinstance(getattr(self, name), Node)}
        return replace(self, **changed) if changed else self

    @property
    def columns(self) -> tuple[Column, ...]:
        raise NotImplementedError

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """What the operator evaluates over its inputs' columns."""
        return ()

    @property
    def details(self) -> str:
        """What to print after the operator's title."""
        return ""

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(column.name for column in self.columns)

    @cached_property
    def free(self) -> frozenset[str]:
        """Columns that the plan uses but does not make: those of an outer query."""
        below = frozenset().union(*(node.free for node in self.inputs))
        used = frozenset().union(*(names_in(expression) for expression in self.expressions))
        made = frozenset().union(*(node.names for node in self.inputs))
        return (below | (used - self.bound)) - made

    @property
    def bound(self) -> frozenset[str]:
        """Columns that the operator's own expressions may use beside its inputs'."""
        return frozenset()

    def walk(self) -> Iterator[Node]:
        """This operator and all below it, from the leaves up."""
        for node in self.inputs:
            yield from node.walk()
        yield self

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for column in self.columns:
            if column.name in seen:
                raise InternalError(f"{self.title} has two columns named {column.name}")
            seen.add(column.name)


@dataclass(frozen=True)
class Scan(Node):
    """A table. ``key`` is its declared key; ``sources`` are the columns' names in the table; ``version`` says which of
    the table's relations is read, where a plan reads more than one of them; ``not_null`` are columns that are known
    never to be NULL."""

    title: ClassVar[str] = "scan"
    table: str
    output: tuple[Column, ...]
    sources: tuple[str, ...]
    key: tuple[str, ...] = ()
    version: str = ""
    not_null: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.output

    @property
    def details(self) -> str:
        version = f" {self.version}" if self.version else ""
        return f"{self.table}{version} [{', '.join(c.name for c in self.output)}]"


@dataclass(frozen=True)
class Values(Node):
    """Rows written in the query."""

    title: ClassVar[str] = "values"
    output: tuple[Column, ...]
    rows: tuple[tuple[Expr, ...], ...]

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.output

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return tuple(value for row in self.rows for value in row)

    @property
    def details(self) -> str:
        return f"{len(self.rows)} rows [{', '.join(c.name for c in self.output)}]"


@dataclass(frozen=True)
class Filter(Node):
    """The rows for which the condition is true."""

    title: ClassVar[str] = "filter"
    input: Node
    condition: Expr

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.input.columns

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return (self.condition,)

    @property
    def details(self) -> str:
        return show(self.condition)


@dataclass(frozen=True)
class Project(Node):
    """New columns computed from each row, and no others."""

    title: ClassVar[str] = "project"
    input: Node
    output: tuple[Computed, ...]

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple(computed.column for computed in self.output)

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return tuple(computed.value for computed in self.output)

    @property
    def details(self) -> str:
        return show_all(self.output)


#: Kinds of join. ``mark`` adds a column that says whether a row has a match; ``single`` may match one row at most.
INNER, LEFT, RIGHT, FULL, SEMI, ANTI, CROSS = "inner", "left", "right", "full", "semi", "anti", "cross"
MARK, SINGLE = "mark", "single"


@dataclass(frozen=True)
class Join(Node):
    """Pairs of rows for which the condition is true, and what the kind adds for rows without a pair.

    Of a mark join, ``compared`` is the part that may be unknown: the mark is true if it is true for some row that meets
    the condition, else NULL if it is NULL for one of them, else false. ``small`` names the side that an engine may
    broadcast.
    """

    title: ClassVar[str] = "join"
    kind: str
    left: Node
    right: Node
    condition: Expr | None = None
    mark: Column | None = None
    compared: Expr | None = None
    small: str | None = None

    @property
    def columns(self) -> tuple[Column, ...]:
        if self.kind in (SEMI, ANTI):
            return self.left.columns
        if self.kind == MARK:
            assert self.mark is not None
            return (*self.left.columns, self.mark)
        return self.left.columns + self.right.columns

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return tuple(part for part in (self.condition, self.compared) if part is not None)

    @property
    def conditions(self) -> tuple[Expr, ...]:
        """What must all be true of a pair; under the name that a join of many inputs has for it."""
        return tuple(conjuncts(self.condition))

    @property
    def details(self) -> str:
        parts = [self.kind]
        if self.condition is not None:
            parts.append(show(self.condition))
        if self.mark is not None:
            parts.append(f"mark {self.mark.name}")
        if self.compared is not None:
            parts.append(f"compared {show(self.compared)}")
        if self.small is not None:
            parts.append(f"({self.small} side small)")
        return " ".join(parts)


@dataclass(frozen=True)
class MultiJoin(Node):
    """The inner join of several inputs: all combinations of their rows for which every condition is true."""

    title: ClassVar[str] = "multi join"
    kind: ClassVar[str] = INNER
    parts: tuple[Node, ...]
    conditions: tuple[Expr, ...]

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.parts

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        return MultiJoin(tuple(inputs), self.conditions)

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple(column for part in self.parts for column in part.columns)

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return self.conditions

    @property
    def details(self) -> str:
        return ", ".join(show(condition) for condition in self.conditions)

    @cached_property
    def graph(self) -> tuple[tuple[frozenset[int], Expr], ...]:
        """The join graph: each condition with the inputs that it ties together."""
        return tuple(
            (frozenset(i for i, part in enumerate(self.parts) if part.names & names_in(condition)), condition)
            for condition in self.conditions
        )


@dataclass(frozen=True)
class Aggregate(Node):
    """One row per group. ``sets`` lists, for GROUPING SETS, which of the keys each set groups by.

    Without keys there is one group, also of no rows.
    """

    title: ClassVar[str] = "aggregate"
    input: Node
    keys: tuple[Computed, ...]
    aggregates: tuple[Computed, ...]
    sets: tuple[tuple[int, ...], ...] | None = None

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple(computed.column for computed in (*self.keys, *self.aggregates))

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return tuple(computed.value for computed in (*self.keys, *self.aggregates))

    @property
    def details(self) -> str:
        by = f"by {show_all(self.keys)} " if self.keys else ""
        sets = f"sets {self.sets} " if self.sets is not None else ""
        return f"{by}{sets}[{show_all(self.aggregates)}]"


@dataclass(frozen=True)
class Distinct(Node):
    """Each different row once."""

    title: ClassVar[str] = "distinct"
    input: Node

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.input.columns


@dataclass(frozen=True)
class UnionAll(Node):
    """The rows of both inputs, column by column."""

    title: ClassVar[str] = "union all"
    left: Node
    right: Node
    output: tuple[Column, ...]

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.output

    def __post_init__(self) -> None:
        super().__post_init__()
        if not len(self.left.columns) == len(self.right.columns) == len(self.output):
            raise InternalError(f"{self.title} of {len(self.left.columns)} and {len(self.right.columns)} columns")


@dataclass(frozen=True)
class SetOperation(UnionAll):
    """EXCEPT or INTERSECT, of rows or (``all``) of copies."""

    title: ClassVar[str] = "set operation"
    kind: str = "except"
    all: bool = False

    @property
    def details(self) -> str:
        return self.kind + (" all" if self.all else "")


@dataclass(frozen=True)
class Window(Node):
    """The input's columns and one more for each window function."""

    title: ClassVar[str] = "window"
    input: Node
    functions: tuple[Computed, ...]

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.input.columns + tuple(computed.column for computed in self.functions)

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return tuple(computed.value for computed in self.functions)

    @property
    def details(self) -> str:
        return show_all(self.functions)


@dataclass(frozen=True)
class Limit(Node):
    """The first rows in an order, after some that are skipped."""

    title: ClassVar[str] = "limit"
    input: Node
    order: tuple[Ordering, ...]
    count: int | None
    offset: int = 0

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.input.columns

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return tuple(term.value for term in self.order)

    @property
    def details(self) -> str:
        terms = ", ".join(show(t.value) + (" desc" if t.descending else "") for t in self.order)
        return f"{self.count} offset {self.offset} by {terms}"


@dataclass(frozen=True)
class Generate(Node):
    """Each row with the rows that a generator such as explode makes of it; with ``outer`` at least one."""

    title: ClassVar[str] = "generate"
    input: Node
    generator: Expr
    output: tuple[Column, ...]
    outer: bool = False

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.input.columns + self.output

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return (self.generator,)

    @property
    def details(self) -> str:
        return f"{'outer ' if self.outer else ''}{show(self.generator)} [{', '.join(c.name for c in self.output)}]"


@dataclass(frozen=True)
class RecursiveRef(Node):
    """Inside the step of a recursion: the rows of the step before."""

    title: ClassVar[str] = "recursive reference"
    name: str
    output: tuple[Column, ...]

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.output

    @property
    def details(self) -> str:
        return self.name


@dataclass(frozen=True)
class Recursive(UnionAll):
    """The rows of the anchor, and of the step over and over until it gives none."""

    title: ClassVar[str] = "recursive"
    name: str = ""
    distinct: bool = False

    @property
    def details(self) -> str:
        return self.name


def show(expr: Expr) -> str:
    """An expression as a person reads it."""
    bare = expr.copy()
    for identifier in bare.find_all(exp.Identifier):
        if identifier.this.isidentifier():
            identifier.set("quoted", False)
    for each in list(bare.find_all(exp.ArrayAgg)):  # Spark's printer has no order inside of it
        if isinstance(each.this, exp.Order):
            named = exp.Anonymous(this="COLLECT_LIST", expressions=[each.this])
            bare = named if each is bare else bare
            each.replace(named)
    return bare.sql(dialect="spark")


def show_all(computed: Sequence[Computed]) -> str:
    parts = []
    for item in computed:
        value = show(item.value)
        parts.append(value if value == item.column.name else f"{value} AS {item.column.name}")
    return ", ".join(parts)


def show_plan(node: Node, depth: int = 0) -> str:
    """A plan as indented text."""
    line = "  " * depth + f"{node.title} {node.details}".rstrip()
    return "\n".join([line, *(show_plan(child, depth + 1) for child in node.inputs)])


def exactly(plan: Node, columns: Sequence[Column]) -> Node:
    """These columns of the plan, in this order."""
    if tuple(c.name for c in plan.columns) == tuple(c.name for c in columns):
        return plan
    return Project(plan, tuple(Computed(column, ref(column.name)) for column in columns))
