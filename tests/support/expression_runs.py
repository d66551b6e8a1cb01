"""Runs the proofs of expressions, here and on Spark, over grids of odd values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from expression_proofs import Proof, proofs
from expression_values import COLUMNS, grid
from rollview.engine.expressions import EvaluationFailed, Evaluator, Refused, Settings, evaluator
from rollview.parse.tree import read
from rollview.plan.expressions import Expr

#: Expressions in one SELECT: with more, Spark needs longer to compile it.
AT_ONCE = 120


def expression(text: str) -> Expr:
    found = read(f"SELECT {text}")[0].expressions[0]
    assert isinstance(found, Expr)
    return found


@dataclass(frozen=True)
class Computed:
    """What an expression is here over a grid: its values, where it fails, and its type."""

    proof: Proof
    values: pa.Array
    fails: pa.Array
    type: str
    entries: frozenset[str]

    @property
    def can_fail(self) -> bool:
        return bool(self.fails.true_count)


def settings(zone: str) -> Settings:
    return Settings.in_zone(ZoneInfo(zone))


def on_the_list(zone: str) -> list[Proof]:
    """The proofs of which every part is on the list."""
    found = []
    for proof in proofs():
        try:
            evaluator([("v", expression(proof.text))], COLUMNS, settings(zone))
        except Refused:
            continue
        found.append(proof)
    return found


def grids(some: Sequence[Proof]) -> Iterator[tuple[list[Proof], pa.Table]]:
    """The proofs by their number of columns, each with a grid of all combinations of values."""
    for places in sorted({len(proof.kinds) for proof in some}):
        group = [proof for proof in some if len(proof.kinds) == places]
        yield group, grid(places, {kind for proof in group for kind in proof.kinds})


def computed(some: Sequence[Proof], table: pa.Table, zone: str) -> list[Computed]:
    found = []
    for start in range(0, len(some), AT_ONCE):
        part = some[start : start + AT_ONCE]
        together = _evaluator(part, zone)
        values, fails = together.attempt(table)
        for i, (proof, term) in enumerate(zip(part, together.terms.values(), strict=True)):
            both = [each.column(i).combine_chunks() for each in (values, fails)]
            found.append(Computed(proof, both[0], both[1], str(term.type), term.entries))
    return found


def _evaluator(part: Sequence[Proof], zone: str) -> Evaluator:
    return evaluator([(f"v{i}", expression(proof.text)) for i, proof in enumerate(part)], COLUMNS, settings(zone))


def differences(spark: SparkSession, here: Sequence[Computed], table: pa.Table) -> list[str]:
    """Where Spark has another type, another value, or an error that is none here. Where a value is an error here, Spark
    is asked in words that give NULL instead, if it has them."""
    for i, each in enumerate(here):
        table = table.append_column(f"fails{i}", each.fails) if each.can_fail else table
    kinds = ", ".join(f"`{name}` {COLUMNS.get(name, 'boolean')}" for name in table.column_names)
    spark.createDataFrame(table, schema=kinds).coalesce(1).createOrReplaceTempView("grid")
    found = []
    for start in range(0, len(here), AT_ONCE):
        part = list(enumerate(here))[start : start + AT_ONCE]
        items = [(i, text) for i, each in part for text in _items(i, each)]
        rows = spark.sql(f"SELECT {', '.join(f'{text} AS r{k}' for k, (_, text) in enumerate(items))} FROM grid")
        values = rows.toArrow()
        for k, (i, text) in enumerate(items):
            kind = rows.schema.fields[k].dataType.simpleString()
            if told := _difference(here[i], text, kind, values.column(k).combine_chunks(), table):
                found.append(told)
    return found


def _items(at: int, each: Computed) -> list[str]:
    if not each.can_fail:
        return [each.proof.text]
    return [f"IF(fails{at}, NULL, {each.proof.text})", *([each.proof.trying] if each.proof.trying else [])]


def _difference(here: Computed, text: str, kind: str, there: pa.Array, table: pa.Table) -> str | None:
    if kind != here.type:
        return None if text == here.proof.trying else f"{text}: {here.type} here, {kind} on Spark"
    pairs = enumerate(zip(plain(here.values), plain(there), strict=True))
    differing = [(at, a, b) for at, (a, b) in pairs if a != b]
    if not differing:
        return None
    at, a, b = differing[0]
    row = {name: table.column(name)[at].as_py() for name in table.column_names if name in text}
    return f"{text}: {a!r} here, {b!r} on Spark, for {row} and {len(differing) - 1} other rows"


def plain(values: pa.Array) -> list[Any]:
    """Values that compare as the same only if they are: NaN is itself, and zeros have signs."""
    if pa.types.is_floating(values.type):
        return [repr(value) for value in values.to_pylist()]
    if pa.types.is_temporal(values.type):
        values = values.cast(pa.int32() if pa.types.is_date(values.type) else pa.int64())
    found: list[Any] = values.to_pylist()
    return found


def errors(here: Sequence[Computed], table: pa.Table, zone: str) -> Iterator[tuple[str, int, str]]:
    """Expressions and rows whose value is an error, and the error: for each way to make an expression from entries, its
    first failing row, and its first with another error."""
    seen = set()
    for each in here:
        rows = [at for at, fails in enumerate(each.fails.to_pylist()) if fails]
        for at in rows[:1] + rows[len(rows) // 2 : len(rows) // 2 + 1] + rows[-1:]:
            if (condition := _error(each.proof, table.slice(at, 1), zone), each.entries) not in seen:
                seen.add((condition, each.entries))
                yield each.proof.text, at, condition


def _error(proof: Proof, row: pa.Table, zone: str) -> str:
    try:
        _evaluator([proof], zone)(row)
    except EvaluationFailed as error:
        return error.condition
    raise AssertionError(f"{proof.text} does not fail alone")


def spark_error(spark: SparkSession, text: str, row: pa.Table) -> str | None:
    """The error of an expression over one row; None if there is none."""
    kinds = ", ".join(f"`{name}` {COLUMNS[name]}" for name in row.column_names)
    try:
        spark.createDataFrame(row, schema=kinds).selectExpr(text).collect()
    except PySparkException as error:
        return error.getCondition()
    return None
