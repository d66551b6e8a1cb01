"""Inner join of any number of inputs: one term for each changed input.

    Δ(R₁ ⋈ … ⋈ Rₙ) = Σᵢ  R₁ⁿᵉʷ ⋈ … ⋈ Rᵢ₋₁ⁿᵉʷ ⋈ ΔRᵢ ⋈ Rᵢ₊₁ᵒˡᵈ ⋈ … ⋈ Rₙᵒˡᵈ

n terms, never 2ⁿ − 1; an unchanged input has no term. Right for any condition. If a delta is joined with more than
plain tables, it is materialized first: its partners are then computed for the delta's keys only. If equalities connect
the changed inputs, the unchanged inputs U are joined to the sum of the terms, and so read once instead of in each term.

    Δ(R ⋈ U) = Δ(R) ⋈ U

With many changed inputs the terms share their joins: see ``wide_join``.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from rollview.delta.derivation import Derivation
from rollview.delta.rules.wide_join import MOST_TERMS, wide_delta
from rollview.delta.weights import together
from rollview.plan.expressions import Expr, conjunction, equality, names_in
from rollview.plan.nodes import CROSS, FULL, INNER, JOINS, Filter, Generate, Join, MultiJoin, Node, Project, Scan


def multi_join(node: MultiJoin, derivation: Derivation) -> Node | None:
    return inner_delta(node, derivation)


def inner_delta(node: Join | MultiJoin, derivation: Derivation) -> Node | None:
    """The delta of an inner or cross join."""
    changed = [part for part in node.inputs if derivation.touches(part)]
    if 1 < len(changed) < len(node.inputs) and _tied_together(changed, node.conditions):
        return _of_changed(node, changed, derivation)
    if len(changed) > MOST_TERMS:
        return wide_delta(node, derivation, _joined_with)
    terms: list[Node | None] = []
    for place, part in enumerate(node.inputs):
        delta = derivation.delta(part)
        if delta is not None:
            before = [derivation.new(other) for other in node.inputs[:place]]
            after = [derivation.old(other) for other in node.inputs[place + 1 :]]
            terms.append(_joined_with(delta, [*before, *after], list(node.conditions), derivation))
    return together(terms, node.columns)


def _of_changed(node: Join | MultiJoin, changed: Sequence[Node], derivation: Derivation) -> Node | None:
    """The delta of the join of the changed inputs, joined with the unchanged ones."""
    names = _names(changed)
    own = [condition for condition in node.conditions if names_in(condition) <= names]
    delta = derivation.delta(_joined(changed, own))
    if delta is None:
        return None
    others = [derivation.new(part) for part in node.inputs if part not in changed]
    conditions = [condition for condition in node.conditions if condition not in own]
    return together([_joined_with(delta, others, conditions, derivation)], node.columns)


def _joined_with(delta: Node, others: list[Node], conditions: list[Expr], derivation: Derivation) -> Node:
    """A delta joined with one version of each other input."""
    if not all(plain(other) for other in others):
        delta, others, conditions = _narrowed(delta, others, conditions)
        delta = derivation.materialized(delta)
    return _joined([delta, *others], conditions)


def _tied_together(parts: Sequence[Node], conditions: Sequence[Expr]) -> bool:
    """Whether equalities connect all of these inputs, directly or transitively."""
    tied, rest = [parts[0]], list(parts[1:])
    while rest:
        found = next((part for part in rest if _tied(_names(tied), part.names, conditions)), None)
        if found is None:
            return False
        tied.append(found)
        rest.remove(found)
    return True


def _tied(some: frozenset[str], others: frozenset[str], conditions: Sequence[Expr]) -> bool:
    """Whether an equality compares columns of one set with columns of the other."""
    used = (names_in(condition) for condition in conditions if equality(condition) is not None)
    return any(names & some and names & others and names <= some | others for names in used)


def _names(parts: Sequence[Node]) -> frozenset[str]:
    return frozenset[str]().union(*(part.names for part in parts))


def _joined(parts: Sequence[Node], conditions: Sequence[Expr]) -> Node:
    if len(parts) == 1:
        return Filter(parts[0], condition) if (condition := conjunction(conditions)) is not None else parts[0]
    if len(parts) == 2:
        return Join(INNER if conditions else CROSS, parts[0], parts[1], conjunction(conditions))
    return MultiJoin(tuple(parts), tuple(conditions))


def _narrowed(delta: Node, others: list[Node], conditions: list[Expr]) -> tuple[Node, list[Node], list[Expr]]:
    """The delta joined with filtered tables first; and the inputs and conditions that remain."""
    for other in list(others):
        ready = [condition for condition in conditions if names_in(condition) <= delta.names | other.names]
        if (
            _tied(delta.names, other.names, ready)
            and plain(other)
            and any(isinstance(node, Filter) for node in other.walk())
        ):
            delta = _joined([delta, other], ready)
            others = [each for each in others if each is not other]
            conditions = [condition for condition in conditions if condition not in ready]
    return delta, others, conditions


def one_changed(plan: Node, derivation: Derivation) -> bool:
    """Whether a plan has one changed table, whose delta can be computed without its old and new rows."""
    if isinstance(plan, Filter | Project | Generate):
        return one_changed(plan.inputs[0], derivation)
    if isinstance(plan, JOINS):
        changed = [side for side in plan.inputs if derivation.touches(side)]
        deciding = plan.inputs if plan.kind.is_inner else plan.inputs[:1]
        alone = len(changed) == 1 and changed[0] in deciding and plan.kind != FULL
        return alone and one_changed(changed[0], derivation)
    return isinstance(plan, Scan)


def key_equalities(node: Join) -> tuple[list[tuple[Expr, Expr]], list[Expr]] | None:
    """The equalities (left, right) of an equijoin, and its conditions on the right side alone; None if the join has
    other conditions."""
    pairs: list[tuple[Expr, Expr]] = []
    own: list[Expr] = []
    for part in node.conditions:
        sides = equality(part) if isinstance(part, exp.EQ) else None
        if names_in(part) and names_in(part) <= node.right.names:
            own.append(part)
        elif sides is None:
            return None
        else:
            a, b = sides if names_in(sides[0]) <= node.left.names else sides[::-1]
            if not (names_in(a) and names_in(b) and names_in(a) <= node.left.names and names_in(b) <= node.right.names):
                return None
            pairs.append((a, b))
    return (pairs, own) if pairs else None


def plain(node: Node) -> bool:
    """Whether an input is a table, possibly filtered or projected."""
    return plain(node.input) if isinstance(node, Filter | Project) else isinstance(node, Scan)
