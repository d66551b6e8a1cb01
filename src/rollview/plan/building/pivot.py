"""PIVOT as an aggregation: each value becomes columns that aggregate only the rows that have it.

Before: ``PIVOT (sum(x) FOR s IN ('a' AS a, 'b' AS b))`` over (k, s, x).
After: ``GROUP BY k`` with, for each value, ``CASE WHEN count(*) FILTER (WHERE s = 'a') > 0 THEN sum(x) FILTER (WHERE
s = 'a') END AS a``.

The CASE is there because PIVOT gives NULL, not a count of 0, where no row has the value.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from rollview.plan.building.context import Context, unbuildable
from rollview.plan.building.scope import Entry, Scope, typed
from rollview.plan.expressions import Expr, names_in
from rollview.plan.nodes import Aggregate, Column, Computed, Node, Project


def pivoted(context: Context, plan: Node, entries: Sequence[Entry], pivot: exp.Pivot) -> Node:
    from rollview.plan.building.binding import bind

    if pivot.args.get("unpivot"):
        raise unbuildable(context, "UNPIVOT", pivot)
    scope = Scope(context.sql, list(entries))
    fields = pivot.args.get("fields") or []
    if len(fields) != 1 or not isinstance(fields[0], exp.In) or isinstance(fields[0].this, exp.Tuple):
        raise unbuildable(context, "PIVOT over several columns", pivot)
    subject = bind(fields[0].this, scope, context)
    functions = [_function(item, scope, context) for item in pivot.expressions]
    used = names_in(subject).union(*(names_in(value) for _, value in functions))
    groups = tuple(Computed(c, typed(c)) for c in plan.columns if c.name not in used)
    counted: list[Computed] = []
    output: list[Computed] = list(groups)
    for value in fields[0].expressions:
        literal, label = (value.this, value.alias) if isinstance(value, exp.PivotAlias) else (value, value.name)
        test = exp.Where(this=exp.NullSafeEQ(this=subject.copy(), expression=bind(literal, scope, context)))
        here = context.numbering.column("rows")
        counted.append(Computed(here, exp.Filter(this=exp.Count(this=exp.Star()), expression=test.copy())))
        for alias, function in functions:
            found = context.numbering.column("value")
            counted.append(Computed(found, exp.Filter(this=function.copy(), expression=test.copy())))
            some = exp.GT(this=typed(here), expression=exp.Literal.number(0))
            name = label if len(functions) == 1 else f"{label}_{alias or function.sql('spark')}"
            column: Column = context.numbering.column(name)
            output.append(Computed(column, exp.Case(ifs=[exp.If(this=some, true=typed(found))])))
    return Project(Aggregate(plan, groups, tuple(counted)), tuple(output))


def _function(item: Expr, scope: Scope, context: Context) -> tuple[str, Expr]:
    from rollview.plan.building.binding import bind

    if isinstance(item, exp.Alias):
        return item.alias, bind(item.this, scope, context)
    return "", bind(item, scope, context)
