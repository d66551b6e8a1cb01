"""The key of every operator, its functional dependencies, and its NOT NULL columns.

| operator | key |
|---|---|
| scan | the declared key |
| filter, window, limit, restrict, semi, anti, mark, single | the key of the (left) input |
| project | the key of the input, if all its columns are passed on |
| join | both keys; the left one alone if a left row has at most one match |
| aggregate | the group columns; no column for a global aggregate |
| distinct, set operation | all columns; for EXCEPT ALL and INTERSECT ALL the key of the left input |
| union all | both keys, and a column whose constants differ between the branches |
| explode, recursion | none |

The key is then minimised: columns that functionally depend on the others are dropped. Rows are compared NULL-safe.
A dependency X → Y means that rows that agree on X agree on Y.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from sqlglot import exp

from rollview.plan.expressions import Expr, conjuncts, equality, names_in
from rollview.plan.nodes import (
    ANTI,
    FULL,
    LEFT,
    MARK,
    RIGHT,
    SEMI,
    SINGLE,
    Aggregate,
    Distinct,
    Filter,
    Generate,
    Join,
    Limit,
    MultiJoin,
    Node,
    Project,
    Restrict,
    Scan,
    SetOperation,
    UnionAll,
    Values,
    Window,
)
from rollview.plan.types import loses

Names = frozenset[str]
NONE: Names = frozenset()


@dataclass(frozen=True)
class Facts:
    """``key`` is None if two rows may be equal, and empty if there is at most one row."""

    key: Names | None
    dependencies: frozenset[tuple[Names, str]] = frozenset()
    not_null: Names = NONE

    def closure(self, names: Iterable[str]) -> Names:
        """All columns that functionally depend on these, including these."""
        known = set(names)
        grown = True
        while grown:
            grown = False
            for given, decided in self.dependencies:
                if decided not in known and given <= known:
                    known.add(decided)
                    grown = True
        return frozenset(known)

    def reduced(self) -> Facts:
        """The same with a minimal key: no column of it depends on the others."""
        if self.key is None:
            return self
        key = set(self.key)
        for name in sorted(self.key):
            if name in self.closure(key - {name}):
                key.discard(name)
        return Facts(frozenset(key), self.dependencies, self.not_null)

    def with_(self, more: Iterable[tuple[Names, str]], not_null: Iterable[str] = ()) -> Facts:
        return Facts(self.key, self.dependencies | frozenset(more), self.not_null | frozenset(not_null))

    def only(self, names: Names) -> Facts:
        """The facts that remain if only these columns are kept."""
        kept = frozenset(
            (given, decided) for given, decided in self.dependencies if given <= names and decided in names
        )
        key = self.key if self.key is not None and self.key <= names else None
        return Facts(key, kept, self.not_null & names)


@lru_cache(maxsize=4096)
def facts_of(node: Node) -> Facts:
    """The facts about an operator's rows."""
    rule: Callable[[Node], Facts] = _RULES.get(type(node), lambda _: Facts(None))
    found = rule(node)
    if found.key is not None:
        found = found.with_((found.key, name) for name in node.names - found.key)
    return found.reduced()


def _scan(node: Scan) -> Facts:
    return Facts(frozenset(node.key) if node.key else None, frozenset(), frozenset(node.not_null))


def _values(node: Values) -> Facts:
    return Facts(NONE if len(node.rows) <= 1 else None)


def _filter(node: Filter) -> Facts:
    return _with_condition(facts_of(node.input), node.condition, _types(node))


def _types(*nodes: Node) -> dict[str, exp.DataType]:
    return {column.name: column.type for node in nodes for column in node.columns}


def _with_condition(facts: Facts, condition: Expr | None, types: Mapping[str, exp.DataType]) -> Facts:
    """Adds what a condition that is true for every row implies: constants, equal columns, NOT NULL columns."""
    more: set[tuple[Names, str]] = set()
    not_null: set[str] = set()
    for part in conjuncts(condition):
        if isinstance(part, exp.EQ | exp.GT | exp.GTE | exp.LT | exp.LTE | exp.NEQ):
            not_null |= {side.name for side in (part.left, part.right) if isinstance(side, exp.Column)}
        sides = equality(part)
        if sides is None:
            continue
        for a, b in (sides, sides[::-1]):
            if isinstance(a, exp.Column) and a.name in types:
                if not names_in(b) and isinstance(b, exp.Literal | exp.Cast | exp.Boolean) and _exact(types[a.name]):
                    more.add((NONE, a.name))
                elif isinstance(b, exp.Column) and b.name in types and _same_exact(types[a.name], types[b.name]):
                    more.add((frozenset({b.name}), a.name))
    return facts.with_(more, not_null)


def _exact(kind: exp.DataType) -> bool:
    """Whether equal values of the type are identical; 0.0 and -0.0 are equal but not identical."""
    return kind.this in (exp.DataType.INTEGER_TYPES | exp.DataType.TEXT_TYPES) or kind.this in (
        exp.DataType.Type.DATE, exp.DataType.Type.BOOLEAN, exp.DataType.Type.DECIMAL)  # fmt: skip


def _same_exact(a: exp.DataType, b: exp.DataType) -> bool:
    return _exact(a) and a == b


def _project(node: Project) -> Facts:
    """Facts about passed-on columns, under their new names; and the dependencies of computed columns."""
    below = facts_of(node.input)
    new: dict[str, list[str]] = {}
    more: set[tuple[Names, str]] = set()
    not_null: set[str] = set()
    for item in node.output:
        if isinstance(item.value, exp.Column):
            new.setdefault(item.value.name, []).append(item.column.name)
        elif not names_in(item.value):
            more.add((NONE, item.column.name))
        if isinstance(item.value, exp.Literal):
            not_null.add(item.column.name)
    for copies in new.values():
        more |= {(frozenset({a}), b) for a in copies for b in copies if a != b}
    first = {old: names[0] for old, names in new.items()}
    # floats are excluded: 0.0 and -0.0 are equal but not identical
    floats = {column.name for column in node.input.columns if column.type.this in exp.DataType.FLOAT_TYPES}
    for item in node.output:
        used = names_in(item.value)
        if not isinstance(item.value, exp.Column) and used and used <= first.keys() and not used & floats:
            more.add((frozenset(first[name] for name in used), item.column.name))
    wanted = frozenset(first)
    facts = _rekeyed(below, wanted)
    mapped = Facts(
        None if facts.key is None else frozenset(first[name] for name in facts.key),
        frozenset((frozenset(first[n] for n in given), first[decided]) for given, decided in facts.dependencies),
        frozenset(name for old in facts.not_null for name in new.get(old, ())),
    )
    return mapped.with_(more, not_null)


def _rekeyed(facts: Facts, wanted: Names) -> Facts:
    """The facts restricted to some columns; columns that determine a dropped key column take its place in the key."""
    if facts.key is not None and not facts.key <= wanted and facts.key <= facts.closure(wanted):
        key = set(wanted)
        for name in sorted(wanted):
            if facts.key <= facts.closure(key - {name}):
                key.discard(name)
        facts = Facts(frozenset(key), facts.dependencies, facts.not_null)
    # transitive dependencies through dropped columns are kept as direct ones
    short = frozenset(
        (frozenset({name}), decided) for name in wanted for decided in (facts.closure({name}) & wanted) - {name}
    ) | frozenset((NONE, decided) for decided in facts.closure(()) & wanted)
    return facts.only(wanted).with_(short)


def _join(node: Join) -> Facts:
    left, right = facts_of(node.left), facts_of(node.right)
    types = _types(node.left, node.right)
    if node.kind == SEMI:
        return _with_condition(left, node.condition, _types(node.left)).only(node.names)
    if node.kind == ANTI:
        return left
    if node.kind == MARK:
        return left
    if node.kind == SINGLE:
        return Facts(left.key, left.dependencies, left.not_null)
    both = None if left.key is None or right.key is None else left.key | right.key
    if node.kind.is_inner:
        facts = Facts(both, left.dependencies | right.dependencies, left.not_null | right.not_null)
        return _with_condition(facts, node.condition, types)
    if node.kind == LEFT:
        return _outer(left, right, both, node.condition, node.right, types)
    if node.kind == RIGHT:
        return _outer(right, left, both, node.condition, node.left, types)
    assert node.kind == FULL
    return Facts(_of_both_sides(left, right), _padded(left) | _padded(right))


def _of_both_sides(left: Facts, right: Facts) -> Names | None:
    """The key of a full join: the keys of both sides, and a column that is NULL only if its side is missing."""
    if left.key is None or right.key is None:
        return None
    both = left.key | right.key
    telling = left.not_null | right.not_null
    if telling & both:
        return both
    return both | {min(telling)} if telling else None


def _multi_join(node: MultiJoin) -> Facts:
    """The facts of all inputs, and those that the conditions imply."""
    found = [facts_of(part) for part in node.parts]
    keys = [facts.key for facts in found if facts.key is not None]
    key = frozenset().union(*keys) if len(keys) == len(found) else None
    facts = Facts(
        key,
        frozenset().union(*(facts.dependencies for facts in found)),
        frozenset().union(*(facts.not_null for facts in found)),
    )
    for condition in node.conditions:
        facts = _with_condition(facts, condition, _types(node))
    return facts


def _restrict(node: Restrict) -> Facts:
    return facts_of(node.input)


def _padded(facts: Facts) -> frozenset[tuple[Names, str]]:
    """The dependencies that still hold after padding with rows of NULLs only."""
    return frozenset((given, decided) for given, decided in facts.dependencies if given & facts.not_null)


def _outer(
    kept: Facts,
    other: Facts,
    both: Names | None,
    condition: Expr | None,
    other_node: Node,
    types: Mapping[str, exp.DataType],
) -> Facts:
    matched = _with_condition(other, condition, types)  # what the condition implies for the padded side within a match
    mine = frozenset(name for name in types if name not in other_node.names)
    once = matched.key is not None and matched.key <= matched.closure(mine)
    key = kept.key if once else both
    return Facts(key, kept.dependencies | _padded(other), kept.not_null)


def _aggregate(node: Aggregate) -> Facts:
    if node.sets is not None:
        return Facts(None)
    keys = frozenset(item.column.name for item in node.keys)
    below = facts_of(node.input)
    kept = _rekeyed(below, keys)
    counts = {item.column.name for item in node.aggregates if isinstance(item.value, exp.Count)}
    return Facts(keys, kept.dependencies, kept.not_null | counts)


def _distinct(node: Distinct) -> Facts:
    below = facts_of(node.input)
    return below if below.key is not None else Facts(node.names, below.dependencies, below.not_null)


def _set_operation(node: SetOperation) -> Facts:
    names = {old.name: new.name for old, new in zip(node.left.columns, node.output, strict=True)}
    left = facts_of(node.left)
    if any(loses(a.type, b.type) for a, b in zip(node.left.columns, node.right.columns, strict=True)):
        return Facts(None if node.all else node.names)
    mapped = frozenset((frozenset(names[n] for n in given), names[d]) for given, d in left.dependencies)
    not_null = frozenset(names[n] for n in left.not_null)
    if left.key is not None:
        return Facts(frozenset(names[n] for n in left.key), mapped, not_null)
    return Facts(None if node.all else node.names, mapped, not_null)


def _union_all(node: UnionAll) -> Facts:
    """The key needs a column whose constants differ between the branches: the tag."""
    left, right = facts_of(node.left), facts_of(node.right)
    if left.key is None or right.key is None:
        return Facts(None)
    pairs = list(zip(node.output, node.left.columns, node.right.columns, strict=True))
    if any(
        (loses(a.type, b.type) and a.name in left.key) or (loses(b.type, a.type) and b.name in right.key)
        for _, a, b in pairs
    ):
        return Facts(None)
    tags = (out.name for out, a, b in pairs if _apart(constants(node.left, a.name), constants(node.right, b.name)))
    tag = next(tags, None)
    if tag is None:
        return Facts(None)
    keys = {out.name for out, a, b in pairs if a.name in left.key or b.name in right.key}
    return Facts(frozenset(keys | {tag}))


def _apart(a: frozenset[Expr] | None, b: frozenset[Expr] | None) -> bool:
    """Whether two sets of constants are disjoint, also after a cast to a common type."""
    if a is None or b is None:
        return False
    texts = {constant.is_string for constant in a | b}
    values = [{c.name if c.is_string else Decimal(c.name) for c in each} for each in (a, b)]
    return len(texts) == 1 and not values[0] & values[1]


@lru_cache(maxsize=4096)
def constants(node: Node, name: str) -> frozenset[Expr] | None:
    """The constants that a column can hold; None if it can hold other values."""
    if isinstance(node, Project):
        value = next(item.value for item in node.output if item.column.name == name)
        if isinstance(value, exp.Literal):
            return frozenset({value})
        return constants(node.input, value.name) if isinstance(value, exp.Column) else None
    if isinstance(node, Filter | Window | Limit | Distinct) and name in node.inputs[0].names:
        return constants(node.inputs[0], name)
    if isinstance(node, UnionAll):
        place = [column.name for column in node.output].index(name)
        both = [constants(side, side.columns[place].name) for side in node.inputs]
        return None if both[0] is None or both[1] is None else both[0] | both[1]
    return None


def _window(node: Window) -> Facts:
    return facts_of(node.input)


def _limit(node: Limit) -> Facts:
    below = facts_of(node.input)
    return Facts(NONE, below.dependencies, below.not_null) if node.count is not None and node.count <= 1 else below


def _generate(node: Generate) -> Facts:
    """Positions identify the rows of one array; values do not."""
    below = facts_of(node.input)
    key = None
    if below.key is not None and isinstance(node.generator, exp.Posexplode | exp.PosexplodeOuter):
        key = below.key | {node.output[0].name}
    return Facts(key, below.dependencies, below.not_null)


_RULES: dict[type[Node], Callable[..., Facts]] = {
    Scan: _scan,
    Values: _values,
    Filter: _filter,
    Project: _project,
    Join: _join,
    MultiJoin: _multi_join,
    Restrict: _restrict,
    Aggregate: _aggregate,
    Distinct: _distinct,
    SetOperation: _set_operation,
    UnionAll: _union_all,
    Window: _window,
    Limit: _limit,
    Generate: _generate,
}
