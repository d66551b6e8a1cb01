"""What all operators have in common: columns, inputs, expressions; and how two plans are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol

from sqlglot import exp

from rollview.errors import InternalError
from rollview.plan.expressions import Expr, names_in, show

UNKNOWN = exp.DataType(this=exp.DataType.Type.UNKNOWN)


@dataclass(frozen=True)
class Column:
    """A column of a plan: its unique name, the label that the user sees, and its type (UNKNOWN if not known)."""

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

    @property
    def clause(self) -> exp.Ordered:
        """The term in SQL."""
        descending = True if self.descending else None  # ASC is not printed
        return exp.Ordered(this=self.value.copy(), desc=descending, nulls_first=self.nulls_first)

    def over(self, change: Callable[[Expr], Expr]) -> Ordering:
        """The same direction, by a changed value."""
        return replace(self, value=change(self.value))

    def turned(self) -> Ordering:
        """The opposite order."""
        return Ordering(self.value, not self.descending, not self.nulls_first)


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
        """Operators with equal fields are equal. Inputs are compared by their cached hashes: a plan is a graph, and
        comparing it path by path would take as long as its expansion into a tree."""
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
        """The expressions that the operator evaluates over its inputs' columns."""
        return ()

    @property
    def details(self) -> str:
        """The text printed after the operator's title."""
        return ""

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(column.name for column in self.columns)

    @cached_property
    def stray(self) -> frozenset[str]:
        """Columns that the operator's own expressions use although no input has them."""
        used = frozenset().union(*(names_in(expression) for expression in self.expressions))
        return used.difference(*(node.names for node in self.inputs))

    @cached_property
    def free(self) -> frozenset[str]:
        """Columns that the plan uses but does not produce: references to an outer query."""
        below = frozenset[str]().union(*(node.free for node in self.inputs))
        return self.stray | below.difference(*(node.names for node in self.inputs))

    @cached_property
    def fault(self) -> str | None:
        """The error in the plan: an operator that uses a column which no input has. None if there is no error."""
        below = next((child.fault for child in self.inputs if child.fault is not None), None)
        if below is not None or not self.stray:
            return below
        return f"{self.title} {self.details} uses {', '.join(sorted(self.stray))}, which no input has"

    @cached_property
    def tables(self) -> frozenset[str]:
        """The tables and views that the plan reads."""
        return frozenset[str]().union(*(node.tables for node in self.inputs))

    def walk(self) -> Iterator[Node]:
        """This operator and all below it, inputs first; each once, even if several operators read it."""
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


def _is_inputs(value: object) -> bool:
    return isinstance(value, tuple) and bool(value) and isinstance(value[0], Node)


class Made(Protocol):
    """A column and its value: ``Computed``, or the function of a window."""

    @property
    def column(self) -> Column: ...

    @property
    def value(self) -> Expr: ...


def show_all(made: Sequence[Made]) -> str:
    parts = []
    for item in made:
        value = show(item.value)
        parts.append(value if value == item.column.name else f"{value} AS {item.column.name}")
    return ", ".join(parts)
