"""Every function of Spark, read and printed again: Spark's own examples give what they gave."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError

from rollview.codegen.dialects import in_dialect
from rollview.frontend.sql.functions import is_aggregate
from rollview.parse.tree import is_generator, read

#: Give another result at every call.
CHANCE = {"aes_encrypt", "current_time", "current_timestamp", "java_method", "localtimestamp", "now", "rand", "randn"} | {
    "random", "reflect", "shuffle", "try_reflect", "uuid"}  # fmt: skip

#: Are not read, or are read as something that Spark refuses: a view with them is refused, or recomputed in full.
NOT_READ = {
    ">>>", "shiftrightunsigned",  # the operator
    "bitmap_and_agg", "bitmap_count", "bitmap_or_agg",  # X '10' with a space
    "approx_top_k", "approx_top_k_accumulate", "approx_top_k_estimate",  # VALUES 'a', 'b'
    "make_timestamp", "make_timestamp_ltz", "make_timestamp_ntz",  # TIME'10:00'
    "try_make_timestamp", "try_make_timestamp_ltz", "try_make_timestamp_ntz",
}  # fmt: skip


def examples(spark: SparkSession) -> Iterator[tuple[str, str]]:
    """Each function with the queries in its description."""
    for (name,) in spark.sql("SHOW SYSTEM FUNCTIONS").collect():
        text = "\n".join(row[0] for row in spark.sql(f"DESCRIBE FUNCTION EXTENDED `{name}`").collect())
        for query in re.findall(r"^\s*> (SELECT .*?);\s*$", text, re.MULTILINE | re.DOTALL | re.IGNORECASE):
            yield name, query.strip()


def outcome(spark: SparkSession, query: str) -> tuple[list[str], list[str]] | None:
    """Types and rows; None if Spark refuses the query."""
    try:
        frame = spark.sql(query)
        return [kind for _, kind in frame.dtypes], sorted(repr(tuple(row)) for row in frame.collect())
    except PySparkException:
        return None


@pytest.mark.slow
def test_every_example_of_spark_gives_the_same_when_read_and_printed(spark: SparkSession) -> None:
    session = spark.newSession()
    wrong, lost, seen = {}, set(), 0
    for name, query in examples(session):
        expected = outcome(session, query)
        if expected is None or name in CHANCE:
            continue
        seen += 1
        try:
            tree = in_dialect(read(query)[0], "spark")
            found = outcome(session, tree.sql("spark", unsupported_level=ErrorLevel.RAISE))
        except SqlglotError:
            found = None
        if found is None:
            lost.add(name)
        elif found != expected:
            wrong[query] = (expected, found)
    assert wrong == {}
    assert lost <= NOT_READ
    assert seen > 700


def calls(name: str) -> Iterator[exp.Expr]:
    """Calls of a function with one and two arguments, if they can be read."""
    for values in ("x", "x, y"):
        with contextlib.suppress(SqlglotError):
            yield read(f"SELECT {name}({values})")[0].expressions[0]


@pytest.mark.slow
def test_every_aggregate_and_generator_of_spark_is_known(spark: SparkSession) -> None:
    catalyst = spark._jvm.org.apache.spark.sql.catalyst  # type: ignore[union-attr]
    registry = catalyst.analysis.FunctionRegistry.builtin()
    known = {"agg_funcs": is_aggregate, "generator_funcs": is_generator}
    unknown: set[str] = set()
    seen = 0
    for (name,) in spark.sql("SHOW SYSTEM FUNCTIONS").collect():
        found = registry.lookupFunction(catalyst.FunctionIdentifier(name))
        group = found.get().getGroup() if found.isDefined() else None
        if group in known and name != "measure":  # of metric views only
            seen += 1
            if not any(known[group](call) for call in calls(name)):
                unknown.add(name)
    assert unknown == set()
    assert seen > 80
