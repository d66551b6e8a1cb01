"""Classes of columns that a join makes equal: from a = b and b = c, the class a, b, c.

An equality joins if each side is computed from one part. What it compares must have one type, in which equal values
have equal words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from rollview.live.compile.refused import not_live
from rollview.live.words import INTEGERS, Kind, kind_of
from rollview.plan.expressions import Expr, equal_groups, equality, names_in, show


@dataclass(frozen=True)
class EqualClass:
    """Equal expressions, each with its part, the type in which they are compared, and whether NULL equals NULL."""

    members: tuple[tuple[int, Expr], ...]
    kind: Kind
    null_safe: bool

    @property
    def parts(self) -> frozenset[int]:
        return frozenset(part for part, _ in self.members)

    @property
    def title(self) -> str:
        return (" <=> " if self.null_safe else " = ").join(show(value) for _, value in self.members)

    def of(self, part: int) -> list[Expr]:
        """The expressions of a part."""
        return [value for number, value in self.members if number == part]


def classes_of(
    conditions: Sequence[Expr], parts: Sequence[frozenset[str]], kind: Callable[[int, Expr], str]
) -> tuple[list[EqualClass], list[Expr]]:
    """The classes that some conditions make, and the conditions that remain. ``kind`` gives types of expressions."""
    joining: list[Expr] = []
    rest: list[Expr] = []
    for condition in conditions:
        sides = equality(condition)
        both = [_part_of(side, parts) for side in sides] if sides is not None else [None]
        (rest if None in both else joining).append(condition)
    found = []
    for group in equal_groups(joining):
        members = tuple((_known(_part_of(value, parts)), value) for value in group)
        strict = any(_is_strict(each, group) for each in joining)
        kinds = [kind(part, value) for part, value in members]
        found.append(EqualClass(members, common_kind(kinds, [show(value) for value in group]), not strict))
    return found, rest


def _is_strict(condition: Expr, group: Sequence[Expr]) -> bool:
    """Whether a condition is one of a group's by which NULL does not equal NULL."""
    sides = equality(condition)
    return sides is not None and sides[0] in group and isinstance(condition.unnest(), exp.EQ)


def _part_of(value: Expr, parts: Sequence[frozenset[str]]) -> int | None:
    """The one part whose columns an expression uses."""
    used = [number for number, names in enumerate(parts) if names & names_in(value)]
    return used[0] if len(used) == 1 else None


def _known(part: int | None) -> int:
    assert part is not None
    return part


def common_kind(kinds: Sequence[str], titles: Sequence[str]) -> Kind:
    """The type in which equal values of these types have equal words. Raises NotLive if there is none."""
    found = [kind_of(kind) for kind in kinds]
    names = {kind.name for kind in found}
    if len(names) == 1 and not found[0].nested:
        return found[0]
    if names <= set(INTEGERS):
        return kind_of("bigint")
    if names <= {"float", "double", *INTEGERS} - {"bigint"}:
        return kind_of("double")
    if all(kind.integer or kind.decimal for kind in found):
        digits = [_digits(kind) for kind in found]
        scale = max(scale for _, scale in digits)
        whole = max(precision - scale for precision, scale in digits)
        if whole + scale <= 38:
            return kind_of(f"decimal({whole + scale},{scale})")
    raise not_live(
        f"a join by {' = '.join(titles)}, of types {', '.join(kinds)}", "equal values of these types differ in memory"
    )


def _digits(kind: Kind) -> tuple[int, int]:
    if kind.decimal:
        return kind.arrow.precision, kind.arrow.scale
    return {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}[kind.name], 0
