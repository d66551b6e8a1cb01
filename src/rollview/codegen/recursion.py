"""WITH RECURSIVE: the anchor and the step are one recursive CTE."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from rollview.codegen.clauses import relation
from rollview.codegen.ctes import Ctes
from rollview.plan.expressions import Expr, ref
from rollview.plan.nodes import Column, Node, Recursive


def recursive(ctes: Ctes, node: Recursive) -> exp.Query:
    ctes.recursive = True
    anchor = _labelled(relation(ctes.cte(node.left)), node.left, node.output)
    ctes.inline = True
    step = _labelled(ctes.source(node.right), node.right, node.output)
    ctes.inline = False
    ctes.done.append((node.name, exp.Union(this=anchor, expression=step, distinct=node.distinct)))
    output = [exp.alias_(ref(c.label), c.name, quoted=True) for c in node.output]
    return exp.Select(expressions=output).from_(relation(node.name), copy=False)


def _labelled(source: Expr, side: Node, output: Sequence[Column]) -> exp.Select:
    """The columns of one side under the labels of the output, by which the recursive relation is read."""
    names = [exp.alias_(ref(c.name), out.label, quoted=True) for c, out in zip(side.columns, output, strict=True)]
    return exp.Select(expressions=names).from_(source, copy=False)
