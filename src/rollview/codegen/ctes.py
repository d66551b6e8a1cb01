"""The CTEs of a query: each operator of a plan is one, and equal parts of the plan share one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlglot import exp

from rollview.codegen.clauses import dummy, named, relation, selected
from rollview.codegen.flatten import flattened
from rollview.errors import InternalError
from rollview.plan.expressions import Expr, conjunction, ref
from rollview.plan.nodes import JOINS, MARK, SINGLE, Column, Join, Node, RecursiveRef, Restrict, Scan

#: Names the relation that a scan reads.
Relations = Callable[[Scan], str]

#: Prints each type of operator as a query over the CTEs of its inputs.
Printers = Mapping[type[Node], Callable[["Ctes", Any], exp.Query]]


class Ctes:
    """Collects the CTEs, from the leaves up. ``readers`` counts the operators that read each operator."""

    def __init__(self, dialect: str, printers: Printers, relations: Relations, readers: Mapping[Node, int]) -> None:
        self.dialect = dialect
        self.printers = printers
        self.relations = relations
        self.readers = readers
        self.done: list[tuple[str, exp.Query]] = []
        self.recursive = False
        self._known: dict[Node, str] = {}
        self.inline = False  # inside the step of a recursion: what reads the recursive relation is a subquery

    def cte(self, node: Node) -> str:
        """The name of the operator's CTE, which is added if it is new."""
        if node not in self._known:
            query = self.query(node)
            title = Join.title if isinstance(node, Restrict) else node.title
            name = f"{title.replace(' ', '_')}_{len(self.done)}"
            self.done.append((name, query))
            self._known[node] = name
        return self._known[node]

    def source(self, node: Node) -> Expr:
        """The relation for an input in FROM: a CTE, or a subquery inside a recursion."""
        if isinstance(node, RecursiveRef):
            query = selected(node.columns).from_(relation(node.name), copy=False)
            query.set("expressions", [exp.alias_(ref(c.label), c.name, quoted=True) for c in node.columns])
            return query.subquery(exp.to_identifier(f"r_{node.columns[0].name}", quoted=True), copy=False)
        if self.inline and _is_recursive(node):
            alias = exp.to_identifier(f"{node.title.replace(' ', '_')}_{node.columns[0].name}", quoted=True)
            return self.query(node).subquery(alias, copy=False)
        return relation(self.cte(node))

    def is_own_join(self, node: Node) -> bool:
        """Whether an operator is a join that needs no CTE: nothing else reads it, and it computes no columns."""
        computes = isinstance(node, Join) and (node.kind.pads_left or node.kind in (MARK, SINGLE))
        return (
            isinstance(node, JOINS)
            and not computes
            and self.readers[node] < 2
            and node not in self._known
            and not self.inline
        )

    def query(self, node: Node) -> exp.Query:
        """The operator's own SELECT."""
        printer = self.printers.get(type(node))
        if printer is None:
            raise InternalError(f"there is no SQL for {node.title}")
        return printer(self, node)

    def over(self, node: Node, columns: Sequence[Column]) -> exp.Select:
        """SELECT columns FROM the operator."""
        return selected(columns).from_(self.source(node), copy=False)

    def flat(self, node: Node, output: Sequence[tuple[Expr, str]], *, computed: bool = True) -> exp.Select:
        """Named values over an operator's rows, as one SELECT with the projections and filters below, and the joins
        that only it reads."""
        flat = flattened(node, [value for value, _ in output], computed=computed)
        values = [named(value.copy(), name) for value, (_, name) in zip(flat.values, output, strict=True)]
        if flat.read is None and self.is_own_join(flat.source):
            query = self.query(flat.source)
            assert isinstance(query, exp.Select)
            query.set("expressions", values or [dummy()])
        else:
            source = self.source(flat.source) if flat.read is None else relation(self.relations(flat.read))
            query = exp.Select(expressions=values or [dummy()]).from_(source, copy=False)
        condition = conjunction([part.copy() for part in flat.conditions])
        return query if condition is None else query.where(condition, copy=False)


def _is_recursive(node: Node) -> bool:
    return any(isinstance(part, RecursiveRef) for part in node.walk())
