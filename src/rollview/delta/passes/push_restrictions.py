"""Push the restriction to affected keys down to the base scans.

Before: ``restrict city <=> k1 (aggregate by city over join inner (orders, customers), keys)``.
After: ``aggregate by city over join inner (orders, restrict city <=> k1 (customers, keys))``.
In a join it is pushed into every input with a column that equals the key; not from the padded side of an outer join to
the other. Not through a limit, a full join, or a window that does not partition by the key: there the result also
depends on rows with other keys, so the restriction stays above.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from rollview.plan.expressions import (
    Expr,
    columns_equal_to,
    equal_groups,
    names_in,
    ref,
    rename,
    replace_columns,
)
from rollview.plan.nodes import (
    JOINS,
    Aggregate,
    Distinct,
    Filter,
    Generate,
    Join,
    MultiJoin,
    Node,
    Pair,
    Project,
    Restrict,
    SetOperation,
    UnionAll,
    Window,
    restricted,
)
from rollview.plan.rewrite import apply_rule


def push_restrictions(plan: Node) -> Node:
    return apply_rule(plan, _moved)


def _moved(node: Node) -> Node | None:
    return _Pushing(node).into(node.input, node.pairs) if isinstance(node, Restrict) else None


class _Pushing:
    """Pushes one restriction down; the result for each operator is cached, since subplans are shared."""

    def __init__(self, whole: Restrict) -> None:
        self.keys, self.optional = whole.keys, whole.optional
        self._done: dict[tuple[Node, tuple[Pair, ...]], Node] = {}

    def into(self, node: Node, pairs: Sequence[Pair]) -> Node:
        """The restricted plan, with the restriction as far down as possible."""
        if not pairs:
            return node
        task = node, tuple(pairs)
        if task not in self._done:
            self._done[task] = self._pushed(node, pairs)
        return self._done[task]

    def _pushed(self, node: Node, pairs: Sequence[Pair]) -> Node:
        if isinstance(node, Filter | Distinct):
            return node.with_inputs([self.into(node.inputs[0], pairs)])
        if isinstance(node, Project):
            values = {item.column.name: item.value for item in node.output}
            return node.with_inputs([self.into(node.input, [(replace_columns(v, values), k) for v, k in pairs])])
        if isinstance(node, UnionAll | SetOperation):
            sides = []
            for side in node.inputs:
                names = {out.name: c.name for out, c in zip(node.output, side.columns, strict=True)}
                sides.append(self.into(side, [(rename(v, names), k) for v, k in pairs]))
            return node.with_inputs(sides)
        if isinstance(node, Aggregate) and node.keys and node.sets is None:
            values = {item.column.name: item.value for item in node.keys}
            return self._partly(node, pairs, frozenset(values), lambda v: replace_columns(v, values))
        if isinstance(node, Window):
            shared = _partitioned_by(node)
            return self._partly(node, pairs, frozenset(), lambda v: v, shared)
        if isinstance(node, Generate):
            return self._partly(node, pairs, node.input.names, lambda v: v)
        if isinstance(node, JOINS):
            return self._through_join(node, pairs)
        return self._above(node, pairs)

    def _above(self, node: Node, pairs: Sequence[Pair]) -> Node:
        return restricted(node, pairs, self.keys, optional=self.optional)

    def _partly(
        self,
        node: Node,
        pairs: Sequence[Pair],
        names: frozenset[str],
        mapped: Callable[[Expr], Expr],
        values: Sequence[Expr] = (),
    ) -> Node:
        """Pushes the pairs that may pass the operator below it, and keeps the rest above."""
        passing = [(v, k) for v, k in pairs if v in values or (names_in(v) and names_in(v) <= names)]
        rest = [pair for pair in pairs if pair not in passing]
        below = self.into(node.inputs[0], [(mapped(v), k) for v, k in passing])
        # a key is a combination of columns: if some stay above, all must be compared together
        return self._above(node.with_inputs([below]), pairs if rest else ())

    def _through_join(self, node: Join | MultiJoin | Restrict, pairs: Sequence[Pair]) -> Node:
        kind = node.kind
        if kind.pads_left:
            return self._above(node, pairs)
        inner = kind.is_inner
        deciding = node.inputs if inner else node.inputs[:1]
        # in an outer join, a right column may be NULL for any left row: it does not restrict the left
        telling = [pair for pair in pairs if inner or names_in(pair[0]) <= node.inputs[0].names]
        equal = equal_groups(node.conditions)
        sides = []
        whole = False
        for place, side in enumerate(node.inputs):
            own = [(v, k) for v, k in pairs if place < len(deciding) and names_in(v) and names_in(v) <= side.names]
            whole = whole or len(own) == len(pairs)
            tied = _tied(side, telling, equal) if inner or place > 0 else []
            have = {k for _, k in own}
            sides.append(self.into(side, [*own, *((v, k) for v, k in tied if k not in have)]))
        joined = node.with_inputs(sides)
        return joined if whole else self._above(joined, pairs)


def _partitioned_by(node: Window) -> list[Expr]:
    first, *others = (function.partition_by for function in node.functions)
    return [value for value in first if all(value in other for other in others)]


def _tied(side: Node, pairs: Sequence[Pair], equal: Sequence[Sequence[Expr]]) -> list[Pair]:
    """The restrictions that equalities imply for a side: from a ∈ keys and a = b follows b ∈ keys."""
    found: list[Pair] = []
    for value, key in pairs:
        others = columns_equal_to(value.name, equal)[1:] if isinstance(value, exp.Column) else []
        found += [(ref(name), key) for name in sorted(others) if name in side.names][:1]
    return found
