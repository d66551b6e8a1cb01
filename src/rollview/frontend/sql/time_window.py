"""``GROUP BY window(t, '1 hour')``: the window of each row is a column, named ``window``.

Before: ``SELECT window.start, count(*) FROM x GROUP BY window(t, '1 hour')``.
After: ``SELECT window.start, count(*) FROM (SELECT *, named_struct('start', …, 'end', …) AS window FROM x WHERE t IS
NOT NULL) GROUP BY window``, and windows start at whole hours since 1970, as in Spark.

Overlapping windows would turn a row into several, and session windows depend on other rows: neither is compiled.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import exp

from rollview.frontend.sql.context import Context, unbuildable
from rollview.frontend.sql.from_clause import Relation
from rollview.frontend.sql.scope import Entry, Scope, typed
from rollview.frontend.sql.types import type_of
from rollview.plan.expressions import Expr
from rollview.plan.nodes import Computed, Filter, Project

_NAMES = {"window", "session_window", "window_time"}
_INSTANTS = {
    exp.DataType.Type.DATE,
    exp.DataType.Type.TIMESTAMPTZ,
    exp.DataType.Type.TIMESTAMPLTZ,
}
_UNITS = {"microsecond": 1, "millisecond": 10**3, "second": 10**6, "minute": 60 * 10**6, "hour": 3600 * 10**6,
          "day": 86400 * 10**6, "week": 7 * 86400 * 10**6}  # fmt: skip
_CLAUSES = ("expressions", "where", "group", "having", "qualify", "order")


def with_time_window(
    context: Context, select: exp.Select, source: Relation, parent: Scope | None
) -> tuple[exp.Select, Relation]:
    """The SELECT and its relation, with the window as a column of the relation."""
    from rollview.frontend.sql.bind import bind

    calls = list(_calls(select))
    if not calls:
        return select, source
    call, group = calls[0], select.args.get("group")
    if (
        call.name.lower() != "window"
        or len(call.expressions) != 2
        or any(other != call for other in calls)
        or group is None
        or call not in group.expressions
        or sum(node == call for node in select.find_all(exp.Anonymous)) > len(calls)
    ):
        raise unbuildable(context, call.sql("spark"), call)
    time = bind(call.expressions[0], Scope(context.sql, list(source.entries), parent), context)
    length = _micros(call.expressions[1])
    kind = time.type if isinstance(time, exp.Column) else type_of(time)
    if length is None or kind is None or kind.this not in _INSTANTS:
        raise unbuildable(context, call.sql("spark"), call)
    column = context.numbering.column("window")
    known = Filter(source.plan, exp.Not(this=exp.Is(this=time, expression=exp.null())))
    kept = tuple(Computed(each, typed(each)) for each in known.columns)
    plan = Project(known, (*kept, Computed(column, _window(time, length))))
    named = select.transform(lambda node: exp.column("window") if node == call else node)
    assert isinstance(named, exp.Select)
    return named, Relation(plan, (*source.entries, Entry(None, "window", column)))


def _micros(length: Expr) -> int | None:
    """The microseconds of a text like ``1 hour 30 minutes``."""
    if not (isinstance(length, exp.Literal) and length.is_string):
        return None
    text = length.this.lower().removeprefix("interval").strip()
    if not re.fullmatch(r"(\d+\s+[a-z]+\s*)+", text):
        return None
    parts = [(int(number), unit.removesuffix("s")) for number, unit in re.findall(r"(\d+)\s+([a-z]+)", text)]
    if any(unit not in _UNITS for _, unit in parts):
        return None
    return sum(number * _UNITS[unit] for number, unit in parts) or None


def _window(time: Expr, length: int) -> Expr:
    """The start and end of the window that contains an instant."""
    micros = exp.Anonymous(this="UNIX_MICROS", expressions=[exp.cast(time.copy(), "timestamp", dialect="spark")])
    each = exp.Literal.number(length)
    into = exp.Anonymous(this="PMOD", expressions=[micros, each])
    start = exp.Paren(this=exp.Sub(this=micros.copy(), expression=into))
    fields: list[Expr] = []
    for name, instant in (("start", start), ("end", exp.Add(this=start.copy(), expression=each.copy()))):
        fields += [exp.Literal.string(name), exp.Anonymous(this="TIMESTAMP_MICROS", expressions=[instant])]
    return exp.Anonymous(this="NAMED_STRUCT", expressions=fields)


def _calls(select: exp.Select) -> Iterator[exp.Anonymous]:
    """The time windows of the SELECT itself, not of its subqueries."""
    for clause in _CLAUSES:
        value = select.args.get(clause)
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, Expr):
                for node in part.walk(prune=lambda inner: isinstance(inner, exp.Query)):
                    if isinstance(node, exp.Anonymous) and node.name.lower() in _NAMES:
                        yield node
