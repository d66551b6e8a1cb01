"""Operators with one input or none: each is one SELECT."""

from __future__ import annotations

from sqlglot import exp

from rollview.codegen.clauses import dummy, joined, selected
from rollview.codegen.ctes import Ctes
from rollview.codegen.dialects import inner_generator, unnested
from rollview.plan.expressions import ref
from rollview.plan.nodes import Aggregate, Distinct, Filter, Generate, Limit, Project, Scan, Values, Window


def rows(ctes: Ctes, node: Scan | Filter) -> exp.Query:
    return ctes.flat(node, [(ref(c.name), c.name) for c in node.columns])


def values(ctes: Ctes, node: Values) -> exp.Query:
    if not node.columns:
        return exp.Select(expressions=[dummy()])
    literals = [exp.Tuple(expressions=[value.copy() for value in row]) for row in node.rows]
    alias = exp.TableAlias(
        this=exp.to_identifier("v", quoted=True),
        columns=[exp.to_identifier(c.name, quoted=True) for c in node.columns],
    )
    return selected(node.columns).from_(exp.Values(expressions=literals, alias=alias), copy=False)


def projection(ctes: Ctes, node: Project) -> exp.Query:
    return ctes.flat(node.input, [(item.value, item.column.name) for item in node.output])


def aggregate(ctes: Ctes, node: Aggregate) -> exp.Query:
    items = [(item.value, item.column.name) for item in (*node.keys, *node.aggregates)]
    # one group, also of no rows, even if no column of it is needed
    output = items or [(exp.Count(this=exp.Star()), "_one")]
    if node.sets is None:
        query = ctes.flat(node.input, output, computed=False)
        keys = [item.unalias().copy() for item in query.expressions[: len(node.keys)]]
        return query.group_by(*keys, copy=False) if keys else query
    named = [exp.alias_(value.copy(), name, quoted=True) for value, name in output]
    query = exp.Select(expressions=named).from_(ctes.source(node.input), copy=False)
    sets = [exp.Tuple(expressions=[node.keys[i].value.copy() for i in subset]) for subset in node.sets]
    query.set("group", exp.Group(grouping_sets=[exp.GroupingSets(expressions=sets)]))
    return query


def distinct(ctes: Ctes, node: Distinct) -> exp.Query:
    return ctes.flat(node.input, [(ref(c.name), c.name) for c in node.columns], computed=False).distinct(copy=False)


def window(ctes: Ctes, node: Window) -> exp.Query:
    own = [(ref(c.name), c.name) for c in node.input.columns]
    return ctes.flat(node.input, [*own, *((item.value, item.column.name) for item in node.functions)], computed=False)


def limit(ctes: Ctes, node: Limit) -> exp.Query:
    query = ctes.over(node.input, node.columns)
    query = query.order_by(*(term.clause for term in node.order), copy=False)
    if node.count is not None:
        query = query.limit(node.count, copy=False)
    return query.offset(node.offset, copy=False) if node.offset else query


def generate(ctes: Ctes, node: Generate) -> exp.Query:
    query = ctes.over(node.input, node.columns)
    names = [exp.to_identifier(c.name, quoted=True) for c in node.output]
    alias = exp.to_identifier(f"g_{node.output[0].name}", quoted=True)
    if ctes.dialect == "spark":
        plain = inner_generator(node.generator)
        query.append(
            "laterals",
            exp.Lateral(this=plain, view=True, outer=node.outer, alias=exp.TableAlias(this=alias, columns=names)),
        )
        return query
    inner = exp.Select(expressions=unnested(node)).subquery(alias, copy=False)
    lateral = exp.Lateral(this=inner.this.subquery(copy=False), alias=exp.TableAlias(this=alias))
    if node.outer:
        return joined(query, lateral, "LEFT", exp.true())
    return joined(query, lateral, "CROSS", None)
