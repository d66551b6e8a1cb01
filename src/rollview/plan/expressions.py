"""Expressions over plan columns: sqlglot trees whose columns are unqualified, unique names. Never changed in place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache

from sqlglot import exp

from rollview.stack import deep

Expr = exp.Expr

TRUE = exp.true()


@lru_cache(maxsize=65536)
def names_in(expr: Expr) -> frozenset[str]:
    """The plan columns that an expression uses."""
    return frozenset(column.name for column in expr.find_all(exp.Column))


def has_any(expr: Expr, kinds: tuple[type[Expr], ...]) -> bool:
    """Whether a part of the expression is of one of the kinds; faster than ``find``, for large trees."""
    found, waiting = set[type[Expr]](), [expr]
    while waiting:
        node = waiting.pop()
        found.add(type(node))
        for value in node.args.values():
            if isinstance(value, list):
                waiting.extend(part for part in value if isinstance(part, Expr))
            elif isinstance(value, Expr):
                waiting.append(value)
    return any(issubclass(kind, kinds) for kind in found)


def rename(expr: Expr, names: Mapping[str, str]) -> Expr:
    """The expression with its columns renamed."""
    return replace_columns(expr, {name: ref(names[name]) for name in names_in(expr) if name in names})


def replace_columns(expr: Expr, values: Mapping[str, Expr]) -> Expr:
    """The expression with columns replaced by other expressions."""
    if isinstance(expr, exp.Column):  # the common case
        return grouped(values[expr.name].copy()) if expr.name in values else expr.copy()
    found = expr.copy()
    if not values.keys().isdisjoint(names_in(expr)):
        for column in list(found.find_all(exp.Column)):
            if column.name in values:
                column.replace(grouped(values[column.name].copy()))
    return found


def transform(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """A changed copy; ``change`` is not applied again to what it returns."""
    return expr.transform(change, copy=True)


def grouped(expr: Expr) -> Expr:
    """The expression, in parentheses if operator precedence could split it."""
    if isinstance(expr, exp.Binary | exp.Not | exp.Neg | exp.Between | exp.In | exp.Is | exp.Case | exp.Interval):
        return exp.Paren(this=expr)
    return expr


def ref(name: str) -> exp.Column:
    """A reference to a column of a plan."""
    return exp.Column(this=exp.to_identifier(name, quoted=True))


def conjuncts(expr: Expr | None) -> list[Expr]:
    """The parts of a condition that AND connects."""
    found: list[Expr] = []
    waiting = [] if expr is None else [expr]
    while waiting:
        part = waiting.pop()
        bare = part.unnest() if isinstance(part, exp.Paren) else part
        if isinstance(bare, exp.And):
            waiting += [bare.right, bare.left]
        elif not (isinstance(bare, exp.Boolean) and bare.this):
            found.append(bare)
    return found


def conjunction(parts: Iterable[Expr]) -> Expr | None:
    """The parts connected by AND; None if there are none."""
    found = [part.copy() for part in parts]
    if len(found) < 2:
        return found[0] if found else None
    return connected(exp.And, [grouped(part) for part in found])


def connected(kind: type[exp.And] | type[exp.Or], parts: Sequence[Expr]) -> Expr:
    """The parts connected by AND or OR as a balanced tree: a long chain must not nest as deeply as it is long."""
    if len(parts) == 1:
        return parts[0]
    half = (len(parts) + 1) // 2
    return kind(this=connected(kind, parts[:half]), expression=connected(kind, parts[half:]))


def chained(expr: Expr, kind: type[Expr]) -> list[Expr]:
    """The operands of a chain of AND or OR, in order."""
    found: list[Expr] = []
    waiting = [expr]
    while waiting:
        part = waiting.pop()
        if isinstance(part, kind):
            waiting += [part.args["expression"], part.this]
        else:
            found.append(part)
    return found


def same(a: str, b: str) -> Expr:
    """NULL-safe equality of two columns."""
    return exp.NullSafeEQ(this=ref(a), expression=ref(b))


def equal_groups(conditions: Iterable[Expr]) -> list[list[Expr]]:
    """Groups of expressions that conditions make equal: from a = b and b = c, the group a, b, c."""
    groups: list[list[Expr]] = []
    for sides in map(equality, conditions):
        if sides is not None:
            matching = [group for group in groups if sides[0] in group or sides[1] in group]
            merged = [value for group in matching for value in group]
            merged += [value for value in dict.fromkeys(sides) if value not in merged]
            groups = [group for group in groups if group not in matching] + [merged]
    return groups


def columns_equal_to(name: str, groups: Iterable[Iterable[Expr]]) -> list[str]:
    """The columns that the groups make equal to a column; the column itself comes first."""
    found = [name]
    for group in groups:
        names = [value.name for value in group if isinstance(value, exp.Column)]
        found += [other for other in names if name in names and other not in found]
    return found


def equality(expr: Expr) -> tuple[Expr, Expr] | None:
    """The two sides of an equality; None for other expressions."""
    bare = expr.unnest() if isinstance(expr, exp.Paren) else expr
    return (bare.left, bare.right) if isinstance(bare, exp.EQ | exp.NullSafeEQ) else None


@deep
def show(expr: Expr) -> str:
    """An expression as readable SQL."""
    bare = expr.copy()
    for identifier in bare.find_all(exp.Identifier):
        if identifier.this.isidentifier():
            identifier.set("quoted", False)
    for each in list(bare.find_all(exp.ArrayAgg)):  # sqlglot's Spark dialect drops an ORDER BY inside it
        if isinstance(each.this, exp.Order):
            named = exp.Anonymous(this="COLLECT_LIST", expressions=[each.this])
            bare = named if each is bare else bare
            each.replace(named)
    return bare.sql(dialect="spark", copy=False)
