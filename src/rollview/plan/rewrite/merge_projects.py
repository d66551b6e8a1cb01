"""Merge two projections into one.

Before: ``project b + 1 AS c over project a * 2 AS b over x``. After: ``project a * 2 + 1 AS c over x``.
Not if an expression other than a column or a literal would be computed more often than before.
"""

from __future__ import annotations

from collections import Counter

from sqlglot import exp

from rollview.plan.expressions import replace_columns
from rollview.plan.nodes import Computed, Node, Project


def merge_projects(node: Node) -> Node | None:
    if not isinstance(node, Project) or not isinstance(node.input, Project):
        return None
    values = {item.column.name: item.value for item in node.input.output}
    uses = Counter(column.name for value in node.expressions for column in value.find_all(exp.Column))
    if any(n > 1 and not isinstance(values.get(name), exp.Column | exp.Literal) for name, n in uses.items()):
        return None
    output = tuple(Computed(item.column, replace_columns(item.value, values)) for item in node.output)
    return Project(node.input.input, output)
