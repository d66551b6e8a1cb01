"""Projections and filters as one SELECT, down to the relation that they read.

Before: ``project a + 1 AS c`` over ``filter b > 2`` over ``project x AS a, y AS b`` over ``scan t``: four CTEs.
After: ``SELECT x + 1 AS c FROM t WHERE y > 2``.
An engine analyses every SELECT several times before it runs a query. A computed value keeps a SELECT of its own if it
is read more than once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from rollview.plan.expressions import Expr, ref, replace_columns
from rollview.plan.nodes import Column, Filter, Node, Project, Scan


@dataclass(frozen=True)
class Flat:
    """Values over the rows of ``source`` that satisfy the conditions; with ``read``, of the relation that it scans."""

    source: Node
    values: tuple[Expr, ...]
    conditions: tuple[Expr, ...]
    read: Scan | None


def flattened(node: Node, values: Sequence[Expr], *, computed: bool = True) -> Flat:
    """Values over an operator's rows, as values over the rows of an operator below it. Without ``computed``, only
    columns replace columns."""
    given, conditions = list(values), list[Expr]()

    def put_in(below: Mapping[str, Expr]) -> None:
        given[:] = [replace_columns(value, below).unnest() for value in given]
        conditions[:] = [replace_columns(value, below) for value in conditions]

    while True:
        if isinstance(node, Filter):
            conditions.insert(0, node.condition)
        elif isinstance(node, Project) and _fits(node, [*given, *conditions], computed):
            put_in({item.column.name: item.value for item in node.output})
        else:
            break
        node = node.inputs[0]
    read = node if isinstance(node, Scan) and not _names_of_its_own([*given, *conditions]) else None
    if read is not None:
        put_in({c.name: _typed(source, c) for c, source in zip(read.columns, read.sources, strict=True)})
    return Flat(node, tuple(given), tuple(dict.fromkeys(conditions)), read)  # a restriction may occur twice


def _typed(name: str, column: Column) -> Expr:
    found = ref(name)
    found.type = column.type
    return found


def _names_of_its_own(values: Sequence[Expr]) -> bool:
    """Whether values contain names of fields or lambda arguments, which may also be names of columns."""
    return any(value.find(exp.Lambda, exp.Dot) for value in values)


def _fits(node: Project, readers: Sequence[Expr], computed: bool) -> bool:
    made = [item for item in node.output if not isinstance(item.value, exp.Column)]
    if not computed:
        return not made
    names = Counter(column.name for reader in readers for column in reader.find_all(exp.Column))
    return all(names[item.column.name] <= 1 or isinstance(item.value, exp.Literal) for item in made)
