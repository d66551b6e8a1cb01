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

from sqlglot import exp

from rollview.delta.aggregate import IS, WAS, both_versions
from rollview.delta.deriving import Deriving
from rollview.delta.partials import ROWS, Added
from rollview.delta.weights import WEIGHT, negated, together, weighted
from rollview.keys.facts import facts_of
from rollview.plan.expressions import Expr, conjunction, conjuncts, equality, names_in, ref
from rollview.plan.nodes import ANTI, INNER, SEMI, Aggregate, Computed, Filter, Join, Node, Project


def matching_delta(node: Join, deriving: Deriving) -> Node | None:
    left, right = deriving.delta(node.left), deriving.delta(node.right)
    terms: list[Node | None] = []
    if left is not None:
        left = deriving.at_hand(left)
        terms.append(node.with_inputs([left, deriving.new(node.right)]))
    equalities = _equalities(node)
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


def _equalities(node: Join) -> tuple[list[tuple[Expr, Expr]], list[Expr]] | None:
    """What a semi or anti join compares, left with right, and conditions on the right alone; None if it does more."""
    pairs: list[tuple[Expr, Expr]] = []
    own: list[Expr] = []
    for part in conjuncts(node.condition):
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
    return (pairs, own) if pairs and node.kind in (SEMI, ANTI) else None


def _flipped(node: Join, equalities: tuple[list[tuple[Expr, Expr]], list[Expr]], deriving: Deriving) -> Node | None:
    """The old left rows whose key comes to the right side or leaves it."""
    pairs, own = equalities
    condition = conjunction(own)
    right = node.right if condition is None else Filter(node.right, condition)
    delta = deriving.delta(right)
    if delta is None:
        return None
    delta = deriving.at_hand(delta)
    keys = deriving.keys(delta, [b for _, b in pairs])
    assert isinstance(keys.plan.inputs[0], Project)
    by = keys.plan.inputs[0].output
    known = facts_of(right).key
    if known is not None and known <= {b.name for _, b in pairs if isinstance(b, exp.Column)}:
        total = exp.Cast(this=exp.Sum(this=ref(WEIGHT.name)), to=WEIGHT.type.copy())
        flips: Node = Filter(
            Aggregate(delta, by, (Computed(WEIGHT, total),)),
            exp.NEQ(this=ref(WEIGHT.name), expression=exp.Literal.number(0)),
        )
    else:
        near = keys.restrict(deriving.new(right))
        both = both_versions(Aggregate(right, by, ()), Added((), ROWS, {}), near, delta)
        turned = Filter(both, exp.NEQ(this=ref(IS.name), expression=ref(WAS.name)))
        sign = exp.Case(ifs=[exp.If(this=ref(IS.name), true=exp.Literal.number(1))], default=exp.Literal.number(-1))
        weight = Computed(WEIGHT, exp.Cast(this=sign, to=WEIGHT.type.copy()))
        flips = Project(turned, (*(Computed(item.column, ref(item.column.name)) for item in by), weight))
    flips = deriving.step("flips", flips, "keys that come to the right side, or leave it")
    tests = [exp.EQ(this=a.copy(), expression=ref(name)) for (a, _), (_, name) in zip(pairs, keys.pairs, strict=True)]
    met = Join(INNER, deriving.old(node.left), flips, conjunction(tests))
    own_columns = tuple(Computed(c, ref(c.name)) for c in (*node.left.columns, WEIGHT))
    found: Node = Project(met, own_columns)
    return found if node.kind == SEMI else negated(found)
