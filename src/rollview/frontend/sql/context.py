"""What every builder of a part of the plan needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from rollview.errors import NotIncremental
from rollview.frontend.sql.scope import BaseTable, Scope, place, typed
from rollview.frontend.sql.unique_names import Numbering
from rollview.parse.names import Name
from rollview.plan.expressions import Expr
from rollview.plan.nodes import Column, Computed, Node, Project

#: Finds a table by the name that a query uses; None if there is none.
Tables = Callable[[Name], BaseTable | None]


@dataclass(frozen=True)
class Cte:
    """A named query, and the context of its definition. Inside a recursion, ``step`` holds its columns. If several
    places read it, ``built`` holds the plan that they share, once it is built."""

    query: Expr
    labels: tuple[str, ...]
    context: Context
    recursive: bool = False
    step: tuple[Column, ...] | None = None
    built: list[Node] | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Context:
    sql: str
    tables: Tables
    numbering: Numbering
    build: Callable[[Context, Expr, Scope | None], Node]
    ctes: Mapping[str, Cte] = field(default_factory=dict)

    def query(self, node: Expr, parent: Scope | None) -> Node:
        """The plan of a query inside a scope."""
        return self.build(self, node, parent)

    def with_cte(self, name: str, cte: Cte) -> Context:
        return replace(self, ctes={**self.ctes, name.casefold(): cte})


def again(context: Context, plan: Node) -> tuple[Node, dict[str, str]]:
    """A copy of a plan under new column names, and the new names by the old."""
    output = context.numbering.columns([c.label for c in plan.columns], [c.type for c in plan.columns])
    pairs = list(zip(plan.columns, output, strict=True))
    renamed = Project(plan, tuple(Computed(new, typed(old)) for old, new in pairs))
    return renamed, {old.name: new.name for old, new in pairs}


class Unbuildable(NotIncremental):
    """A query that Spark understands and the compiler does not; such a view is recomputed in full."""

    code = "not_compiled"


def unbuildable(context: Context, what: str, node: Expr) -> Unbuildable:
    return Unbuildable(
        f"{what} cannot be compiled yet",
        where=place(context.sql, node),
        why="no plan is built for it",
        todo="the view works with a full refresh",
    )


def literal_number(context: Context, node: Expr | None, what: str) -> int | None:
    """The number in LIMIT or OFFSET."""
    if node is None:
        return None
    value = node.expression if isinstance(node, exp.Limit | exp.Offset) else node
    if isinstance(value, exp.Literal) and not value.is_string:
        return int(value.this)
    raise unbuildable(context, f"{what} {value.sql('spark')}", value)
