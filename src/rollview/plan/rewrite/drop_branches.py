"""Drop a branch of a UNION ALL if its condition is always false.

Before: ``union all (filter 's' = 's' over a, filter 'c' = 's' over b)``, the result of pushing down ``tag = 's'``.
After: ``project over a``.
Only literals are compared, and strings only if they differ in every collation. Not if the dropped branch determines
the type of a column.
"""

from __future__ import annotations

from functools import lru_cache

from sqlglot import exp

from rollview.plan.expressions import Expr, conjunction, conjuncts, ref
from rollview.plan.nodes import Aggregate, Computed, Filter, Node, Project, UnionAll
from rollview.plan.types import converted


def drop_branches(node: Node) -> Node | None:
    if isinstance(node, Filter):
        return _folded(node)
    if not isinstance(node, UnionAll) or converted(node):
        return None
    kept = [side for side in node.inputs if not _is_empty(side)]
    if len(kept) != 1:
        return None
    pairs = zip(node.output, kept[0].columns, strict=True)
    return Project(kept[0], tuple(Computed(out, ref(column.name)) for out, column in pairs))


def _folded(node: Filter) -> Node | None:
    parts = conjuncts(node.condition)
    truths = [_truth(part) for part in parts]
    if all(each is None for each in truths):
        return None
    if False in truths:
        return None if parts == [exp.false()] else Filter(node.input, exp.false())
    left = conjunction(part for part, each in zip(parts, truths, strict=True) if each is None)
    return node.input if left is None else Filter(node.input, left)


def _truth(part: Expr) -> bool | None:
    """The truth value of a condition over literals; None if it is not constant."""
    if isinstance(part, exp.Boolean):
        return bool(part.this)
    if not isinstance(part, exp.EQ) or not all(isinstance(side, exp.Literal) for side in (part.left, part.right)):
        return None
    if part.left == part.right:
        return True
    if part.left.is_string and part.right.is_string:
        texts = [side.name.casefold().strip() for side in (part.left, part.right)]
        return False if texts[0] != texts[1] and all(text.isascii() for text in texts) else None
    return False if part.left.is_int and part.right.is_int and int(part.left.name) != int(part.right.name) else None


@lru_cache(maxsize=4096)
def _is_empty(node: Node) -> bool:
    if isinstance(node, Filter) and exp.false() in conjuncts(node.condition):
        return True
    if isinstance(node, UnionAll):
        return all(_is_empty(side) for side in node.inputs)
    passes = isinstance(node, Filter | Project) or (isinstance(node, Aggregate) and node.keys and node.sets is None)
    return bool(passes) and _is_empty(node.inputs[0])
