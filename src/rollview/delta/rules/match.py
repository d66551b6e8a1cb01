"""Semi, anti, mark and single joins: recompute the left rows that match a changed right row.

    T        = Lᵒˡᵈ ⋉ ΔR                      the affected left rows
    Δ(L ⊙ R) = ΔL ⊙ Rⁿᵉʷ  +  T ⊙ Rⁿᵉʷ  −  T ⊙ Rᵒˡᵈ

for ⊙ any of semi, anti, mark, single, on any condition. In a mark join for IN or NOT IN, whose comparison may be NULL,
a right row affects a left row unless the comparison is false: a NULL on either side counts.

For semi and anti joins on equalities, ``semi_anti`` has a cheaper rule.
"""

from __future__ import annotations

from sqlglot import exp

from rollview.delta.derivation import Derivation
from rollview.delta.rules.semi_anti import equi_condition, equi_delta
from rollview.delta.weights import negated, together, weighted
from rollview.plan.expressions import Expr, conjunction, conjuncts
from rollview.plan.nodes import SEMI, Join, Node


def matching_delta(node: Join, derivation: Derivation) -> Node | None:
    if (equalities := equi_condition(node)) is not None:
        return equi_delta(node, *equalities, derivation)
    left, right = derivation.delta(node.left), derivation.delta(node.right)
    terms: list[Node | None] = []
    if left is not None:
        left = derivation.materialized(left)
        terms.append(node.with_inputs([left, derivation.new(node.right)]))
    if right is not None:
        affected = affected_left(node, derivation, right)
        terms.append(node.with_inputs([affected, derivation.new(node.right)]))
        terms.append(negated(node.with_inputs([affected, derivation.old(node.right)])))
    return together(terms, node.columns)


def affected_left(node: Join, derivation: Derivation, right: Node) -> Node:
    """The old left rows that a changed right row can affect, as a delta."""
    rows = Join(SEMI, derivation.old(node.left), derivation.materialized(right), match_condition(node))
    return derivation.step("affected", weighted(rows, 1), "left rows whose match may have changed")


def match_condition(node: Join) -> Expr:
    """The condition under which a right row can affect a left row."""
    parts = conjuncts(node.condition)
    if node.compared is not None:
        false = exp.Is(this=exp.Paren(this=node.compared.copy()), expression=exp.false())
        parts = [*parts, exp.Not(this=exp.Paren(this=false))]
    return conjunction(parts) or exp.true()
