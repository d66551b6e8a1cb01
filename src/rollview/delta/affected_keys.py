"""The keys that a change can affect. A superset is enough, so it costs less than the exact delta.

    K(σ R) ⊆ K(R)      K(L ⟕ R) ⊆ K(ΔL) ∪ K(ΔR), if the condition makes R's columns equal to the key's

Before: the affected values of a in ``join left a = b (customers [a], orders [b])``, taken from its delta: five terms,
some over whole tables. After: the values of a in the change of customers, and of b in the change of orders.
If a key column cannot be traced to the changed tables, the exact delta is used.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from rollview.delta.derivation import Derivation, change_scan
from rollview.plan.expressions import Expr, columns_equal_to, conjunction, equal_groups, names_in, ref
from rollview.plan.nodes import (
    JOINS,
    SEMI,
    Aggregate,
    Column,
    Computed,
    Distinct,
    Filter,
    Join,
    MultiJoin,
    Node,
    Project,
    Restrict,
    Scan,
    SetOperation,
    UnionAll,
    Window,
    restricted,
    union_of,
)


def affected(plan: Node, names: Sequence[str], derivation: Derivation) -> list[Node]:
    """Relations over the columns ``names`` that together contain every value whose rows may have changed."""
    if not derivation.touches(plan):
        return []
    wanted = plan, tuple(dict.fromkeys(names))
    if wanted not in derivation.affected:
        names = list(wanted[1])
        found = None if plan in derivation.kept else _cheaply(plan, names, derivation)
        if found is None:
            delta = derivation.delta(plan)
            found = [] if delta is None else [delta]
        derivation.affected[wanted] = list(dict.fromkeys(_only(each, names, names) for each in found))
    return derivation.affected[wanted]


def _cheaply(plan: Node, names: Sequence[str], derivation: Derivation) -> list[Node] | None:
    if isinstance(plan, Scan):
        return [change_scan(plan)]
    if isinstance(plan, Filter | Distinct):
        if isinstance(plan, Filter) and isinstance(plan.input, Scan):
            return [Filter(change_scan(plan.input), plan.condition)]
        return affected(plan.inputs[0], names, derivation)
    if isinstance(plan, Project | Aggregate):
        output = plan.output if isinstance(plan, Project) else plan.keys
        values = {item.column.name: item.value for item in output}
        picked = [values.get(name) for name in names]
        if not all(isinstance(value, exp.Column) for value in picked):
            return None
        below_names = [value.name for value in picked if value is not None]
        return [_only(each, below_names, names) for each in affected(plan.inputs[0], below_names, derivation)]
    if isinstance(plan, Window):
        if all(ref(name) in function.partition_by for function in plan.functions for name in names):
            return affected(plan.input, names, derivation)
        return None
    if isinstance(plan, UnionAll | SetOperation):
        found = []
        for side in plan.inputs:
            pairs = {out.name: column.name for out, column in zip(plan.output, side.columns, strict=True)}
            mapped = [pairs[name] for name in names]
            found += [_only(each, mapped, names) for each in affected(side, mapped, derivation)]
        return found
    if isinstance(plan, JOINS):
        return _of_join(plan, names, derivation)
    return None


def _of_join(plan: Join | MultiJoin | Restrict, names: Sequence[str], derivation: Derivation) -> list[Node] | None:
    kind = plan.kind
    if kind.pads_left:
        return None
    if not kind.is_inner and not set(names) <= plan.inputs[0].names:
        return None
    if kind == SEMI and not derivation.touches(plan.inputs[1]):
        needed = {name for part in plan.conditions for name in names_in(part)} & plan.inputs[0].names
        left = affected(plan.inputs[0], [*names, *sorted(needed)], derivation)
        partner = derivation.new(plan.inputs[1])
        if isinstance(plan, Restrict):
            return [restricted(each, plan.pairs, partner, optional=plan.optional) for each in left]
        return [Join(SEMI, each, partner, conjunction(plan.conditions)) for each in left]
    equal = equal_groups(plan.conditions)
    found: list[Node] = []
    for side in plan.inputs:
        if not derivation.touches(side):
            continue
        equals = [next((c for c in columns_equal_to(n, equal) if c in side.names), None) for n in names]
        if any(name is None for name in equals):
            return None
        below = [name for name in equals if name is not None]
        found += [_only(each, below, names) for each in affected(side, below, derivation)]
    return found


def _only(plan: Node, names: Sequence[str], called: Sequence[str]) -> Node:
    """Some columns of a plan, renamed; a projection at its top that only picks columns is merged."""
    types = {column.name: column.type for column in plan.columns}
    values: dict[str, Expr] = {name: ref(name) for name in names}
    if isinstance(plan, Project) and all(isinstance(value, exp.Column) for value in plan.expressions):
        values = {item.column.name: item.value for item in plan.output}
        plan = plan.input
    pairs = zip(names, called, strict=True)
    return Project(plan, tuple(Computed(Column(new, new, types[old]), values[old]) for old, new in pairs))


def all_affected(plan: Node, names: Sequence[str], derivation: Derivation) -> Node | None:
    """The affected values as one relation; None if nothing below changed."""
    found = affected(plan, names, derivation)
    return union_of(found, found[-1].columns) if found else None
