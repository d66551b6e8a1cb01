"""INSERT, UPDATE, DELETE and MERGE as changed rows, evaluated by Spark over the table's rows and their places."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from rollview.engine.spark import sql_over, verbatim
from rollview.errors import SqlError, Unsupported
from rollview.parse.names import Name, quote
from rollview.parse.tables import Assignments, Delete, Insert, Merge, Update, When
from rollview.store.protocol import DELETE
from rollview.store.schema import aligned, check_assignable, column_named, differs, sql_type, store_cast
from rollview.store.spark_sql.row_changes import (
    AFTER,
    BEFORE,
    FILE,
    KIND,
    POSITION,
    UPDATE,
    nulls_of,
    struct_of,
)

_SOURCE = "__rv_source"


def insert_rows(spark_rows: DataFrame, statement: Insert, schema: StructType, table: str) -> DataFrame:
    rows = aligned(spark_rows, schema, table, statement.columns, by_name=statement.by_name)
    return rows.coalesce(1) if statement.query.lstrip()[:6].upper() == "VALUES" else rows


def delete_changes(rows: DataFrame, statement: Delete, schema: StructType) -> DataFrame:
    found = rows.alias(statement.alias)
    if statement.where is not None:
        found = found.where(statement.where)
    return found.selectExpr(
        FILE, POSITION, f"{struct_of(schema)} AS {BEFORE}", f"{nulls_of(schema)} AS {AFTER}", f"'{DELETE}' AS {KIND}"
    )


def update_changes(rows: DataFrame, statement: Update, schema: StructType, table: str) -> DataFrame:
    found = rows.alias(statement.alias)
    if statement.where is not None:
        found = found.where(statement.where)
    values = _values(statement.assignments, schema, table, statement.alias)
    kinds = found.selectExpr(*[f"{text} AS {quote(name)}" for name, text in values.items()]).schema
    for name in values:
        check_assignable(table, name, kinds[name].dataType, schema[name].dataType)
    after = struct_of(
        schema, {name: store_cast(rows.sparkSession, text, schema[name].dataType) for name, text in values.items()}
    )
    return found.selectExpr(
        FILE, POSITION, f"{struct_of(schema)} AS {BEFORE}", f"{after} AS {AFTER}", f"'{UPDATE}' AS {KIND}"
    ).where(differs(schema, list(values), BEFORE, AFTER))


def merge_changes(rows: DataFrame, statement: Merge, schema: StructType, table: str) -> DataFrame:
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
    before = struct_of(schema, prefix=target)
    edits = sql_over(
        spark,
        f"SELECT {verbatim(f'{target}.{FILE}, {target}.{POSITION}, {before} AS {BEFORE}, {edit} AS {AFTER}')} "
        f"FROM {joined}",
        rows=rows,
    ).where(f"{AFTER} IS NOT NULL")
    after = f"struct({', '.join(f'{AFTER}.{quote(c)}' for c in schema.names)})"
    flat = edits.selectExpr(FILE, POSITION, BEFORE, f"{after} AS {AFTER}", f"{AFTER}.{KIND} AS {KIND}")
    return flat.where(f"{KIND} <> '{UPDATE}' OR {differs(schema, schema.names, BEFORE, AFTER)}")


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
            todo=f"write SET {column} = namedstruct_of(…)",
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
