"""Semi and anti joins on equalities: only keys that appear on the right side, or disappear from it, matter.

For each affected key we need to know whether it exists on the right, now and before. Counting right rows now, and the
net change, answers both. So the left side is read only for the keys of ΔR:

    C        = the keys of ΔR and ΔL:  has  = 1 if Rⁿᵉʷ has the key, else 0
                                       flip = 1 if the key appeared in R, −1 if it disappeared, else 0
    Δ(L ⋉ R) = ΔL · has + Lᵒˡᵈ · flip
    Δ(L ▷ R) = ΔL · (1 − has) − Lᵒˡᵈ · flip

If R has each key at most once, ΔR alone shows which keys appear and disappear. If the two sides of an equality differ
in type, a value may equal several keys (as a float, 2⁵³ equals 2⁵³ + 1): then only the rule of ``match`` is right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlglot import exp

from rollview.delta.derivation import Derivation, Keys, cheap
from rollview.delta.rules.join import key_equalities
from rollview.delta.weights import consolidated, negated, together
from rollview.keys.facts import facts_of
from rollview.plan.expressions import Expr, conjunction, ref
from rollview.plan.nodes import (
    ANTI,
    INNER,
    LEFT,
    SEMI,
    UNKNOWN,
    Aggregate,
    Column,
    Computed,
    Filter,
    Join,
    Node,
    Project,
    UnionAll,
)
from rollview.plan.reserved import WEIGHT

_BIGINT = exp.DataType.build("bigint")
_NET, _NOW, _HAS, _FLIP, _WAS = (Column(n, n, _BIGINT) for n in ("__net", "__now", "__has", "__flip", "__was"))

#: The equalities of a join: left values and right values.
Pairs = Sequence[tuple[Expr, Expr]]


def equi_condition(node: Join) -> tuple[Pairs, Sequence[Expr]] | None:
    """The equalities of a semi or anti equijoin, and its conditions on the right side alone; None for other joins."""
    equalities = key_equalities(node) if node.kind.keeps_left_only else None
    return equalities if equalities is not None and _one_key_each(node, equalities[0]) else None


def equi_delta(node: Join, pairs: Pairs, own: Sequence[Expr], derivation: Derivation) -> Node | None:
    """The delta of a semi or anti equijoin; ``own`` are its conditions on the right side alone."""
    right = _own_rows(node, own)
    left, change = derivation.delta(node.left), derivation.delta(right)
    if left is not None:
        left = derivation.materialized(left)
    if change is not None and not _once(right, pairs):
        return together([_counted(node, pairs, right, change, left, derivation)], node.columns)
    changed = None if left is None else node.with_inputs([left, derivation.new(node.right)])
    flipped = None if change is None else _flipped(node, pairs, change, derivation)
    return together([changed, flipped], node.columns)


def _one_key_each(node: Join, pairs: Pairs) -> bool:
    """Whether a left value can equal at most one right value, judged by the types."""
    for left, right in ((_type(a, node.left), _type(b, node.right)) for a, b in pairs):
        whole = {left.this, right.this} <= exp.DataType.INTEGER_TYPES
        if not whole and (left != right or left.this == UNKNOWN.this):
            return False
    return True


def _type(value: Expr, of: Node) -> exp.DataType:
    if isinstance(value, exp.Cast):
        return value.to
    types = {column.name: column.type for column in of.columns}
    return types.get(value.name, UNKNOWN) if isinstance(value, exp.Column) else UNKNOWN


def sought_keys(node: Join) -> tuple[Aggregate, Callable[[Node], Join]] | None:
    """The distinct keys of the right side of a semi or anti equijoin, and a function that joins with these instead of
    the right side. None for other joins, and if the right side already has each key once."""
    if (equalities := equi_condition(node)) is None:
        return None
    pairs, own = equalities
    if _once(right := _own_rows(node, own), pairs):
        return None
    names = [f"{right.columns[0].name}_k{i}" for i in range(len(pairs))]
    columns = (Column(name, "", _type(b, right)) for name, (_, b) in zip(names, pairs, strict=True))
    keys = tuple(Computed(column, b.copy()) for column, (_, b) in zip(columns, pairs, strict=True))
    return Aggregate(right, keys, ()), lambda found: replace(node, right=found, condition=_equal(pairs, names))


def _own_rows(node: Join, own: Sequence[Expr]) -> Node:
    """The right side, filtered by the conditions on it alone."""
    condition = conjunction(own)
    return node.right if condition is None else Filter(node.right, condition)


def _once(right: Node, pairs: Pairs) -> bool:
    """Whether the right side has each key at most once."""
    known = facts_of(right).key
    return known is not None and known <= {b.name for _, b in pairs if isinstance(b, exp.Column)}


def _net(change: Node, names: Sequence[str], values: Sequence[Expr]) -> Node:
    """The net change of the number of rows for each key, if not zero."""
    return consolidated(Project(change, (*_keys(names, values), Computed(WEIGHT, ref(WEIGHT.name)))))


def _keys(names: Sequence[str], values: Sequence[Expr]) -> tuple[Computed, ...]:
    pairs = zip(names, values, strict=True)
    return tuple(Computed(Column(name, name, value.type or UNKNOWN), value.copy()) for name, value in pairs)


def _restricted(plan: Node, values: Sequence[Expr], rows: Node, keys: Sequence[Expr], derivation: Derivation) -> Node:
    """The rows of a plan whose values are among the keys of ``rows``."""
    found = derivation.keys(rows, keys)
    return Keys(found.plan, tuple((v, k) for v, (_, k) in zip(values, found.pairs, strict=True))).restrict(plan)


def _flipped(node: Join, pairs: Pairs, change: Node, derivation: Derivation) -> Node:
    """The old left rows whose key appears or disappears on a right side that has each key at most once."""
    names = derivation.fresh(len(pairs))
    net = _net(change, names, [b for _, b in pairs])
    flips = derivation.step("flips", net, "keys that appear on the right side, or disappear from it")
    matched = Join(INNER, derivation.old(node.left), flips, _equal(pairs, names))
    found: Node = Project(matched, tuple(Computed(c, ref(c.name)) for c in (*node.left.columns, WEIGHT)))
    return found if node.kind == SEMI else negated(found)


def _equal(pairs: Pairs, names: Sequence[str]) -> Expr | None:
    return conjunction([exp.EQ(this=a.copy(), expression=ref(name)) for (a, _), name in zip(pairs, names, strict=True)])


def _counted(node: Join, pairs: Pairs, right: Node, change: Node, left: Node | None, derivation: Derivation) -> Node:
    """The changed left rows whose key is on the right side, and the old left rows whose key appears or disappears."""
    names = derivation.fresh(len(pairs))
    mine, theirs = [a for a, _ in pairs], [b for _, b in pairs]
    keys: list[Expr] = [ref(name) for name in names]
    net = _net(change, names, theirs)
    kept = tuple(Computed(c, ref(c.name)) for c in node.left.columns)
    if cheap(change):
        old = _restricted(derivation.old(node.left), mine, net, keys, derivation)
        wanted, by = net, keys
    else:  # the left is read first: right rows are then counted only for keys that the left has, often none
        net = derivation.step("net", net, "net change of the number of right rows, by key")
        old = _restricted(derivation.old(node.left), mine, net, keys, derivation)
        old = derivation.step("left", old, "left rows with these keys")
        wanted, by = old, mine
    rows: Node = Project(old, (*kept, Computed(WEIGHT, _number(0)), Computed(_WAS, _number(1))))
    if left is not None:
        changed = Project(left, (*kept, Computed(WEIGHT, ref(WEIGHT.name)), Computed(_WAS, _number(0))))
        rows = UnionAll(changed, rows, changed.columns)
        both = Project(wanted, _keys(names, by)), Project(left, _keys(names, mine))
        wanted, by = UnionAll(*both, both[0].columns), keys
    theirs_now = _restricted(derivation.new(right), theirs, wanted, by, derivation)
    counts = _counts(net, Project(theirs_now, _keys(names, theirs)))
    has: Expr = ref(_HAS.name)
    flip: Expr = ref(_FLIP.name)
    if left is None:
        counts = Filter(counts, _not_zero(flip))
    # an anti join keeps changed rows whose key is not on the right side
    how = LEFT if node.kind == ANTI and left is not None else INNER
    found = Join(how, rows, counts, _equal(pairs, names), small="right")
    if how == LEFT:
        has, flip = (exp.Coalesce(this=value, expressions=[exp.Literal.number(0)]) for value in (has, flip))
    if node.kind == ANTI:
        has, flip = exp.Paren(this=exp.Sub(this=exp.Literal.number(1), expression=has)), exp.Neg(this=flip)
    weight = exp.Add(
        this=exp.Mul(this=ref(WEIGHT.name), expression=has), expression=exp.Mul(this=ref(_WAS.name), expression=flip)
    )
    weighted = Project(found, (*kept, Computed(WEIGHT, exp.Cast(this=weight, to=_BIGINT.copy()))))
    return Filter(weighted, _not_zero(ref(WEIGHT.name)))


def _counts(net: Node, present: Node) -> Node:
    """For each key, whether the right side has it, and whether it appeared or disappeared; ``present`` has the key of
    each right row that exists now."""
    keys = tuple(Computed(column, ref(column.name)) for column in present.columns)
    change = Project(net, (*keys, Computed(_NET, ref(WEIGHT.name)), Computed(_NOW, _number(0))))
    now = Project(present, (*keys, Computed(_NET, _number(0)), Computed(_NOW, _number(1))))
    sums = tuple(Computed(c, exp.Cast(this=exp.Sum(this=ref(c.name)), to=_BIGINT.copy())) for c in (_NET, _NOW))
    total = Aggregate(UnionAll(change, now, change.columns), keys, sums)
    has = _is_positive(ref(_NOW.name))
    had = _is_positive(exp.Sub(this=ref(_NOW.name), expression=ref(_NET.name)))
    flip = exp.Sub(this=has.copy(), expression=had)
    return Project(total, (*keys, Computed(_HAS, has), Computed(_FLIP, flip)))


def _number(value: int) -> Expr:
    return exp.Cast(this=exp.Literal.number(value), to=_BIGINT.copy())


def _is_positive(value: Expr) -> Expr:
    positive = exp.GT(this=value, expression=exp.Literal.number(0))
    return exp.Case(ifs=[exp.If(this=positive, true=_number(1))], default=_number(0))


def _not_zero(value: Expr) -> Expr:
    return exp.NEQ(this=value.copy(), expression=exp.Literal.number(0))
