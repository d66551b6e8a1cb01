"""UNION ALL, EXCEPT and INTERSECT."""

from __future__ import annotations

from functools import reduce

from sqlglot import exp

from rollview.codegen.ctes import Ctes
from rollview.plan.expressions import ref
from rollview.plan.nodes import Combined, Node, SetKind, SetOperation, UnionAll


def union_all(ctes: Ctes, node: UnionAll) -> exp.Query:
    return _combined(ctes, node, exp.Union, distinct=False)


def set_operation(ctes: Ctes, node: SetOperation) -> exp.Query:
    kind = exp.Intersect if node.kind is SetKind.INTERSECT else exp.Except
    return _combined(ctes, node, kind, distinct=not node.all)


def _combined(ctes: Ctes, node: Combined, kind: type[exp.SetOperation], *, distinct: bool) -> exp.Query:
    sides: list[exp.Query] = []
    waiting: list[Node] = [node.right, node.left]
    while waiting:
        side = waiting.pop()
        if kind is exp.Union and isinstance(side, UnionAll) and ctes.readers[side] == 1:
            waiting += [side.right, side.left]
            continue
        names = zip(side.columns, node.output, strict=True)
        sides.append(ctes.flat(side, [(ref(column.name), out.name) for column, out in names]))
    return reduce(lambda left, right: kind(this=left, expression=right, distinct=distinct), sides)
