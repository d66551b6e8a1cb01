"""PIVOT as an aggregation: each value becomes columns that aggregate only the rows with it. UNPIVOT as a union.

Before: ``PIVOT (sum(x) FOR s IN ('a' AS a, 'b' AS b))`` over (k, s, x).
After: ``GROUP BY k`` with, for each value, ``sum(x) FILTER (WHERE s = 'a') AS a``.

If no row has the value, a count is NULL if all aggregates return numbers, and 0 if one returns another type: Spark has
two ways to compute a PIVOT. For NULL, the column is ``CASE WHEN count(*) FILTER (WHERE s = 'a') > 0 THEN … END``.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from rollview.frontend.sql.context import Context, unbuildable
from rollview.frontend.sql.functions import of_nothing
from rollview.frontend.sql.scope import Entry, Scope, typed
from rollview.frontend.sql.understood import PIVOT, PIVOTED_COLUMN, UNPIVOT, only
from rollview.plan.expressions import Expr, names_in
from rollview.plan.nodes import Aggregate, Column, Computed, Filter, Node, Project, UnionAll

_NUMBERS = (
    exp.Count,
    exp.CountIf,
    exp.ApproxDistinct,
    exp.Sum,
    exp.Avg,
    exp.Stddev,
    exp.StddevPop,
    exp.Variance,
    exp.VariancePop,
)


def pivoted(context: Context, plan: Node, entries: Sequence[Entry], pivot: exp.Pivot) -> Node:
    from rollview.frontend.sql.bind import bind

    fields = pivot.args.get("fields") or []
    if len(fields) != 1 or not isinstance(fields[0], exp.In) or isinstance(fields[0].this, exp.Tuple):
        raise unbuildable(context, "PIVOT over several columns", pivot)
    only(context, pivot, UNPIVOT if pivot.args.get("unpivot") else PIVOT)
    only(context, fields[0], PIVOTED_COLUMN)
    if anything := pivot.find(exp.PivotAny):
        raise unbuildable(context, "PIVOT over any value", anything)
    scope = Scope(context.sql, list(entries))
    if pivot.args.get("unpivot"):
        return _unpivoted(context, plan, scope, pivot, fields[0])
    subject = bind(fields[0].this, scope, context)
    functions = [_function(item, scope, context) for item in pivot.expressions]
    null_if_none = _null_if_none(context, [function for _, function in functions], pivot)
    used = names_in(subject).union(*(names_in(value) for _, value in functions))
    groups = tuple(Computed(c, typed(c)) for c in plan.columns if c.name not in used)
    counted: list[Computed] = []
    output: list[Computed] = list(groups)
    for value in fields[0].expressions:
        literal, label = (value.this, value.alias) if isinstance(value, exp.PivotAlias) else (value, value.name)
        test = exp.Where(this=exp.NullSafeEQ(this=subject.copy(), expression=bind(literal, scope, context)))
        here = context.numbering.column("rows")
        if null_if_none:
            counted.append(Computed(here, exp.Filter(this=exp.Count(this=exp.Star()), expression=test.copy())))
        for alias, function in functions:
            found = context.numbering.column("value")
            counted.append(Computed(found, exp.Filter(this=function.copy(), expression=test.copy())))
            some = exp.GT(this=typed(here), expression=exp.Literal.number(0))
            shown = exp.Case(ifs=[exp.If(this=some, true=typed(found))]) if null_if_none else typed(found)
            name = label if len(functions) == 1 else f"{label}_{alias or function.sql('spark')}"
            column: Column = context.numbering.column(name)
            output.append(Computed(column, shown))
    return Project(Aggregate(plan, groups, tuple(counted)), tuple(output))


def _null_if_none(context: Context, functions: Sequence[Expr], pivot: exp.Pivot) -> bool:
    """Whether a column is NULL if no row has its value, although its aggregate over no rows is not NULL."""
    if all(isinstance(of_nothing(function), exp.Null) for function in functions):
        return False
    numbers = [_gives_number(function) for function in functions]
    if None in numbers and False not in numbers:
        raise unbuildable(context, "PIVOT with a count and an aggregate of unknown type", pivot)
    return all(numbers)


def _gives_number(function: Expr) -> bool | None:
    """Whether an aggregate returns a number or a BOOLEAN; None if its type is unknown."""
    if isinstance(of_nothing(function), exp.Array):
        return False
    if isinstance(function, _NUMBERS):
        return True
    kind = (
        function.this.type
        if isinstance(function, exp.Max | exp.Min) and isinstance(function.this, exp.Column)
        else None
    )
    if kind is None or kind.this is exp.DataType.Type.UNKNOWN:
        return None
    return kind.this in exp.DataType.NUMERIC_TYPES or kind.this is exp.DataType.Type.BOOLEAN


def _unpivoted(context: Context, plan: Node, scope: Scope, pivot: exp.Pivot, field: exp.In) -> Node:
    """For each listed column, or tuple of columns, the rows in which it is not NULL, with its name and value.

    Before: ``UNPIVOT (v FOR n IN (a, b AS 'c'))`` over (k, a, b).
    After: ``SELECT k, 'a', a … WHERE a IS NOT NULL UNION ALL SELECT k, 'c', b … WHERE b IS NOT NULL``.
    """
    from rollview.frontend.sql.bind import bind

    labels = [field.this.name, *(name.name for item in pivot.expressions for name in item.expressions or [item])]
    listed: list[tuple[str, list[Expr]]] = []
    for item in field.expressions:
        value = item.this if isinstance(item, exp.PivotAlias) else item
        parts = value.expressions or [value]
        name = item.alias if isinstance(item, exp.PivotAlias) else "_".join(part.name for part in parts)
        listed.append((name, [bind(part, scope, context) for part in parts]))
    used = {name for _, parts in listed for part in parts for name in names_in(part)}
    kept = [column for column in plan.columns if column.name not in used]
    whole: Node | None = None
    for name, parts in listed:
        known = [exp.Not(this=exp.Is(this=part.copy(), expression=exp.null())) for part in parts]
        rows = plan if pivot.args.get("include_nulls") else Filter(plan, exp.or_(*known, copy=False))
        values = [*(typed(column) for column in kept), exp.Literal.string(name), *parts]
        columns = context.numbering.columns([*(column.label for column in kept), *labels])
        row = Project(rows, tuple(Computed(column, v.copy()) for column, v in zip(columns, values, strict=True)))
        output = context.numbering.columns([column.label for column in columns])
        whole = row if whole is None else UnionAll(whole, row, output)
    assert whole is not None
    return whole


def _function(item: Expr, scope: Scope, context: Context) -> tuple[str, Expr]:
    from rollview.frontend.sql.bind import bind

    if isinstance(item, exp.Alias):
        return item.alias, bind(item.this, scope, context)
    return "", bind(item, scope, context)
