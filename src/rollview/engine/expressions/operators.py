"""How operators, conditions, literals and casts are read."""

from __future__ import annotations

from sqlglot import exp

from rollview.engine.expressions.checker import Checker, Form
from rollview.engine.expressions.coercion import decimals
from rollview.engine.expressions.literals import literal, number
from rollview.engine.expressions.reading import arguments, plain
from rollview.engine.expressions.refused import Refused
from rollview.engine.expressions.terms import Term, null
from rollview.engine.expressions.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOATS,
    INT,
    INTEGERS,
    STRING,
    VOID,
    written_type,
)
from rollview.plan.expressions import Expr, show


def _literal(c: Checker, node: Expr) -> Term:
    return literal(node.name, STRING) if node.args["is_string"] else number(node.name)


def _binary(c: Checker, node: Expr) -> Term:
    digits = node.name
    return literal(bytes.fromhex(digits if len(digits) % 2 == 0 else f"0{digits}"), BINARY)


def _arithmetic(name: str) -> Form:
    def form(c: Checker, node: Expr) -> Term:
        left, right = arguments(node, "this", "expression")
        if isinstance(right, exp.Interval):
            return _with_interval(c, name, left, right)
        a, b = c.term(left), c.term(right)
        if DATE in (a.type, b.type):
            return _of_days(c, node, name, a, b)
        kinds = (a.type, b.type)
        if not all(kind.is_numeric or kind == VOID for kind in kinds):
            raise Refused(f"{name} over {a.type}, {b.type}")
        if name == "/" and not any(kind.is_decimal for kind in kinds):
            a, b = c.cast(a, DOUBLE), c.cast(b, DOUBLE)
        elif any(kind.is_decimal for kind in kinds) and not set(kinds) & {*FLOATS, VOID}:
            a, b = decimals((a, b), c.cast)
        else:
            a, b = c.together(name, (a, b))
        return c.call(name, a, b)

    return form


def _whole_quotient(c: Checker, node: Expr) -> Term:
    a, b = c.terms(arguments(node, "this", "expression"))
    if not all(each.type in (*INTEGERS, VOID) for each in (a, b)):
        raise Refused(f"DIV over {a.type}, {b.type}")
    return c.call("DIV", c.cast(a, BIGINT), c.cast(b, BIGINT))


def _of_days(c: Checker, node: Expr, name: str, a: Term, b: Term) -> Term:
    """A date and a number of days."""
    if name == "+" and b.type == DATE:
        a, b = b, a
    if name not in "+-" or b.type not in INTEGERS or not isinstance(b.literal, int):
        raise Refused(show(node), why="only a literal number of days can be added to a date, or subtracted from it")
    return c.call("date_add", a, literal(b.literal if name == "+" else -b.literal, INT))


#: Units of intervals as literals: the entry that adds them, to a date or to a time, and how many of its unit they are.
_INTERVALS = {
    "DAY": ("date_add", 1), "WEEK": ("date_add", 7), "MONTH": ("add_months", 1), "YEAR": ("add_months", 12),
    "HOUR": ("+ INTERVAL", 3600), "MINUTE": ("+ INTERVAL", 60), "SECOND": ("+ INTERVAL", 1),
}  # fmt: skip


def _with_interval(c: Checker, operator: str, left: Expr, interval: exp.Interval) -> Term:
    count, unit = arguments(interval, "this", "unit")
    negative = isinstance(count, exp.Neg)
    written = (count.this if negative else count).name
    found = _INTERVALS.get(unit.name.upper().removesuffix("S"))
    if operator not in "+-" or found is None or not written.removeprefix("-").isdecimal():
        raise Refused(show(interval), why="only whole numbers of one unit, from SECOND to YEAR, are on the list")
    entry, size = found
    sign = -1 if negative != (operator == "-") else 1
    value = c.term(left)
    if entry == "+ INTERVAL" and value.type == DATE:
        raise Refused(f"{show(interval)} added to a date")
    total = sign * int(written) * size
    return c.call(entry, value, number(str(abs(total)), total < 0))


def _negative(c: Checker, node: Expr) -> Term:
    (value,) = arguments(node, "this")
    if isinstance(value, exp.Literal) and not value.is_string:
        return number(value.name, negative=True)
    return c.call("negative", c.term(value))


def _comparison(name: str) -> Form:
    def form(c: Checker, node: Expr) -> Term:
        return c.call(name, *c.together(name, c.terms(arguments(node, "this", "expression"))))

    return form


def _is(c: Checker, node: Expr) -> Term:
    value, known = arguments(node, "this", "expression")
    if isinstance(known, exp.Null):
        return c.call("IS NULL", c.term(value))
    if isinstance(known, exp.Boolean):
        return c.call("IS TRUE" if known.this else "IS FALSE", c.given(c.term(value), BOOLEAN))
    raise Refused(show(node))


def _conditions(name: str, *names: str) -> Form:
    def form(c: Checker, node: Expr) -> Term:
        return c.call(name, *(_condition(c, part) for part in arguments(node, *names)))

    return form


def _condition(c: Checker, node: Expr) -> Term:
    found = c.term(node)
    return c.cast(found, BOOLEAN) if found.type == VOID else found


def _between(c: Checker, node: Expr) -> Term:
    value, low, high = c.terms(arguments(node, "this", "low", "high"))
    sides = ((">=", low), ("<=", high))
    return c.call("AND", *(c.call(name, *c.together("BETWEEN", (value, bound))) for name, bound in sides))


def _in(c: Checker, node: Expr) -> Term:
    return c.call("IN", *c.together("IN", c.terms(arguments(node, "this", "expressions"))))


def _case(c: Checker, node: Expr) -> Term:
    ifs = node.args["ifs"]
    arguments(node, "this", "ifs", "default")
    conditions = [_condition(c, branch.this) for branch in ifs]
    if (value := node.args.get("this")) is not None:
        of = c.term(value)
        conditions = [c.call("=", *c.together("CASE", (of, c.term(branch.this)))) for branch in ifs]
    default = node.args.get("default")
    return branches(c, conditions, [branch.args["true"] for branch in ifs], default)


def branches(c: Checker, conditions: list[Term], values: list[Expr], default: Expr | None) -> Term:
    """A CASE of these branches."""
    last = null() if default is None else c.term(default)
    *found, last = c.together("CASE", [*c.terms(values), last])
    return c.call("CASE", *(part for pair in zip(conditions, found, strict=True) for part in pair), last)


def _cast(c: Checker, node: Expr) -> Term:
    value, kind = c.term(node.this), written_type(node.args["to"])
    arguments(node, "this", "to")
    if isinstance(node, exp.TryCast) and node.args.get("safe"):
        raise Refused(show(node))
    return c.cast(value, kind)


OPERATORS: dict[type[Expr], Form] = {
    exp.Column: lambda c, node: c.column(node.name),
    exp.Paren: lambda c, node: c.term(node.this),
    exp.Literal: _literal,
    exp.RawString: lambda c, node: literal(node.name, STRING),
    exp.HexString: _binary,
    exp.Null: lambda c, node: null(),
    exp.Boolean: lambda c, node: literal(bool(node.this), BOOLEAN),
    exp.Add: _arithmetic("+"),
    exp.Sub: _arithmetic("-"),
    exp.Mul: _arithmetic("*"),
    exp.Div: _arithmetic("/"),
    exp.Mod: _arithmetic("%"),
    exp.IntDiv: _whole_quotient,
    exp.Neg: _negative,
    exp.BitwiseAnd: _arithmetic("&"),
    exp.BitwiseOr: _arithmetic("|"),
    exp.BitwiseXor: _arithmetic("^"),
    exp.BitwiseNot: plain("~", "this"),
    exp.EQ: _comparison("="),
    exp.NEQ: _comparison("<>"),
    exp.LT: _comparison("<"),
    exp.LTE: _comparison("<="),
    exp.GT: _comparison(">"),
    exp.GTE: _comparison(">="),
    exp.NullSafeEQ: _comparison("<=>"),
    exp.NullSafeNEQ: _comparison("IS DISTINCT FROM"),
    exp.EqualNull: _comparison("<=>"),
    exp.Is: _is,
    exp.And: _conditions("AND", "this", "expression"),
    exp.Or: _conditions("OR", "this", "expression"),
    exp.Not: _conditions("NOT", "this"),
    exp.Between: _between,
    exp.In: _in,
    exp.Case: _case,
    exp.Cast: _cast,
    exp.TryCast: _cast,
}
