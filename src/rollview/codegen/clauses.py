"""Parts of a SELECT."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from rollview.plan.expressions import Expr, ref
from rollview.plan.nodes import Column


def named(value: Expr, name: str) -> Expr:
    """The value under a name. A column of this name gets no alias: with one, Spark's optimizer may fail on a union."""
    if isinstance(value, exp.Column) and value == ref(name):
        return value
    return exp.alias_(value, name, quoted=True, copy=False)


def selected(columns: Sequence[Column]) -> exp.Select:
    """SELECT columns, without FROM."""
    return exp.Select(expressions=[ref(column.name) for column in columns] or [dummy()])


def dummy() -> Expr:
    """A column for relations that have none."""
    return exp.alias_(exp.Literal.number(1), "_one", quoted=True)


def joined(query: exp.Select, source: Expr, how: str, on: Expr | None) -> exp.Select:
    """The query with one more join, such as LEFT OUTER."""
    words = how.split()
    side = words.pop(0) if words[0] in ("LEFT", "RIGHT", "FULL") else None
    query.append("joins", exp.Join(this=source, side=side, kind=words[0] if words else None, on=on))
    return query


def apart(query: exp.Select, source: Expr) -> Expr:
    """A relation to join, under an alias if the query already reads it, as may happen to one without columns."""
    there = [table.alias_or_name for table in query.find_all(exp.Table)]
    if isinstance(source, exp.Table) and source.name in there:
        return exp.alias_(source, f"{source.name}_{len(there)}", quoted=True, table=True)
    return source


def relation(name: str) -> exp.Table:
    """A relation in FROM."""
    return exp.Table(this=exp.to_identifier(name, quoted=True))
