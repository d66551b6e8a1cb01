"""How functions are read, by their nodes or, if sqlglot has no node for them, by their names."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from rollview.engine.expressions.checker import Checker, Form
from rollview.engine.expressions.literals import literal
from rollview.engine.expressions.operators import branches
from rollview.engine.expressions.reading import arguments, plain, typed
from rollview.engine.expressions.refused import Refused
from rollview.engine.expressions.terms import Term
from rollview.engine.expressions.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTEGERS,
    STRING,
    TIMESTAMP,
    VOID,
    spark_type,
)
from rollview.plan.expressions import Expr, show

Named = Callable[[Checker, list[Expr]], Term]


def _if(c: Checker, node: Expr) -> Term:
    arguments(node, "this", "true", "false")
    condition = c.given(c.term(node.this), BOOLEAN)
    return branches(c, [condition], [node.args["true"]], node.args.get("false"))


def _unless_null(c: Checker, node: Expr) -> Term:
    value, known, unknown = arguments(node, "this", "true", "false")
    return branches(c, [c.call("IS NULL", c.term(value))], [unknown], known)


def _common(name: str) -> Form:
    """A function over values of one type, which it also returns."""

    def form(c: Checker, node: Expr) -> Term:
        return c.call(name, *c.together(name, c.terms(arguments(node, "this", "expressions"))))

    return form


def _null_if(c: Checker, node: Expr) -> Term:
    a, b = c.terms(arguments(node, "this", "expression"))
    same = c.call("=", *c.together("nullif", (a, b)))
    nothing, value = c.together("nullif", (c.term(exp.Null()), a))
    return c.call("CASE", same, nothing, value)


def _nan_value(c: Checker, node: Expr) -> Term:
    return c.call("nanvl", *c.together("nanvl", c.terms(arguments(node, "this", "expression"))))


def _rounded(c: Checker, node: Expr) -> Term:
    value, *digits = arguments(node, "this", "decimals")
    return c.call("round", c.term(value), *(c.terms(digits) or [literal(0, INT)]))


def _toward(name: str) -> Form:
    """Integers and floats are cast to the widest of their kind."""

    def form(c: Checker, node: Expr) -> Term:
        value = c.term(*arguments(node, "this"))
        if value.type in INTEGERS:
            return c.call(name, c.cast(value, BIGINT))
        return c.call(name, c.cast(value, DOUBLE) if value.type == FLOAT else value)

    return form


def _root(c: Checker, node: Expr) -> Term:
    value = c.term(*arguments(node, "this"))
    if not value.type.is_numeric:
        raise Refused(f"sqrt over {value.type}")
    return c.call("sqrt", c.cast(value, DOUBLE))


def _text(c: Checker, node: Expr) -> Term:
    """A value that becomes a string where a function takes one."""
    found = c.term(node)
    if found.type.name == "binary":
        raise Refused("A binary given as string")
    return c.cast(found, STRING)


def _texts(name: str, *names: str) -> Form:
    def form(c: Checker, node: Expr) -> Term:
        return c.call(name, *(_text(c, part) for part in arguments(node, *names)))

    return form


def _trim(c: Checker, node: Expr) -> Term:
    side = node.args.get("position") or "BOTH"
    parts = arguments(node, "this", "expression", "position")
    name = {"BOTH": "trim", "LEADING": "ltrim", "TRAILING": "rtrim"}[side]
    return c.call(name, *(_text(c, part) for part in parts))


def _like(c: Checker, node: Expr) -> Term:
    escape: list[Expr] = []
    if isinstance(node, exp.Escape):
        node, sign = arguments(node, "this", "expression")
        escape = [sign]
    if not isinstance(node, exp.Like):
        raise Refused(show(node))
    negated = bool(node.args.get("negate"))
    bare = exp.Like(**{name: value for name, value in node.args.items() if name != "negate"})
    parts = [*arguments(bare, "this", "expression"), *escape]
    if any(isinstance(part, exp.Any | exp.All) for part in parts):
        raise Refused(show(node))
    found = c.call("LIKE", *(c.given(c.term(part), STRING) for part in parts))
    return c.call("NOT", found) if negated else found


def _date_field(name: str) -> Form:
    return lambda c, node: c.call(name, _date(c, node.this))


def _date(c: Checker, node: Expr) -> Term:
    """A value that becomes a date where a function takes one."""
    if isinstance(node, exp.TsOrDsToDate):  # sqlglot puts it around the argument of YEAR and others
        (node,) = arguments(node, "this")
    return c.given(c.term(node), DATE)


def _time_field(name: str) -> Form:
    return lambda c, node: c.call(name, _time(c, c.term(*arguments(node, "this"))))


def _time(c: Checker, value: Term) -> Term:
    """A date or NULL becomes a TIMESTAMP where a function takes a time."""
    return c.cast(value, TIMESTAMP) if value.type in (DATE, VOID) else value


_FIELDS = {
    "YEAR": "year", "YEARS": "year", "YR": "year", "Y": "year", "QUARTER": "quarter", "QTR": "quarter",
    "MONTH": "month", "MON": "month", "MONTHS": "month", "DAY": "day", "D": "day", "DAYS": "day",
    "DAYOFWEEK": "dayofweek", "DOW": "dayofweek", "DOY": "dayofyear", "WEEK": "weekofyear", "W": "weekofyear",
    "HOUR": "hour", "H": "hour", "MINUTE": "minute", "SECOND": "EXTRACT SECOND",
}  # fmt: skip


def _extract(c: Checker, node: Expr) -> Term:
    unit, value = arguments(node, "this", "expression")
    return _field(c, unit.name.upper(), c.term(value))


def _field(c: Checker, unit: str, value: Term) -> Term:
    if unit not in _FIELDS:
        raise Refused(f"EXTRACT({unit})")
    name = _FIELDS[unit]
    if name in ("hour", "minute", "EXTRACT SECOND"):
        return c.call(name, _time(c, value))
    return c.call(name, c.given(value, DATE))


def _days(c: Checker, node: Expr) -> Term:
    """DATE_ADD and DATE_SUB, which sqlglot writes as a product with -1."""
    value, count, unit = arguments(node, "this", "expression", "unit")
    if unit.name.upper() != "DAY":
        raise Refused(show(node))
    sign = 1
    if isinstance(count, exp.Mul) and isinstance(count.expression, exp.Neg):
        sign, count = -1, count.this.unnest()
    days = c.term(count)
    if not isinstance(days.literal, int) or days.type not in INTEGERS:
        raise Refused(show(node), why="only a literal number of days can be added to a date")
    return c.call("date_add", _date(c, value), literal(sign * days.literal, INT))


def _month_sum(c: Checker, node: Expr) -> Term:
    value, count = arguments(node, "this", "expression")
    return c.call("add_months", _date(c, value), c.term(count))


def _day_count(c: Checker, node: Expr) -> Term:
    a, b = arguments(node, "this", "expression")
    return c.call("datediff", _date(c, a), _date(c, b))


def _date_trunc(c: Checker, node: Expr) -> Term:
    value, unit = arguments(node, "this", "unit")
    return c.call("date_trunc", literal(unit.name, STRING), c.given(c.term(value), TIMESTAMP))


def _trunc(c: Checker, node: Expr) -> Term:
    value, unit = arguments(node, "this", "unit")
    return c.call("trunc", _date(c, value), c.term(unit))


def _date_part(c: Checker, parts: list[Expr]) -> Term:
    unit, value = c.terms(parts)
    return _field(c, str(unit.literal).upper(), value)


def _to(name: str) -> Named:
    """A type's name used as a function is a cast."""

    def form(c: Checker, parts: list[Expr]) -> Term:
        (value,) = c.terms(parts)
        return c.cast(value, spark_type(name))

    return form


def _is_null(c: Checker, parts: list[Expr]) -> Term:
    return c.call("IS NULL", *c.terms(parts))


_NAMED: dict[str, Named] = {
    "isnull": _is_null,
    "isnotnull": lambda c, parts: c.call("NOT", _is_null(c, parts)),
    "octet_length": lambda c, parts: c.call("octet_length", *c.terms(parts)),
    "btrim": lambda c, parts: c.call("trim", *(_text(c, part) for part in parts)),
    "weekday": lambda c, parts: c.call("weekday", *(_date(c, part) for part in parts)),
    "date_part": _date_part,
    "datepart": _date_part,
    "positive": lambda c, parts: c.term(*parts),
    **{name: _to(name) for name in ("boolean", "tinyint", "smallint", "bigint", "float", "decimal", "timestamp")},
}


def _named(c: Checker, node: Expr) -> Term:
    """A function that sqlglot has no node for."""
    form, parts = _NAMED.get(node.name.lower()), arguments(node, "this", "expressions")
    if form is None:
        raise Refused(f"{node.name.lower()}()")
    try:
        return form(c, parts)
    except (TypeError, ValueError) as error:  # another number of arguments
        raise Refused(f"{node.name.lower()}() with {len(parts)} arguments") from error


FUNCTIONS: dict[type[Expr], Form] = {
    exp.Anonymous: _named,
    exp.If: _if,
    exp.Coalesce: _common("coalesce"),
    exp.Nvl2: _unless_null,
    exp.Nullif: _null_if,
    exp.Greatest: _common("greatest"),
    exp.Least: _common("least"),
    exp.Abs: plain("abs", "this"),
    exp.Negative: plain("negative", "this"),
    exp.Round: _rounded,
    exp.Floor: _toward("floor"),
    exp.Ceil: _toward("ceil"),
    exp.Sqrt: _root,
    exp.IsNan: plain("isnan", "this"),
    exp.Nanvl: _nan_value,
    exp.Upper: _texts("upper", "this"),
    exp.Lower: _texts("lower", "this"),
    exp.Length: plain("length", "this"),
    exp.Substring: typed("substring", (STRING, INT, INT), "this", "start", "length"),
    exp.Left: typed("left", (STRING, INT), "this", "expression"),
    exp.Right: typed("right", (STRING, INT), "this", "expression"),
    exp.Concat: _texts("concat", "expressions"),
    exp.DPipe: _texts("concat", "this", "expression"),
    exp.Trim: _trim,
    exp.Like: _like,
    exp.Escape: _like,
    exp.StartsWith: typed("startswith", (STRING, STRING), "this", "expression"),
    exp.EndsWith: typed("endswith", (STRING, STRING), "this", "expression"),
    exp.Contains: typed("contains", (STRING, STRING), "this", "expression"),
    exp.StrPosition: typed("position", (STRING, STRING), "this", "substr"),
    exp.Replace: typed("replace", (STRING, STRING, STRING), "this", "expression", "replacement"),
    exp.Year: _date_field("year"),
    exp.Quarter: _date_field("quarter"),
    exp.Month: _date_field("month"),
    exp.Day: _date_field("day"),
    exp.DayOfMonth: _date_field("day"),
    exp.DayOfWeek: _date_field("dayofweek"),
    exp.DayOfYear: _date_field("dayofyear"),
    exp.WeekOfYear: _date_field("weekofyear"),
    exp.Hour: _time_field("hour"),
    exp.Minute: _time_field("minute"),
    exp.Second: _time_field("second"),
    exp.Extract: _extract,
    exp.TsOrDsToDate: lambda c, node: c.cast(c.term(*arguments(node, "this")), DATE),
    exp.TsOrDsAdd: _days,
    exp.AddMonths: _month_sum,
    exp.DateDiff: _day_count,
    exp.TimestampTrunc: _date_trunc,
    exp.DateTrunc: _trunc,
    exp.LastDay: lambda c, node: c.call("last_day", _date(c, *arguments(node, "this"))),
    exp.UnixDate: lambda c, node: c.call("unix_date", _date(c, *arguments(node, "this"))),
    exp.UnixSeconds: lambda c, node: c.call("unix_seconds", _time(c, c.term(*arguments(node, "this")))),
    exp.UnixMicros: lambda c, node: c.call("unix_micros", _time(c, c.term(*arguments(node, "this")))),
}
