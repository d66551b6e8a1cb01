"""A SELECT while it is built."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from rollview.frontend.sql.bind import bind
from rollview.frontend.sql.context import Context
from rollview.frontend.sql.functions import is_outer_generator
from rollview.frontend.sql.scope import Scope
from rollview.frontend.sql.subqueries import Pending, attach
from rollview.frontend.sql.window_clause import with_window_clause
from rollview.plan.expressions import Expr, replace_columns
from rollview.plan.nodes import Column, Generate, Node


@dataclass(frozen=True)
class Generated:
    """A generator in the select list, and its columns."""

    node: Expr
    value: Expr
    output: tuple[Column, ...]

    def over(self, plan: Node, value: Expr) -> Node:
        """The plan with the generator applied to each row."""
        return Generate(plan, value, self.output, is_outer_generator(self.node))


@dataclass
class SelectDraft:
    """The plan so far, the scope of its names, and the items of the select list. ``generated`` is a generator over
    groups: it is applied after the aggregation."""

    context: Context
    node: exp.Select
    scope: Scope
    plan: Node
    items: list[tuple[str, Expr]] = field(default_factory=list)
    pending: list[Pending] = field(default_factory=list)
    values: dict[str, Expr] = field(default_factory=dict)
    generated: Generated | None = None

    def bound(self, expr: Expr) -> Expr:
        """The expression over the columns of the plan."""
        aliases = {label.casefold(): value for label, value in self.items}
        return bind(with_window_clause(self.context, self.node, expr), self.scope, self.context, self.pending, aliases)

    def settle(self) -> None:
        """Joins the pending subqueries to the plan, and replaces their columns by their values."""
        if not self.pending:
            return
        self.plan, values = attach(self.context, self.plan, self.pending)
        self.pending.clear()
        self.items = [(label, replace_columns(value, values)) for label, value in self.items]
        self.values.update(values)
