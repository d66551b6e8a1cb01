"""Changes of base tables → the change of a view, in the form that its state takes.

Δ(base tables) → Δ(plan), operator by operator → ViewDelta
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from rollview.delta.analysis.inexact import affected_rows
from rollview.delta.derivation import Derivation
from rollview.delta.partials import COUNT, ROWS
from rollview.delta.rewrites import prepared
from rollview.delta.rules import RULES
from rollview.delta.rules.aggregate import affected_groups as affected_keys
from rollview.delta.rules.semi_anti import equi_condition
from rollview.delta.rules.top_rows import first_delta
from rollview.delta.weights import consolidated, one_by_one
from rollview.plan.expressions import conjunction, ref
from rollview.plan.nodes import (
    LEFT,
    SEMI,
    Aggregate,
    Computed,
    Filter,
    Join,
    Node,
    Project,
    exactly,
)
from rollview.plan.reserved import WEIGHT
from rollview.plan.traits import grows_with
from rollview.state.groups import Groups
from rollview.state.keyed import Keyed
from rollview.state.state import Followed, State
from rollview.state.top_rows import TopRows
from rollview.state.view_delta import AffectedGroups, GroupSums, SignedRows


@dataclass(frozen=True)
class Change:
    """A summary of the changes: which relations changed, which of them only got new rows (``growing``), and the number
    of changed ``rows``. The rows themselves are in ``views/changes``."""

    tables: frozenset[str]
    growing: frozenset[str] = frozenset()
    rows: int = 0


def derivation(followed: Followed, change: Change) -> Derivation:
    """A derivation over the plan that a state follows."""
    return Derivation(RULES, change.tables, followed.added, followed.kinds, followed.partitions)


def row_changes(state: State, change: Change) -> SignedRows | None:
    """The change of a view's rows; None if they cannot have changed."""
    deriving, root = derivation(state.followed, change), state.followed.plan
    inexact = isinstance(state, Keyed) and state.is_inexact
    if isinstance(state, TopRows):
        first = replace(state.first, input=prepared(state.first.input, deriving))
        delta = first_delta(first, state.stored, deriving)
    else:
        root = prepared(root, deriving)
        delta = affected_rows(root, deriving) if inexact else deriving.delta(root)
    if delta is None:
        return None
    growing = change.tables <= change.growing and only_grows(root, deriving)
    if growing and _takes_back(root, deriving):
        delta = consolidated(delta)
    return SignedRows(tuple(deriving.steps), delta, grows=growing, settled=inexact)


def group_sums(state: Groups, change: Change) -> GroupSums | None:
    """What to add to the stored groups; None if there is nothing.

    Rows are summed one by one, n of them for a weight of n: a product with the weight could lose digits.
    """
    deriving = derivation(state.followed, change)
    root = prepared(state.root, deriving, below=True)
    assert isinstance(root, Aggregate)
    below = deriving.delta(root.input)
    if below is None:
        return None
    unit = one_by_one(exactly(below, (*root.input.columns, WEIGHT)))
    values = []
    for partial in (*state.partials, ROWS):
        assert partial.change is not None
        values.append(Computed(partial.column, partial.change))
    total: Node = Aggregate(unit, root.keys, tuple(values))
    if not root.keys:  # nothing to add is not a row of NULLs
        total = Filter(total, exp.Not(this=exp.Is(this=ref(COUNT.name), expression=exp.null())))
    return GroupSums(tuple(deriving.steps), total)


def affected_groups(state: Groups, change: Change) -> AffectedGroups | None:
    """The affected groups as they are now; None if there are none."""
    deriving = derivation(state.followed, change)
    root = prepared(state.root, deriving, below=True)
    assert isinstance(root, Aggregate)
    keys = affected_keys(root, deriving)
    if keys is None:
        return None
    values = tuple(Computed(p.column, p.value) for p in state.partials)
    rows = Computed(COUNT, exp.Count(this=exp.Star()))
    now: Node = Aggregate(keys.restrict(deriving.new(root.input)), root.keys, (*values, rows))
    if not root.keys:
        return AffectedGroups(tuple(deriving.steps), now)
    pairs = [(item.column, name) for item, (_, name) in zip(root.keys, keys.pairs, strict=True)]
    tests = [exp.NullSafeEQ(this=ref(column.name), expression=ref(name)) for column, name in pairs]
    both = Join(LEFT, keys.plan, now, conjunction(tests))
    affected = [Computed(column, ref(name)) for column, name in pairs]
    kept = [Computed(c, ref(c.name)) for c in now.columns if c.name not in {column.name for column, _ in pairs}]
    return AffectedGroups(tuple(deriving.steps), Project(both, (*affected, *kept)))


def grows(plan: Node, change: Change) -> bool:
    """Whether a change can only mean more rows of a plan."""
    return change.tables <= change.growing and only_grows(plan, Derivation(RULES, change.tables))


def only_grows(plan: Node, deriving: Derivation) -> bool:
    """Whether more rows in the changed tables can only mean more rows in the result."""
    growing: dict[Node, bool] = {}
    for node in plan.walk():
        sides = zip(node.inputs, grows_with(node), strict=True)
        growing[node] = all((with_it and growing[side]) or not deriving.touches(side) for side, with_it in sides)
    return growing[plan]


def _takes_back(plan: Node, deriving: Derivation) -> bool:
    """Whether the delta of a plan that only grows adds rows and removes them again: the general rule of a semi join
    has the rows that a changed one matches after, and before."""
    semi = (node for node in plan.walk() if isinstance(node, Join) and node.kind == SEMI)
    return any(deriving.touches(node.right) and equi_condition(node) is None for node in semi)
