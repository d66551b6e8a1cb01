"""Joins of two inputs, n-way inner joins, and restrictions to keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import ClassVar

from sqlglot import exp

from rollview.errors import InternalError
from rollview.plan.expressions import Expr, conjunction, conjuncts, names_in, ref, show
from rollview.plan.nodes.base import Column, Node


class JoinKind(str, Enum):
    """What a join returns. ``MARK`` adds a column that says whether a row has a match; ``SINGLE`` adds the right
    columns, for a right side in which a left row has at most one match, like a scalar subquery."""

    INNER = "inner"
    LEFT = "left"
    RIGHT = "right"
    FULL = "full"
    SEMI = "semi"
    ANTI = "anti"
    CROSS = "cross"
    MARK = "mark"
    SINGLE = "single"

    def __str__(self) -> str:
        return self.value

    @property
    def is_inner(self) -> bool:
        """Only matching pairs are returned: INNER, CROSS."""
        return self in (JoinKind.INNER, JoinKind.CROSS)

    @property
    def pads_left(self) -> bool:
        """A right row without a match is returned, padded with NULLs: RIGHT, FULL."""
        return self in (JoinKind.RIGHT, JoinKind.FULL)

    @property
    def pads_right(self) -> bool:
        """A left row without a match is returned, padded with NULLs: LEFT, FULL."""
        return self in (JoinKind.LEFT, JoinKind.FULL)

    @property
    def is_outer(self) -> bool:
        return self.pads_left or self.pads_right

    @property
    def keeps_left_only(self) -> bool:
        """The result has the columns of the left side only: SEMI, ANTI."""
        return self in (JoinKind.SEMI, JoinKind.ANTI)

    @property
    def keeps_unmatched_left(self) -> bool:
        """A left row without a match is returned: LEFT, FULL, ANTI, MARK, SINGLE."""
        return self.pads_right or self in (JoinKind.ANTI, JoinKind.MARK, JoinKind.SINGLE)

    @property
    def hides_right(self) -> bool:
        """The right side is only tested for a match; none of its columns is returned: SEMI, ANTI, MARK."""
        return self.keeps_left_only or self is JoinKind.MARK

    @property
    def is_lookup(self) -> bool:
        """A left row is returned at most once, however many matches it has: SEMI, ANTI, MARK, SINGLE."""
        return self.hides_right or self is JoinKind.SINGLE


INNER, LEFT, RIGHT, FULL, SEMI, ANTI, CROSS, MARK, SINGLE = JoinKind


@dataclass(frozen=True, eq=False)
class Join(Node):
    """Pairs of rows for which the condition is true, and what the kind adds for rows without a match.

    ``compared``, of a mark join, is the comparison of an IN, which may be NULL: the mark is true if the comparison is
    true for some right row that satisfies the condition, else NULL if it is NULL for one of them, else false. ``small``
    names the side that an engine may broadcast.
    """

    title: ClassVar[str] = "join"
    kind: JoinKind
    left: Node
    right: Node
    condition: Expr | None = None
    mark: Column | None = None
    compared: Expr | None = None
    small: str | None = None

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        if self.kind.keeps_left_only:
            return self.left.columns
        if self.kind is JoinKind.MARK:
            assert self.mark is not None
            return (*self.left.columns, self.mark)
        return self.left.columns + self.right.columns

    @cached_property
    def expressions(self) -> tuple[Expr, ...]:
        return tuple(part for part in (self.condition, self.compared) if part is not None)

    @cached_property
    def conditions(self) -> tuple[Expr, ...]:
        """The conjuncts of the condition; named like the field of ``MultiJoin``."""
        return tuple(conjuncts(self.condition))

    @property
    def details(self) -> str:
        parts = [str(self.kind)]
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
    """The n-way inner join: all combinations of the inputs' rows for which every condition is true."""

    title: ClassVar[str] = "multi join"
    kind: ClassVar[JoinKind] = JoinKind.INNER
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
        """The join graph: each condition with the inputs whose columns it uses."""
        return tuple(
            (frozenset(i for i, part in enumerate(self.parts) if part.names & names_in(condition)), condition)
            for condition in self.conditions
        )


#: An expression over the restricted plan, and the key column that it must equal (NULL-safe).
Pair = tuple[Expr, str]


@dataclass(frozen=True, eq=False)
class Restrict(Node):
    """A semi join with distinct, affected keys: the input rows whose ``values`` equal the columns ``on`` of some row
    of the keys, compared NULL-safe.

    An ``optional`` restriction only reduces what is read: operators above drop the other rows anyway. ``small`` says
    that an engine may broadcast the keys.
    """

    title: ClassVar[str] = "restrict"
    kind: ClassVar[JoinKind] = JoinKind.SEMI
    input: Node
    keys: Node
    values: tuple[Expr, ...]
    on: tuple[str, ...]
    optional: bool = False
    small: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.values) != len(self.on) or not self.keys.names.issuperset(self.on):
            raise InternalError(f"a restriction compares {len(self.values)} values with {', '.join(self.on)}")

    @property
    def pairs(self) -> tuple[Pair, ...]:
        return tuple(zip(self.values, self.on, strict=True))

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return self.input.columns

    @cached_property
    def conditions(self) -> tuple[Expr, ...]:
        """The equalities between a row and its key, as conjuncts."""
        return tuple(exp.NullSafeEQ(this=value.copy(), expression=ref(name)) for value, name in self.pairs)

    @cached_property
    def expressions(self) -> tuple[Expr, ...]:
        return self.conditions

    @property
    def join(self) -> Join:
        """The restriction as a semi join."""
        return Join(SEMI, self.input, self.keys, conjunction(self.conditions), small="right" if self.small else None)

    @property
    def details(self) -> str:
        condition = conjunction(self.conditions)
        parts = ["" if condition is None else show(condition)]
        parts += ["(only to read less)"] * self.optional + ["(keys small)"] * self.small
        return " ".join(parts)


def restricted(plan: Node, pairs: Sequence[Pair], keys: Node, *, optional: bool = False) -> Node:
    """The rows of a plan whose values are among the keys; all rows if there are no pairs to compare."""
    if not pairs:
        return plan
    return Restrict(plan, keys, tuple(value for value, _ in pairs), tuple(name for _, name in pairs), optional)


#: Operators that match rows of their inputs by ``conditions``, according to their ``kind``.
JOINS = Join | MultiJoin | Restrict
