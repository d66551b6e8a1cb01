"""Semi, anti, mark and single joins: rows of the left whose answer depends on the right.

    T       = Lᵒˡᵈ ⋉ ΔR                      left rows that a changed right row meets
    Δ(L ⊙ R) = ΔL ⊙ Rⁿᵉʷ  +  T ⊙ Rⁿᵉʷ  −  T ⊙ Rᵒˡᵈ

for ⊙ any of semi, anti, mark, single, on any condition. Of a mark join with a comparison that may be unknown (IN, NOT
IN), a right row meets a left row unless the comparison is false: a NULL on either side counts.

A semi or anti join on equalities asks of a key only whether the right side has it. So just the keys that come or go
matter, and the left is read for those alone:

    F       = keys of ΔR that R has now and did not have before (+1), or had and has no more (−1)
    Δ(L ⋉ R) = ΔL ⋉ Rⁿᵉʷ + Lᵒˡᵈ ⋈ F          Δ(L ▷ R) = ΔL ▷ Rⁿᵉʷ − Lᵒˡᵈ ⋈ F

Where R has a key at most once, ΔR tells all of F by itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from rollview.delta.deriving import Deriving, Keys, cheap
from rollview.delta.join import key_equalities
from rollview.delta.weights import WEIGHT, consolidated, negated, together, weighted
from rollview.keys.facts import facts_of
from rollview.plan.expressions import Expr, conjunction, conjuncts, ref
from rollview.plan.nodes import ANTI, INNER, LEFT, SEMI, Aggregate, Column, Computed, Filter, Join, Node, Project


def matching_delta(node: Join, deriving: Deriving) -> Node | None:
    left, right = deriving.delta(node.left), deriving.delta(node.right)
    terms: list[Node | None] = []
    if left is not None:
        left = deriving.at_hand(left)
        terms.append(node.with_inputs([left, deriving.new(node.right)]))
    equalities = key_equalities(node) if node.kind in (SEMI, ANTI) else None
    if right is not None and equalities is not None:
        terms.append(_flipped(node, equalities, deriving))
    elif right is not None:
        met = touched(node, deriving, right)
        terms.append(node.with_inputs([met, deriving.new(node.right)]))
        terms.append(negated(node.with_inputs([met, deriving.old(node.right)])))
    return together(terms, node.columns)


def touched(node: Join, deriving: Deriving, right: Node) -> Node:
    """The old left rows that a changed right row meets, as a delta."""
    rows = Join(SEMI, deriving.old(node.left), deriving.at_hand(right), meeting(node))
    return deriving.step("touched", weighted(rows, 1), "rows whose match may have changed")


def meeting(node: Join) -> Expr:
    """The condition under which a right row matters to a left row."""
    parts = conjuncts(node.condition)
    if node.compared is not None:
        false = exp.Is(this=exp.Paren(this=node.compared.copy()), expression=exp.false())
        parts = [*parts, exp.Not(this=exp.Paren(this=false))]
    return conjunction(parts) or exp.true()


_FLIPS = "keys that come to the right side, or leave it"
_NOW = Column("__now", "__now", exp.DataType.build("bigint"))


def _turned(net: Node, by: Sequence[Computed], values: Sequence[Expr], right: Node, deriving: Deriving) -> Node:
    """Of keys whose number of rows has changed, those of which there were none, or are none now."""
    names = [item.column.name for item in by]
    keys = deriving.keys(net, [ref(name) for name in names])
    near = Keys(keys.plan, tuple((v, k) for v, (_, k) in zip(values, keys.pairs, strict=True))).restrict(
        deriving.new(right)
    )
    counted = tuple(Computed(Column(f"{name}_n", ""), value) for name, value in zip(names, values, strict=True))
    now = Aggregate(near, counted, (Computed(_NOW, exp.Count(this=exp.Star())),))
    same = [exp.NullSafeEQ(this=ref(name), expression=ref(f"{name}_n")) for name in names]
    there = exp.Coalesce(this=ref(_NOW.name), expressions=[exp.Literal.number(0)])
    zero, weight = exp.Literal.number(0), ref(WEIGHT.name)
    come = exp.And(
        this=exp.GT(this=there, expression=zero),
        expression=exp.LTE(this=exp.Sub(this=there.copy(), expression=weight), expression=zero.copy()),
    )
    gone = exp.And(
        this=exp.EQ(this=there.copy(), expression=zero.copy()),
        expression=exp.GT(this=exp.Neg(this=weight.copy()), expression=zero.copy()),
    )
    turned = Filter(
        Join(LEFT, net, now, conjunction(same)), exp.Or(this=exp.Paren(this=come), expression=exp.Paren(this=gone))
    )
    sign = exp.Case(
        ifs=[exp.If(this=exp.GT(this=weight.copy(), expression=zero.copy()), true=exp.Literal.number(1))],
        default=exp.Literal.number(-1),
    )
    flip = Computed(WEIGHT, exp.Cast(this=sign, to=WEIGHT.type.copy()))
    return Project(turned, (*(Computed(item.column, ref(item.column.name)) for item in by), flip))


def _flipped(node: Join, equalities: tuple[list[tuple[Expr, Expr]], list[Expr]], deriving: Deriving) -> Node | None:
    """The old left rows whose key comes to the right side or leaves it."""
    pairs, own = equalities
    condition = conjunction(own)
    right = node.right if condition is None else Filter(node.right, condition)
    delta = deriving.delta(right)
    if delta is None:
        return None
    keys = deriving.keys(delta, [b for _, b in pairs])
    assert isinstance(keys.plan.inputs[0], Project)
    by = keys.plan.inputs[0].output
    net = consolidated(Project(delta, (*by, Computed(WEIGHT, ref(WEIGHT.name)))))
    known = facts_of(right).key
    if known is not None and known <= {b.name for _, b in pairs if isinstance(b, exp.Column)}:
        flips = deriving.step("flips", net, _FLIPS)
    else:
        what = "keys of the right side, and how many more rows it has of them"
        changed = net if cheap(delta) else deriving.step("net", net, what)
        flips = _turned(changed, by, [b for _, b in pairs], right, deriving)
    tests = [exp.EQ(this=a.copy(), expression=ref(name)) for (a, _), (_, name) in zip(pairs, keys.pairs, strict=True)]
    met = Join(INNER, deriving.old(node.left), flips, conjunction(tests))
    own_columns = tuple(Computed(c, ref(c.name)) for c in (*node.left.columns, WEIGHT))
    found: Node = Project(met, own_columns)
    return found if node.kind == SEMI else negated(found)
