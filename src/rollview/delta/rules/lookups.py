"""Chains of lookups: one rule for the whole chain, so that its delta grows as the chain does and not with its square.

A lookup is a left, semi, anti, mark or single join: it adds columns to the rows of its left input, or drops rows, by
what its right side has for them. A chain of lookups, with filters and projections between them, maps each row of its
first input B on its own. Computed anew are the changed rows of B, and those for which a right side changed:

    T         = the rows of Bᵒˡᵈ that a changed row of some right side can affect
    Δ(chain)  = chainⁿᵉʷ(T + ΔB)  −  chainᵒˡᵈ(T)

T may contain more: what does not change cancels. It is found from the last lookup to the first: the changed keys of a
right side are values of expressions over the rows that it is looked up for. If an earlier lookup added these columns,
its right rows with these values say for which rows; else the expressions are over the columns of B:

    SELECT … FROM b LEFT JOIN r ON r.k = b.k LEFT JOIN s ON s.l = r.l        s changes for l: r has l for k, so B for k

Only for chains with many changed right sides: the rules for one join read less, and each level costs all below it.
A chain ends where an operator is read by others, too, or where such keys cannot be followed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from rollview.delta.affected_keys import all_affected
from rollview.delta.derivation import Derivation, Keys
from rollview.delta.rules.match import match_condition
from rollview.delta.weights import negated, together, weighted
from rollview.plan.expressions import Expr, equality, names_in, ref, replace_columns
from rollview.plan.nodes import (
    LEFT,
    SEMI,
    UNKNOWN,
    Aggregate,
    Column,
    Computed,
    Distinct,
    Filter,
    Join,
    Node,
    Project,
    Restrict,
    restricted,
    union_of,
)
from rollview.plan.reserved import WEIGHT

#: Chains with more changed right sides have one rule.
MOST_LEVELS = 4

#: An operator of a chain.
Link = Join | Filter | Project

_GROUP, _COPIES = (Column(n, n, exp.DataType.build("bigint")) for n in ("__group", "__copies"))


@dataclass(frozen=True)
class _Sought:
    """Rows of an operator of the chain that are affected: those whose ``values`` are among the rows of ``keys``, or,
    without values, those that satisfy a condition with one of these rows."""

    keys: Node
    values: tuple[Expr, ...]
    condition: Expr | None = None

    @property
    def names(self) -> frozenset[str]:
        if self.condition is not None:
            return names_in(self.condition) - self.keys.names
        return frozenset[str]().union(*map(names_in, self.values))

    def over(self, node: Project) -> _Sought:
        """The same rows, found among those of the projection's input."""
        made = {item.column.name: item.value for item in node.output}
        condition = None if self.condition is None else replace_columns(self.condition, made)
        return replace(self, values=tuple(replace_columns(v, made).unnest() for v in self.values), condition=condition)


def is_lookup(node: Node) -> bool:
    """Whether a join maps each row of its left input on its own."""
    return isinstance(node, Join) and (node.kind.is_lookup or node.kind is LEFT)


def chain_delta(node: Join, derivation: Derivation) -> Node | None:
    """The delta of a long chain of lookups that ends in ``node``; None if there is none, or it is short."""
    links = list(_links(node, derivation))
    if _levels(links, derivation) <= MOST_LEVELS:
        return None
    found = _followed(links, derivation)
    if found is None:
        return None
    links, sought = found
    base = links[-1].inputs[0]
    affected = _affected_rows(base, sought, derivation)
    delta = derivation.delta(base)
    before = None if affected is None else derivation.step("affected", affected, "rows whose lookups may have changed")
    after = together([before, delta], base.columns)
    if after is None:
        return None
    if before is not None and delta is not None:
        after = derivation.materialized(after)
    terms = [_replayed(links, after, derivation, new=True)]
    if before is not None:
        terms.append(negated(_replayed(links, before, derivation, new=False)))
    return together(terms, node.columns)


def _links(node: Node, derivation: Derivation) -> Iterator[Link]:
    """The operators of the chain, the last one first. The first of a chain is a join."""
    between: list[Link] = []
    while isinstance(node, Filter | Project) or (isinstance(node, Join) and is_lookup(node)):
        between.append(node)
        if isinstance(node, Join):
            yield from between
            between = []
        node = node.inputs[0]
        if node in derivation.kept or derivation.readers[node] > 1:
            return


def _levels(links: Sequence[Link], derivation: Derivation) -> int:
    """The number of right sides that changed."""
    return sum(isinstance(link, Join) and derivation.touches(link.right) for link in links)


def _followed(links: Sequence[Link], derivation: Derivation) -> tuple[list[Link], list[_Sought]] | None:
    """As much of the chain as changed keys can be followed through, and the affected rows of its first input; None if
    that is too little."""
    sought: list[_Sought] = []
    taken: list[Link] = []
    ends: tuple[list[Link], list[_Sought]] | None = None
    for link in links:
        if isinstance(link, Project):
            sought = [each.over(link) for each in sought]
        elif isinstance(link, Join):
            below = [_below(each, link, derivation) for each in sought]
            if any(each is None for each in below):
                break
            sought = [each for each in below if each is not None]
            if derivation.touches(link.right):
                own = _of_right(link, derivation)
                sought = _merged(sought if own is None else [*sought, own])
        taken.append(link)
        if isinstance(link, Join):
            ends = list(taken), list(sought)
    return ends if ends is not None and _levels(ends[0], derivation) > MOST_LEVELS else None


def _below(sought: _Sought, link: Join, derivation: Derivation) -> _Sought | None:
    """The same rows, found among those of a lookup's left input; None if they cannot be followed through it."""
    if sought.names <= link.left.names:
        return sought
    pairs = _pairs(link)
    if not pairs or not sought.names <= link.right.names or not all(isinstance(v, exp.Column) for v in sought.values):
        return None
    if sought.condition is not None:
        return None
    # a row without a match has NULL there, which no equality matches: its keys are not needed
    keys = derivation.keys(sought.keys, [ref(column.name) for column in sought.keys.columns])
    matched = tuple((value, key) for value, (_, key) in zip(sought.values, keys.pairs, strict=True))
    rows = Keys(keys.plan, matched).restrict(derivation.old(link.right))
    found = derivation.step(
        "keys", _named(rows, [b for _, b in pairs], derivation), "keys whose lookups may have changed"
    )
    return _Sought(found, tuple(a for a, _ in pairs))


def _merged(sought: Sequence[_Sought]) -> list[_Sought]:
    """What is sought by the same values, together."""
    found = [each for each in sought if each.condition is not None]
    by_values: dict[tuple[Expr, ...], list[Node]] = {}
    for each in sought:
        if each.condition is None:
            by_values.setdefault(each.values, []).append(each.keys)
    return [*found, *(_Sought(union_of(keys, keys[0].columns), values) for values, keys in by_values.items())]


def _of_right(link: Join, derivation: Derivation) -> _Sought | None:
    """The left rows of a lookup that a change of its right side can affect; None if it cannot have changed."""
    pairs = _pairs(link)
    values = [b for _, b in pairs]
    names = [value.name for value in values if isinstance(value, exp.Column)]
    plain = bool(pairs) and len(names) == len(values)
    rows = all_affected(link.right, names, derivation) if plain else derivation.delta(link.right)
    if rows is None:
        return None
    if pairs:
        return _Sought(_named(rows, values, derivation), tuple(a for a, _ in pairs))
    return _Sought(derivation.materialized(rows), (), match_condition(link))


def _pairs(link: Join) -> list[tuple[Expr, Expr]]:
    """The equalities of a join that its rows must satisfy: values over the left side and over the right side."""
    found: list[tuple[Expr, Expr]] = []
    for condition in link.conditions:
        sides = equality(condition) if isinstance(condition, exp.EQ) else None
        for a, b in (sides, sides[::-1]) if sides is not None else ():
            if names_in(a) and names_in(b) and names_in(a) <= link.left.names and names_in(b) <= link.right.names:
                found.append((a, b))
                break
    return found


def _named(rows: Node, values: Sequence[Expr], derivation: Derivation) -> Node:
    """Values over some rows, under new names."""
    named = zip(derivation.fresh(len(values)), values, strict=True)
    return Project(rows, tuple(Computed(Column(n, n, value.type or UNKNOWN), value.copy()) for n, value in named))


def _affected_rows(base: Node, sought: Sequence[_Sought], derivation: Derivation) -> Node | None:
    """The affected old rows of the chain's first input, as a delta: each with its number of copies."""
    found: list[Node] = []
    old = derivation.old(base)
    for each in _merged(sought):
        if each.condition is not None:
            found.append(Join(SEMI, old, each.keys, each.condition))
        else:
            keys = derivation.keys(derivation.materialized(each.keys), [ref(c.name) for c in each.keys.columns])
            pairs = zip(each.values, keys.pairs, strict=True)
            found.append(Keys(keys.plan, tuple((value, key) for value, (_, key) in pairs)).restrict(old))
    return None if not found else weighted(found[0], 1) if len(found) == 1 else _once(found, base.columns)


def _once(found: Sequence[Node], columns: Sequence[Column]) -> Node:
    """Rows that several of the relations have: each relation has all copies of a row or none."""
    own = tuple(Computed(column, ref(column.name)) for column in columns)
    number = (exp.Cast(this=exp.Literal.number(i), to=_GROUP.type.copy()) for i in range(len(found)))
    tagged = [Project(rows, (*own, Computed(_GROUP, i))) for rows, i in zip(found, number, strict=True)]
    every = union_of(tagged, (*columns, _GROUP))
    count = exp.Cast(this=exp.Count(this=exp.Star()), to=_COPIES.type.copy())
    counted = Aggregate(every, (*own, Computed(_GROUP, ref(_GROUP.name))), (Computed(_COPIES, count),))
    return Aggregate(counted, own, (Computed(WEIGHT, exp.Max(this=ref(_COPIES.name))),))


def _replayed(links: Sequence[Link], rows: Node, derivation: Derivation, *, new: bool) -> Node:
    """The chain over weighted rows, with one version of its right sides."""
    near = _Near(rows, derivation)
    for link in reversed(links):
        if isinstance(link, Join):
            right = near.right(link, derivation.new(link.right) if new else derivation.old(link.right))
            rows = link.with_inputs([rows, right])
        elif isinstance(link, Filter):
            rows = link.with_inputs([rows])
        else:
            near.project(link)
            rows = replace(link, input=rows, output=(*link.output, Computed(WEIGHT, ref(WEIGHT.name))))
    return rows


class _Near:
    """Right sides near the rows that are looked up. What is compared with columns of these rows, the pass
    ``restrict_partners`` restricts. What is compared with columns of an earlier lookup is restricted here: to the
    values in the right rows of that lookup, themselves restricted, without the rows in between."""

    def __init__(self, rows: Node, derivation: Derivation) -> None:
        self.derivation, self.rows = derivation, rows
        #: For each column that comes from a right side: the number of the lookup, and its name there.
        self.of: dict[str, tuple[int, str]] = {}
        self.own = {name: name for name in rows.names}
        self.looked_up: list[tuple[Node, list[tuple[Expr, Expr]]]] = []

    def right(self, link: Join, right: Node) -> Node:
        """The right side of the next lookup."""
        pairs = _pairs(link)
        mine: list[tuple[Expr, Expr]] = [
            (ref(self.own[a.name]), b) for a, b in pairs if isinstance(a, exp.Column) and a.name in self.own
        ]
        places = [self.of[a.name][0] for a, _ in pairs if isinstance(a, exp.Column) and a.name in self.of]
        if not mine and places and (earlier := self._restricted(places[0])) is not None:
            names = [(self.of[a.name], b) for a, b in pairs if isinstance(a, exp.Column) and a.name in self.of]
            same = [(ref(name), b) for (place, name), b in names if place == places[0]]
            values = _named(earlier, [value for value, _ in same], self.derivation)
            found = self.derivation.step("keys", Distinct(values), "values that later lookups look for")
            on = [(b, column.name) for (_, b), column in zip(same, found.columns, strict=True)]
            right = restricted(right, on, found, optional=True)
        if not link.kind.hides_right:
            self.of |= {column.name: (len(self.looked_up), column.name) for column in link.right.columns}
        self.looked_up.append((right, mine))
        return right

    def _restricted(self, place: int) -> Node | None:
        """The right side of an earlier lookup, restricted; None if it is not."""
        right, mine = self.looked_up[place]
        if not mine:
            return right if isinstance(right, Restrict) else None
        keys = self.derivation.keys(self.rows, [value for value, _ in mine])
        pairs = [(b, key) for (_, b), (_, key) in zip(mine, keys.pairs, strict=True)]
        return restricted(right, pairs, keys.plan, optional=True)

    def project(self, link: Project) -> None:
        """The columns after a projection."""
        picked = {item.column.name: item.value.name for item in link.output if isinstance(item.value, exp.Column)}
        self.of = {name: self.of[value] for name, value in picked.items() if value in self.of}
        self.own = {name: self.own[value] for name, value in picked.items() if value in self.own}
