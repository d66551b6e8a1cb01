"""The key of a UNION ALL: the keys of both branches, and a tag that tells the branches apart.

Before: ``union all (project city over scan customers, project page over scan visits_by_id)``.
After: the same with two hidden columns more: the branches' keys (cust_id, visit_id), and the tag 0 or 1.
Key columns of different types get a column each, NULL in the other branch. No tag where a visible column tells the
branches apart already, and none where a branch has no key.
"""

from __future__ import annotations

from sqlglot import exp

from rollview.keys.facts import constants, facts_of
from rollview.plan.expressions import Expr, ref
from rollview.plan.nodes import Column, Computed, Node, Project, UnionAll

TAG = "__branch"


def tagged(node: UnionAll, left: Node, right: Node) -> UnionAll | None:
    """The union of two branches that carry their keys beside the columns of the union; None if one has no key."""
    if not node.output or facts_of(left).key is None or facts_of(right).key is None:
        return None
    with_keys = _extended(node, left, right, _paired(_carried(left, node.left), _carried(right, node.right)))
    if facts_of(with_keys).key is not None:
        return with_keys
    old = next((c for c in left.columns if c.label == TAG and c.name not in node.left.names), None)
    branches = constants(left, old.name) if old is not None else None
    first: Expr = ref(old.name) if old is not None and branches is not None else exp.Literal.number(0)
    tag = (TAG, exp.DataType.build("int"), first, exp.Literal.number(len(branches) if branches is not None else 1))
    return _extended(node, left, right, [*_paired(_carried(left, node.left), _carried(right, node.right)), tag])


#: A column to add: label, type, and its value in each branch.
_Added = tuple[str, exp.DataType, Expr, Expr]


def _carried(branch: Node, visible: Node) -> list[Column]:
    """The columns of a branch's key that the union does not show."""
    key = facts_of(branch).key or frozenset()
    return [c for c in branch.columns if c.name in key and c.name not in visible.names and c.label != TAG]


def _paired(left: list[Column], right: list[Column]) -> list[_Added]:
    """Columns for both keys; two of the same type share one."""
    free = list(right)
    added: list[_Added] = []
    for column in left:
        partner = next((c for c in free if c.type == column.type), None)
        if partner is not None:
            free.remove(partner)
        other = _null(column.type) if partner is None else ref(partner.name)
        added.append((column.label, column.type, ref(column.name), other))
    return [*added, *((column.label, column.type, _null(column.type), ref(column.name)) for column in free)]


def _null(kind: exp.DataType) -> Expr:
    return exp.null() if kind.this == exp.DataType.Type.UNKNOWN else exp.Cast(this=exp.null(), to=kind.copy())


def _extended(node: UnionAll, left: Node, right: Node, added: list[_Added]) -> UnionAll:
    base = node.output[0].name
    output = [Column(f"{base}_h{i}", label, kind) for i, (label, kind, _, _) in enumerate(added)]
    sides = []
    for place, (branch, visible) in enumerate(((left, node.left), (right, node.right))):
        shown = [Computed(column, ref(column.name)) for column in visible.columns]
        own = [Computed(Column(f"{out.name}_{place}", out.label, out.type), (a, b)[place])
               for out, (_, _, a, b) in zip(output, added, strict=True)]  # fmt: skip
        sides.append(Project(branch, (*shown, *own)))
    return UnionAll(sides[0], sides[1], (*node.output, *output))
