"""The key of a UNION ALL: the keys of both branches, and a tag that identifies the branch.

Before: ``union all (project city over scan customers, project page over scan visits_by_id)``.
After: the same with two more hidden columns: the branches' keys (cust_id, visit_id), and the tag 0 or 1.
Key columns of different types get a column each, NULL in the other branch. No tag if a visible column already differs
between the branches, and no key if a branch has none.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from rollview.keys.facts import facts_of
from rollview.plan.expressions import Expr, ref
from rollview.plan.nodes import Column, Computed, Node, Project, UnionAll

TAG = "__branch"

#: The name of the tag in explanations.
BRANCH = "the branch of the UNION ALL"


def tagged(node: UnionAll, carrying: Callable[[Node], Node]) -> UnionAll | None:
    """The union with the keys of its branches as additional columns; None if a branch has no key. Nested unions are
    flattened into branches."""
    visible = _branches(node)
    branches = [carrying(branch) for branch in visible]
    if not node.output or any(facts_of(branch).key is None for branch in branches):
        return None
    keys = _paired([_carried(branch, seen) for branch, seen in zip(branches, visible, strict=True)])
    with_keys = _extended(node, branches, visible, keys)
    if facts_of(with_keys).key is not None:
        return with_keys
    numbers: list[Expr] = [exp.Literal.number(i) for i in range(len(branches))]
    return _extended(node, branches, visible, [*keys, (TAG, exp.DataType.build("int"), numbers)])


def _branches(node: Node) -> list[Node]:
    if not isinstance(node, UnionAll):
        return [node]
    return [branch for side in node.inputs for branch in _branches(side)]


#: An added column: its label, its type, and its value in each branch.
_Added = tuple[str, exp.DataType, list[Expr]]


def _carried(branch: Node, visible: Node) -> list[Column]:
    """The columns of a branch's key that the union does not show."""
    key = facts_of(branch).key or frozenset()
    return [c for c in branch.columns if c.name in key and c.name not in visible.names]


def _paired(branches: list[list[Column]]) -> list[_Added]:
    """Columns for the keys of all branches; key columns of the same type share one."""
    added: list[_Added] = []
    for place, columns in enumerate(branches):
        free = list(range(len(added)))
        for column in columns:
            partner = next((i for i in free if added[i][1] == column.type), None)
            if partner is None:
                added.append((column.label, column.type, [_null(column.type) for _ in branches]))
                partner = len(added) - 1
            else:
                free.remove(partner)
            added[partner][2][place] = ref(column.name)
    return added


def _null(kind: exp.DataType) -> Expr:
    return exp.null() if kind.this == exp.DataType.Type.UNKNOWN else exp.Cast(this=exp.null(), to=kind.copy())


def _extended(node: UnionAll, branches: list[Node], visible: list[Node], added: list[_Added]) -> UnionAll:
    base = node.output[0].name
    hidden = tuple(Column(f"{base}_h{i}", label, kind) for i, (label, kind, _) in enumerate(added))
    carrying = []
    for place, (branch, seen) in enumerate(zip(branches, visible, strict=True)):
        shown = [Computed(column, ref(column.name)) for column in seen.columns]
        own = [Computed(Column(f"{out.name}_{place}", out.label, out.type), values[place])
               for out, (_, _, values) in zip(hidden, added, strict=True)]  # fmt: skip
        carrying.append(Project(branch, (*shown, *own)))
    left = iter(carrying)

    def over(old: Node) -> Node:
        if not isinstance(old, UnionAll):
            return next(left)
        return UnionAll(over(old.left), over(old.right), (*old.output, *hidden))

    whole = over(node)
    assert isinstance(whole, UnionAll)
    return whole
