"""The operators of a plan. Immutable; each knows its columns and checks itself when it is made.

A column's name is unique in its plan, so a join needs no qualifiers, and a part of a plan means the same anywhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from sqlglot import exp

from rollview.errors import InternalError
from rollview.plan.expressions import Expr, conjuncts, names_in, ref
from rollview.stack import deep

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


@dataclass(frozen=True, eq=False)
class Node:
    """An operator."""

    title: ClassVar[str] = "node"

    @cached_property
    def inputs(self) -> tuple[Node, ...]:
        return tuple(value for value in self._fields if isinstance(value, Node))

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        """The same operator over other inputs."""
        given = iter(inputs)
        changed = {name: next(given) for name in self.__dataclass_fields__ if isinstance(getattr(self, name), Node)}
        return replace(self, **changed) if changed else self

    @property
    def _fields(self) -> list[Any]:
        return [getattr(self, name) for name in self.__dataclass_fields__]

    @cached_property
    def _hash(self) -> int:
        return hash((type(self), *self._fields))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        """Operators with equal fields are equal. Their inputs are compared by the hashes that they keep: a plan is a
        graph, and comparing it path by path would take as long as its expansion."""
        if self is other:
            return True
        if not isinstance(other, Node) or type(self) is not type(other) or self._hash != other._hash:
            return False
        pairs = zip(self._fields, other._fields, strict=True)
        return all(a is b or isinstance(a, Node) or _is_inputs(a) or a == b for a, b in pairs)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        raise NotImplementedError

    @cached_property
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

    @cached_property
    def tables(self) -> frozenset[str]:
        """The tables and views that are read."""
        return frozenset[str]().union(*(node.tables for node in self.inputs))

    def walk(self) -> Iterator[Node]:
        """This operator and all below it, from the leaves up; each once, though several operators may read it."""
        seen: set[int] = set()
        waiting: list[tuple[Node, bool]] = [(self, False)]
        while waiting:
            node, done = waiting.pop()
            if done:
                yield node
            elif id(node) not in seen:
                seen.add(id(node))
                waiting.append((node, True))
                waiting += [(child, False) for child in reversed(node.inputs)]

    def __post_init__(self) -> None:
        if len(self.names) == len(self.columns):
            return
        seen: set[str] = set()
        for column in self.columns:
            if column.name in seen:
                raise InternalError(f"{self.title} has two columns named {column.name}")
            seen.add(column.name)


@dataclass(frozen=True, eq=False)
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

    @cached_property
    def tables(self) -> frozenset[str]:
        return frozenset({self.table})

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return self.output

    @property
    def details(self) -> str:
        version = f" {self.version}" if self.version else ""
        return f"{self.table}{version} [{', '.join(c.name for c in self.output)}]"


@dataclass(frozen=True, eq=False)
class Values(Node):
    """Rows written in the query."""

    title: ClassVar[str] = "values"
    output: tuple[Column, ...]
    rows: tuple[tuple[Expr, ...], ...]

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return self.output

    @cached_property
    def expressions(self) -> tuple[Expr, ...]:
        return tuple(value for row in self.rows for value in row)

    @property
    def details(self) -> str:
        return f"{len(self.rows)} rows [{', '.join(c.name for c in self.output)}]"


@dataclass(frozen=True, eq=False)
class Filter(Node):
    """The rows for which the condition is true."""

    title: ClassVar[str] = "filter"
    input: Node
    condition: Expr

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return self.input.columns

    @cached_property
    def expressions(self) -> tuple[Expr, ...]:
        return (self.condition,)

    @property
    def details(self) -> str:
        return show(self.condition)


@dataclass(frozen=True, eq=False)
class Project(Node):
    """New columns computed from each row, and no others."""

    title: ClassVar[str] = "project"
    input: Node
    output: tuple[Computed, ...]

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return tuple(computed.column for computed in self.output)

    @cached_property
    def expressions(self) -> tuple[Expr, ...]:
        return tuple(computed.value for computed in self.output)

    @property
    def details(self) -> str:
        return show_all(self.output)


#: Kinds of join. ``mark`` adds a column that says whether a row has a match; ``single`` may match one row at most.
INNER, LEFT, RIGHT, FULL, SEMI, ANTI, CROSS = "inner", "left", "right", "full", "semi", "anti", "cross"
MARK, SINGLE = "mark", "single"


@dataclass(frozen=True, eq=False)
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

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        if self.kind in (SEMI, ANTI):
            return self.left.columns
        if self.kind == MARK:
            assert self.mark is not None
            return (*self.left.columns, self.mark)
        return self.left.columns + self.right.columns

    @cached_property
    def expressions(self) -> tuple[Expr, ...]:
        return tuple(part for part in (self.condition, self.compared) if part is not None)

    @cached_property
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


@dataclass(frozen=True, eq=False)
class MultiJoin(Node):
    """The inner join of several inputs: all combinations of their rows for which every condition is true."""

    title: ClassVar[str] = "multi join"
    kind: ClassVar[str] = INNER
    parts: tuple[Node, ...]
    conditions: tuple[Expr, ...]

    @cached_property
    def inputs(self) -> tuple[Node, ...]:
        return self.parts

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        return MultiJoin(tuple(inputs), self.conditions)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return tuple(column for part in self.parts for column in part.columns)

    @cached_property
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


@dataclass(frozen=True, eq=False)
class Aggregate(Node):
    """One row per group. ``sets`` lists, for GROUPING SETS, which of the keys each set groups by.

    Without keys there is one group, also of no rows.
    """

    title: ClassVar[str] = "aggregate"
    input: Node
    keys: tuple[Computed, ...]
    aggregates: tuple[Computed, ...]
    sets: tuple[tuple[int, ...], ...] | None = None

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return tuple(computed.column for computed in (*self.keys, *self.aggregates))

    @cached_property
    def expressions(self) -> tuple[Expr, ...]:
        return tuple(computed.value for computed in (*self.keys, *self.aggregates))

    @property
    def details(self) -> str:
        by = f"by {show_all(self.keys)} " if self.keys else ""
        sets = f"sets {self.sets} " if self.sets is not None else ""
        return f"{by}{sets}[{show_all(self.aggregates)}]"


@dataclass(frozen=True, eq=False)
class Distinct(Node):
    """Each different row once."""

    title: ClassVar[str] = "distinct"
    input: Node

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return self.input.columns


@dataclass(frozen=True, eq=False)
class UnionAll(Node):
    """The rows of both inputs, column by column."""

    title: ClassVar[str] = "union all"
    left: Node
    right: Node
    output: tuple[Column, ...]

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return self.output

    def __post_init__(self) -> None:
        super().__post_init__()
        if not len(self.left.columns) == len(self.right.columns) == len(self.output):
            raise InternalError(f"{self.title} of {len(self.left.columns)} and {len(self.right.columns)} columns")


def union_of(terms: Sequence[Node], output: tuple[Column, ...]) -> Node:
    """The rows of some inputs as a tree of unions that is as flat as can be."""
    if len(terms) == 1:
        return terms[0]
    half = (len(terms) + 1) // 2
    return UnionAll(union_of(terms[:half], output), union_of(terms[half:], output), output)


@dataclass(frozen=True, eq=False)
class SetOperation(UnionAll):
    """EXCEPT or INTERSECT, of rows or (``all``) of copies."""

    title: ClassVar[str] = "set operation"
    kind: str = "except"
    all: bool = False

    @property
    def details(self) -> str:
        return self.kind + (" all" if self.all else "")


@dataclass(frozen=True, eq=False)
class Window(Node):
    """The input's columns and one more for each window function."""

    title: ClassVar[str] = "window"
    input: Node
    functions: tuple[Computed, ...]

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return self.input.columns + tuple(computed.column for computed in self.functions)

    @cached_property
    def expressions(self) -> tuple[Expr, ...]:
        return tuple(computed.value for computed in self.functions)

    @property
    def details(self) -> str:
        return show_all(self.functions)


@dataclass(frozen=True, eq=False)
class Limit(Node):
    """The first rows in an order, after some that are skipped."""

    title: ClassVar[str] = "limit"
    input: Node
    order: tuple[Ordering, ...]
    count: int | None
    offset: int = 0

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return self.input.columns

    @cached_property
    def expressions(self) -> tuple[Expr, ...]:
        return tuple(term.value for term in self.order)

    @property
    def clause(self) -> str:
        """What the user has written."""
        return f"LIMIT {self.count}" if self.count is not None else f"OFFSET {self.offset}"

    @property
    def details(self) -> str:
        terms = ", ".join(show(t.value) + (" desc" if t.descending else "") for t in self.order)
        return f"{self.count} offset {self.offset} by {terms}"


@dataclass(frozen=True, eq=False)
class Generate(Node):
    """Each row with the rows that a generator such as explode makes of it; with ``outer`` at least one."""

    title: ClassVar[str] = "generate"
    input: Node
    generator: Expr
    output: tuple[Column, ...]
    outer: bool = False

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return self.input.columns + self.output

    @cached_property
    def expressions(self) -> tuple[Expr, ...]:
        return (self.generator,)

    @property
    def details(self) -> str:
        return f"{'outer ' if self.outer else ''}{show(self.generator)} [{', '.join(c.name for c in self.output)}]"


@dataclass(frozen=True, eq=False)
class RecursiveRef(Node):
    """Inside the step of a recursion: the rows of the step before."""

    title: ClassVar[str] = "recursive reference"
    name: str
    output: tuple[Column, ...]

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return self.output

    @property
    def details(self) -> str:
        return self.name


@dataclass(frozen=True, eq=False)
class Recursive(UnionAll):
    """The rows of the anchor, and of the step over and over until it gives none."""

    title: ClassVar[str] = "recursive"
    name: str = ""
    distinct: bool = False

    @property
    def details(self) -> str:
        return self.name


def _is_inputs(value: object) -> bool:
    return isinstance(value, tuple) and bool(value) and isinstance(value[0], Node)


@deep
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
    return bare.sql(dialect="spark", copy=False)


def show_all(computed: Sequence[Computed]) -> str:
    parts = []
    for item in computed:
        value = show(item.value)
        parts.append(value if value == item.column.name else f"{value} AS {item.column.name}")
    return ", ".join(parts)


def show_plan(plan: Node) -> str:
    """A plan as indented text."""
    return "\n".join(show_plans([plan])[0])


#: The versions of a table of which one may stand for the other when a plan is shown.
_VERSIONS = {"", "old", "new"}


@deep
def show_plans(plans: Sequence[Node]) -> list[list[str]]:
    """Plans as the lines of indented texts. What several operators read, in one plan or in several, is written out
    once, with a number that stands for it afterwards, and for the same over another version of its tables."""
    same: dict[Node, Node] = {}
    versions: dict[Node, frozenset[str]] = {}
    for node in distinct(plans):
        own = {node.version} & _VERSIONS if isinstance(node, Scan) else set[str]()
        versions[node] = frozenset(own).union(*(versions[child] for child in node.inputs))
        if len(versions[node]) > 1:
            same[node] = node
        elif isinstance(node, Scan):
            same[node] = replace(node, version="") if own else node
        else:
            same[node] = node.with_inputs([same[child] for child in node.inputs])
    once = {same[node]: node for node in distinct(plans)}
    readers = Counter(same[child] for node in once.values() for child in node.inputs)
    readers.update(same[plan] for plan in plans)
    numbers: dict[Node, tuple[int, frozenset[str]]] = {}
    found = []
    for plan in plans:
        lines: list[str] = []
        waiting = [(plan, 0)]
        while waiting:
            node, depth = waiting.pop()
            shown = same[node]
            if shown in numbers:
                number, seen = numbers[shown]
                other = "" if seen == versions[node] else f", {min(versions[node])}"
                lines.append("  " * depth + f"{node.title} #{number}, as above{other}")
                continue
            title = node.title
            if node.inputs and readers[shown] > 1:
                numbers[shown] = len(numbers) + 1, versions[node]
                title = f"{title} #{len(numbers)}"
            lines.append("  " * depth + f"{title} {node.details}".rstrip())
            waiting += [(child, depth + 1) for child in reversed(node.inputs)]
        found.append(lines)
    return found


def distinct(plans: Iterable[Node]) -> list[Node]:
    """The operators of some plans, from the leaves up, each once."""
    return list(dict.fromkeys(node for plan in plans for node in plan.walk()))


def size(plan: Node) -> int:
    """The number of operators."""
    return sum(1 for _ in plan.walk())


def exactly(plan: Node, columns: Sequence[Column]) -> Node:
    """These columns of the plan, in this order."""
    if tuple(c.name for c in plan.columns) == tuple(c.name for c in columns):
        return plan
    return Project(plan, tuple(Computed(column, ref(column.name)) for column in columns))
