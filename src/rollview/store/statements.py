"""INSERT, UPDATE, DELETE and MERGE as edits, evaluated by Spark over the table's rows and their positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from rollview.engine.spark import sql_over, verbatim
from rollview.errors import SqlError, Unsupported
from rollview.parse.names import Name, quote
from rollview.parse.tables import Assignments, Delete, Insert, Merge, Update, When
from rollview.plan.reserved import DELETED
from rollview.store.copies import taking
from rollview.store.edits import AFTER, BEFORE, FILE, KIND, POSITION, UPDATE
from rollview.store.protocol import DELETE, INSERT
from rollview.store.schema import aligned, check_assignable, check_source, column_named, differs, sql_type, store_cast

_SOURCE = "__rv_source"


def insert_rows(spark_rows: DataFrame, statement: Insert, schema: StructType, table: str) -> DataFrame:
    rows = aligned(spark_rows, schema, table, statement.columns, by_name=statement.by_name)
    return rows.coalesce(1) if statement.query.lstrip()[:6].upper() == "VALUES" else rows


def delete_edits(rows: DataFrame, statement: Delete, schema: StructType) -> DataFrame:
    found = rows.alias(statement.alias)
    if statement.where is not None:
        found = found.where(statement.where)
    return found.selectExpr(
        FILE, POSITION, f"{_struct(schema)} AS {BEFORE}", f"{_nulls(schema)} AS {AFTER}", f"'{DELETE}' AS {KIND}"
    )


def update_edits(rows: DataFrame, statement: Update, schema: StructType, table: str) -> DataFrame:
    found = rows.alias(statement.alias)
    if statement.where is not None:
        found = found.where(statement.where)
    values = _values(statement.assignments, schema, table, statement.alias)
    kinds = found.selectExpr(*[f"{text} AS {quote(name)}" for name, text in values.items()]).schema
    for name in values:
        check_assignable(table, name, kinds[name].dataType, schema[name].dataType)
    after = _struct(
        schema, {name: store_cast(rows.sparkSession, text, schema[name].dataType) for name, text in values.items()}
    )
    return found.selectExpr(
        FILE, POSITION, f"{_struct(schema)} AS {BEFORE}", f"{after} AS {AFTER}", f"'{UPDATE}' AS {KIND}"
    ).where(differs(schema, list(values), BEFORE, AFTER))


def merge_edits(rows: DataFrame, statement: Merge, schema: StructType, table: str) -> DataFrame:
    """One row of the join of target and source is at most one edit: the first WHEN clause that applies."""
    spark = rows.sparkSession
    target, source = quote(statement.alias), quote(statement.source_alias)
    join = "FULL" if any(clause.matched == "target" for clause in statement.clauses) else "RIGHT"
    joined = (
        f"{{rows}} AS {verbatim(target)} {join} JOIN "
        f"(SELECT *, true AS {_SOURCE} FROM {verbatim(statement.source)}) AS {verbatim(source)} "
        f"ON {verbatim(statement.condition)}"
    )
    given = spark.sql(f"SELECT * FROM {statement.source}").columns
    cases = []
    for clause in statement.clauses:
        values = _merge_values(clause, schema, table, statement, given)
        if values:
            picked = ", ".join(f"{text} AS {quote(name)}" for name, text in values.items())
            kinds = sql_over(spark, f"SELECT {verbatim(picked)} FROM {joined}", rows=rows).schema
            for name in values:
                check_assignable(table, name, kinds[name].dataType, schema[name].dataType)
        result = _merge_result(clause, values, schema, target)
        cases.append(f"WHEN {_applies(clause, target, source)} THEN {result}")
    edit = f"CASE {' '.join(cases)} END"
    before = _struct(schema, prefix=target)
    edits = sql_over(
        spark,
        f"SELECT {verbatim(f'{target}.{FILE}, {target}.{POSITION}, {before} AS {BEFORE}, {edit} AS {AFTER}')} "
        f"FROM {joined}",
        rows=rows,
    ).where(f"{AFTER} IS NOT NULL")
    after = f"struct({', '.join(f'{AFTER}.{quote(c)}' for c in schema.names)})"
    flat = edits.selectExpr(FILE, POSITION, BEFORE, f"{after} AS {AFTER}", f"{AFTER}.{KIND} AS {KIND}")
    return flat.where(f"{KIND} <> '{UPDATE}' OR {differs(schema, schema.names, BEFORE, AFTER)}")


def upsert_edits(
    rows: DataFrame,
    source: DataFrame,
    on: Sequence[str],
    schema: StructType,
    table: str,
    combine: Mapping[str, str] | None = None,
    gone: str | None = None,
    copies: str | None = None,
    restricted: bool = False,
) -> DataFrame:
    """The store's own merge: source rows replace the rows that they match, NULL equal to NULL.

    If the table is ``restricted`` to the rows that match first, the source is computed twice: it should be at hand."""
    check_source(source, schema, table)
    keys = [column_named(schema, name, table) for name in on]
    condition = " AND ".join(f"t.{quote(c)} <=> s.{quote(c)}" for c in keys)
    if copies is not None:
        take = taking(quote(column_named(schema, copies, table)), [quote(c) for c in keys], (FILE, POSITION))
        condition, combine, gone = f"{condition} AND {take.looks}", {copies: take.left}, take.gone
    casts = {}
    for c in schema.names:
        value = f"s.{quote(c)}"
        if combine and c in combine:
            value = f"CASE WHEN t.{FILE} IS NULL THEN {value} ELSE {combine[c]} END"
        casts[c] = f"CAST({value} AS {sql_type(schema[c].dataType)})"
    goes = f"(s.{DELETED.label}" + (f" OR ({gone}))" if gone else ")")
    picked = (
        f"SELECT t.{FILE}, t.{POSITION}, {_struct(schema, prefix='t')} AS {BEFORE}, "
        f"{_struct(schema, casts, prefix='t')} AS {AFTER}, "
        f"CASE WHEN {goes} THEN CASE WHEN t.{FILE} IS NOT NULL THEN '{DELETE}' END "
        f"WHEN t.{FILE} IS NULL THEN '{INSERT}' ELSE '{UPDATE}' END AS {KIND}"
    )
    changing = f"{KIND} <> '{UPDATE}' OR {differs(schema, schema.names, BEFORE, AFTER)}"
    match = verbatim(condition)
    given = "{s}" if DELETED.label in source.columns else f"(SELECT *, false AS {DELETED.label} FROM {{s}})"
    # a large table stays where it is, and its few rows that match go to the source: an outer join would move the table
    met = f"(SELECT t.* FROM {{t}} AS t LEFT SEMI JOIN {given} AS s ON {match})" if restricted else "{t}"
    # in one statement: Spark goes through the whole plan of the source for every call that adds to it
    return sql_over(
        rows.sparkSession,
        f"SELECT * FROM ({verbatim(picked)} FROM {met} AS t RIGHT JOIN {given} AS s ON {match}) "
        f"WHERE {KIND} IS NOT NULL AND ({verbatim(changing)})",
        t=rows,
        s=source,
    )


def _values(assignments: Assignments, schema: StructType, table: str, alias: str) -> dict[str, str]:
    """The columns that are set, with their new values."""
    values = {_assigned(name, schema, table, alias): f"({text})" for name, text in assignments}
    if len(values) != len(assignments):
        raise SqlError(f"A column of {table} is set twice")
    return values


def _assigned(name: Name, schema: StructType, table: str, alias: str) -> str:
    """The column that SET names, with or without the table before it."""
    rest = name[1:] if len(name) > 1 and name[0].casefold() in (alias.casefold(), table.casefold()) else name
    column = column_named(schema, rest[0], table)
    if len(rest) > 1:
        raise Unsupported(
            f"SET {'.'.join(name)} names a field of {column}",
            why="a column is set as a whole",
            todo=f"write SET {column} = named_struct(…)",
        )
    return column


def _merge_values(
    clause: When, schema: StructType, table: str, statement: Merge, given: Sequence[str]
) -> dict[str, str]:
    if clause.assignments is not None:
        return _values(clause.assignments, schema, table, statement.alias)
    by_fold = {name.casefold(): name for name in given}
    if missing := [name for name in schema.names if name.casefold() not in by_fold]:
        raise SqlError(
            f"The source of MERGE lacks {', '.join(missing)}",
            why=f"{clause.action.upper()} * takes every column of {table} from the source by its name",
            todo="name the columns in the clause",
        )
    source = quote(statement.source_alias)
    return {name: f"{source}.{quote(by_fold[name.casefold()])}" for name in schema.names}


def _applies(clause: When, target: str, source: str) -> str:
    there = {
        "both": f"{target}.{FILE} IS NOT NULL AND {source}.{_SOURCE}",
        "source": f"{target}.{FILE} IS NULL",
        "target": f"{source}.{_SOURCE} IS NULL",
    }[clause.matched]
    return f"{there} AND ({clause.condition})" if clause.condition else there


def _merge_result(clause: When, values: dict[str, str], schema: StructType, target: str) -> str:
    fields = []
    for field in schema.fields:
        kind = sql_type(field.dataType)
        old = f"{target}.{quote(field.name)}" if clause.action == UPDATE else "NULL"
        fields.append(f"CAST({values.get(field.name, old)} AS {kind}) AS {quote(field.name)}")
    return f"struct('{clause.action}' AS {KIND}, {', '.join(fields)})"


def _struct(schema: StructType, values: dict[str, str] | None = None, prefix: str = "") -> str:
    """The table's columns as one struct, some of them with other values."""
    dot = f"{prefix}." if prefix else ""
    given = values or {}
    return "struct(" + ", ".join(f"{given.get(c, dot + quote(c))} AS {quote(c)}" for c in schema.names) + ")"


def _nulls(schema: StructType) -> str:
    return "struct(" + ", ".join(f"CAST(NULL AS {sql_type(f.dataType)}) AS {quote(f.name)}" for f in schema) + ")"
