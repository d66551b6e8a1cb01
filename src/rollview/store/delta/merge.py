"""Edits as one MERGE of Delta: of a single edit at once, of several by their changed rows."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from rollview.engine.spark import SparkEngine, sql_over, verbatim
from rollview.parse.names import quote
from rollview.store.edits import Matching, RowEdit, TakeCopies
from rollview.store.protocol import DELETE, INSERT
from rollview.store.schema import any_differs, sql_type
from rollview.store.spark_sql.edit_changes import matching_of, rest_of_copies
from rollview.store.spark_sql.row_changes import AFTER, FILE, KIND, value_of

#: Of a given row: whether it is not inserted if it matches no row.
_NOTHING = "__nothing"

#: The error that the MERGE of changed rows raises if one of them no longer exists.
_GONE = "rollview: a changed row is no longer stored"


class Clash(Exception):
    """Several given rows match one stored row, according to Delta."""


class Overtaken(Exception):
    """Another writer has changed one of the rows."""


def merge_one(engine: SparkEngine, name: str, edit: RowEdit, schema: StructType, table: str) -> None:
    """A single edit other than Append. Raises Clash."""
    if not isinstance(edit, TakeCopies):
        _merge(name, matching_of(edit, edit.rows, schema, table), edit.rows, schema)
        return
    kept = engine.keep(edit.rows)
    try:
        stored = engine.spark.sql(f"SELECT * FROM {name}")
        how, given = rest_of_copies(edit, kept.frame, stored, schema, table)
        _merge(name, how, given, schema)
    finally:
        engine.forget([kept])


def _merge(name: str, how: Matching, given: DataFrame, schema: StructType) -> None:
    values = {c: f"CAST({v} AS {sql_type(schema[c].dataType)})" for c, v in how.values.items()}
    if how.inserts:
        given = _with_nothing(given, schema, how.gone)
        values = {c: values.get(c, f"s.{quote(c)}") for c in schema.names}
    changed = any_differs(schema, {c: (f"t.{quote(c)}", value) for c, value in values.items()})
    news = ", ".join(f"t.{quote(c)} = {value}" for c, value in values.items())
    clauses = [] if how.gone == "false" else [_when("MATCHED", how.gone, "DELETE")]
    if how.gone != "true":
        clauses.append(_when("MATCHED", changed, f"UPDATE SET {news}"))
    if how.inserts:
        columns, rows = (", ".join(f"{of}{quote(c)}" for c in schema.names) for of in ("", "s."))
        clauses.append(_when("NOT MATCHED", f"NOT s.{_NOTHING}", f"INSERT ({columns}) VALUES ({rows})"))
    with _clashes():
        _run(name, given, how.condition, clauses)


def merge_changed(name: str, changed: DataFrame, schema: StructType) -> None:
    """Changed rows of a table, addressed by all of their values. Raises Overtaken."""
    columns = ", ".join(quote(c) for c in schema.names)
    news = ", ".join(f"t.{quote(c)} = s.{AFTER}.{quote(c)}" for c in schema.names)
    rows = ", ".join(f"s.{AFTER}.{quote(c)}" for c in schema.names)
    lost = ", ".join(f"CAST(raise_error('{_GONE}') AS {sql_type(field.dataType)})" for field in schema.fields)
    clauses = [
        _when("MATCHED", f"s.{KIND} = '{DELETE}'", "DELETE"),
        _when("MATCHED", "true", f"UPDATE SET {news}"),
        _when("NOT MATCHED", f"s.{KIND} = '{INSERT}'", f"INSERT ({columns}) VALUES ({rows})"),
        _when("NOT MATCHED", "true", f"INSERT ({columns}) VALUES ({lost})"),
    ]
    try:
        _run(name, changed, f"{value_of(schema, 't')} <=> s.{FILE}", clauses)
    except Exception as error:  # Spark wraps what a row raises in one of several classes
        if _GONE in str(error):
            raise Overtaken from error
        raise


def _when(which: str, condition: str, action: str) -> str:
    also = "" if condition == "true" else f" AND ({condition})"
    return f"WHEN {which}{also} THEN {action}"


def _run(name: str, given: DataFrame, condition: str, clauses: list[str]) -> None:
    text = verbatim(f"ON {condition} {' '.join(clauses)}")
    sql_over(given.sparkSession, f"MERGE INTO {verbatim(name)} AS t USING {{s}} AS s {text}", s=given)


@contextlib.contextmanager
def _clashes() -> Iterator[None]:
    try:
        yield
    except PySparkException as error:
        if "MULTIPLE_SOURCE_ROW_MATCHING" in (error.getCondition() or str(error)):
            raise Clash from error
        raise


def _with_nothing(given: DataFrame, schema: StructType, gone: str) -> DataFrame:
    """The given rows, with a column that says whether a row is not inserted if it matches no stored row."""
    nulls = ", ".join(f"CAST(NULL AS {sql_type(f.dataType)}) AS {quote(f.name)}" for f in schema)
    picked = verbatim(f"s.*, coalesce({gone}, false) AS {_NOTHING}")
    template = f"SELECT {picked} FROM {{s}} AS s CROSS JOIN (SELECT {verbatim(nulls)}) AS t"
    return sql_over(given.sparkSession, template, s=given)
