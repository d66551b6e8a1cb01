"""Left and full outer join: the delta of the inner join, and the padded delta of the anti join.

    Δ(L ⟕ R) = Δ(L ⋈ R) + pad(Δ(L ▷ R))
    Δ(L ⟗ R) = Δ(L ⋈ R) + pad(Δ(L ▷ R)) + pad(Δ(R ▷ L))

Right for any condition, and for bags: a row that loses its last match is inserted padded, once for each of its copies.
"""

from __future__ import annotations

from sqlglot import exp

from rollview.delta.derivation import Derivation
from rollview.delta.rules.join import inner_delta
from rollview.delta.rules.match import matching_delta
from rollview.delta.weights import together
from rollview.plan.expressions import TRUE, ref
from rollview.plan.nodes import ANTI, FULL, INNER, LEFT, Computed, Filter, Join, Node, Project
from rollview.plan.reserved import WEIGHT


def outer_delta(node: Join, derivation: Derivation) -> Node | None:
    inner = Join(INNER, node.left, node.right, node.condition)
    derivation.materialize(node.left, node.right)  # several terms read each delta
    terms = [inner_delta(inner, derivation), _padded(node.left, node.right, node, derivation)]
    if node.kind == FULL:
        terms.append(_padded(node.right, node.left, node, derivation))
    return together(terms, node.columns)


def _padded(kept: Node, other: Node, node: Join, derivation: Derivation) -> Node | None:
    """The delta of one side's rows without a match, padded with NULLs for the other side's columns."""
    delta = matching_delta(Join(ANTI, kept, other, node.condition), derivation)
    if delta is None:
        return None
    if any(column.type.this == exp.DataType.Type.UNKNOWN for column in other.columns):
        # only the engine knows the types: a left join with an empty input gives typed NULLs
        return Join(LEFT, delta, Filter(derivation.new(other), exp.false()), TRUE)
    nulls = (Computed(c, exp.Cast(this=exp.null(), to=c.type.copy())) for c in other.columns)
    own = (Computed(c, ref(c.name)) for c in (*kept.columns, WEIGHT))
    return Project(delta, (*own, *nulls))
