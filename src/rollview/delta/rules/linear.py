"""Filter, project, explode, UNION ALL, restriction: the operator over the delta.

    Δ(σ R) = σ ΔR      Δ(π R) = π ΔR      Δ(R ∪ S) = ΔR ∪ ΔS

Before: ``filter a > 1 over scan t``. After: ``filter a > 1 over scan t change``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from rollview.delta.derivation import Derivation, change_scan
from rollview.delta.weights import together, weighted
from rollview.errors import InternalError
from rollview.plan.expressions import ref
from rollview.plan.nodes import Computed, Filter, Generate, Node, Project, Restrict, Scan, UnionAll, exactly
from rollview.plan.reserved import WEIGHT
from rollview.plan.types import converted


def scan(node: Scan, derivation: Derivation) -> Node | None:
    return change_scan(node)


def filter_(node: Filter, derivation: Derivation) -> Node | None:
    below = derivation.delta(node.input)
    return None if below is None else Filter(below, node.condition)


def project(node: Project, derivation: Derivation) -> Node | None:
    below = derivation.delta(node.input)
    return None if below is None else Project(below, (*node.output, Computed(WEIGHT, ref(WEIGHT.name))))


def restrict(node: Restrict, derivation: Derivation) -> Node | None:
    """The keys never change: they are those of an unchanged join partner."""
    if derivation.touches(node.keys):
        raise InternalError(f"the keys of {node.title} {node.details} must not change")
    below = derivation.delta(node.input)
    if below is None:
        return None
    found = node.with_inputs([derivation.materialized(below), derivation.new(node.keys)])
    return exactly(found, (*node.columns, WEIGHT))


def generate(node: Generate, derivation: Derivation) -> Node | None:
    below = derivation.delta(node.input)
    return None if below is None else Generate(below, node.generator, node.output, node.outer)


def union_all(
    node: UnionAll, derivation: Derivation, delta_of: Callable[[Node], Node | None] | None = None
) -> Node | None:
    deltas = [(delta_of or derivation.delta)(side) for side in node.inputs]
    terms: list[Node | None] = []
    for side, below in zip(node.inputs, deltas, strict=True):
        if below is None and converted(node) and any(delta is not None for delta in deltas):
            below = weighted(Filter(derivation.new(side), exp.false()), 1)  # it affects the type
        if below is not None:
            pairs = zip(node.output, side.columns, strict=True)
            renamed = tuple(Computed(replace(out, type=column.type), ref(column.name)) for out, column in pairs)
            below = Project(exactly(below, (*side.columns, WEIGHT)), (*renamed, Computed(WEIGHT, ref(WEIGHT.name))))
        terms.append(below)
    return together(terms, node.output)
