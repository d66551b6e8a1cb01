"""Expressions evaluated in this process have Spark's values, types and errors, or are refused by name."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from itertools import product

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

from expression_runs import computed, differences, errors, expression, grids, on_the_list, plain, settings, spark_error
from expression_values import COLUMNS, VALUES, grid
from rollview.engine.expressions import EvaluationFailed, Evaluator, Refused, Settings, evaluator
from rollview.engine.expressions.casts import cast
from rollview.engine.expressions.checker import entries
from rollview.engine.expressions.letters import lower, upper
from rollview.engine.expressions.terms import Term, proof_of
from rollview.engine.expressions.types import spark_type
from rollview.engine.expressions.zone import Zone
from rollview.engine.spark import SparkEngine

ZONE, OTHER_ZONE = "Europe/Oslo", "Australia/Lord_Howe"
#: One type of each family: decimals of all widths are one, and have proofs of their own.
KINDS = {kind.split("(")[0]: kind for kind in VALUES}


def made(text: str, columns: dict[str, str] = COLUMNS) -> Evaluator:
    return evaluator([("v", expression(text))], columns, settings(ZONE))


@pytest.mark.parametrize("zone", [ZONE, OTHER_ZONE])
@pytest.mark.one_in(2)
def test_spark_has_the_same_values_types_and_errors(spark: SparkSession, zone: str) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", zone)
    proofs = on_the_list(zone)
    if zone != ZONE:  # only what depends on it
        proofs = [proof for proof in proofs if "timestamp" in str(proof) or "hour" in str(proof)]
    assert len(proofs) > 100
    for group, table in grids(proofs):
        here = computed(group, table, zone)
        assert differences(session, here, table) == []
        for text, at, condition in errors(here, table, zone):
            row = table.slice(at, 1)
            used = [name for name in row.column_names if name in text]
            assert spark_error(session, text, row.select(used)) == condition, (text, row.to_pylist())


def test_every_entry_is_proven_for_every_type_that_it_takes() -> None:
    """An entry of the list without a proof fails here, as does one that takes a type without a proof."""
    proven: set[str] = set()
    for proof in on_the_list(ZONE):
        proven |= made(proof.text).terms["v"].entries
    found = set(accepted())
    assert len(found) > 350
    assert sorted(found - proven) == []
    assert {name.split("(")[0] for name in proven} >= entries(settings(ZONE).zone).keys()


def accepted() -> Iterator[str]:
    """The names of what the list takes, over columns of all types: the casts, and the entries of up to three operands."""
    zone = settings(ZONE).zone
    columns = {name: Term(spark_type(kind), f'"{name}"', column=name) for name, kind in KINDS.items()}
    for given, kind in product(columns.values(), columns.values()):
        with contextlib.suppress(Refused):
            yield from cast(given, kind.type, zone).entries
    for entry in entries(zone).values():
        for count in entry.counts or (3,):
            for operands in product(columns.values(), repeat=count):
                if entry.formula(operands) is not None:
                    yield proof_of(entry, operands)


REFUSED = {
    "regexp_replace(string_1, 'a', 'b')": "REGEXP_REPLACE(string_1, 'a', 'b')",
    "my_function(int_1)": "my_function()",
    "sum(int_1)": "SUM(int_1)",
    "power(double_1, 2)": "POWER(double_1, 2)",
    "string_1 RLIKE 'a'": "string_1 RLIKE 'a'",
    "string_1 LIKE string_2": "LIKE over string, string",
    "string_1 LIKE 'a\\\\b'": "LIKE 'a\\b'",
    "string_1 ILIKE 'a'": "string_1 ILIKE 'a'",
    "CAST(double_1 AS STRING)": "CAST of double to string",
    "CAST(double_1 AS DECIMAL(10,2))": "CAST of double to decimal(10,2)",
    "CAST(string_1 AS DOUBLE)": "CAST of string to double",
    "CAST(int_1 AS ARRAY<INT>)": "CAST to ARRAY<INT>",
    "try_cast(string_1 AS INT)": "TRY_CAST(string_1 AS INT)",
    "int_1 = string_1": "= over int and string",
    "int_1 + string_1": "+ over int, string",
    "timestamp_1 = timestamp_ntz_1": "= over timestamp and timestamp_ntz",
    "date_add(date_1, int_1)": "DATE_ADD(date_1, int_1)",
    "date_1 - date_2": "date_1 - date_2",
    "timestamp_1 + INTERVAL 1 DAY": "date_add over timestamp, int",
    "date_1 + INTERVAL 1 HOUR": "INTERVAL '1' HOUR added to a date",
    "to_date(string_1, 'yyyy')": "TO_DATE(string_1, 'yyyy')",
    "year(string_1)": "A string given as date",
    "negative(decimal_38_0_1)": "negative over decimal(38,0)",
    "CAST(decimal_38_0_1 AS INT)": "CAST of decimal(38,0) to int",
    "round(int_1, int_2)": "round over int, int",
    "NULL": "NULL as a value without a type",
    "missing": "The column missing",
    "1234567890123456789012345678901234567890": "The number 1234567890123456789012345678901234567890",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_not_on_the_list_is_refused_by_name(text: str) -> None:
    with pytest.raises(Refused) as refused:
        made(text)
    assert refused.value.what.startswith(f"{REFUSED[text]} ") or refused.value.subject == REFUSED[text]


@pytest.mark.parametrize("kind", ["array<int>", "string collate UNICODE_CI", "struct<a:int>", "char(3)", "variant"])
def test_columns_of_other_types_are_refused_if_they_are_read(kind: str) -> None:
    columns = {"a": "int", "b": kind}
    assert made("a + 1", columns).types == {"v": "int"}
    with pytest.raises(Refused, match=re.escape(kind)):
        made("b IS NULL", columns)


def test_arrow_computes_what_duckdb_does() -> None:
    """The short way has the values of the other, which are proven on Spark; where DuckDB fails, so does Arrow."""
    short = [proof for proof in on_the_list(ZONE) if made(proof.text).in_arrow]
    assert len(short) > 200
    for group, table in grids(short):
        for each in computed(group, table, ZONE):
            one = made(each.proof.text)
            kept = one(table.filter(pc.invert(each.fails)))["v"]
            assert plain(kept.combine_chunks()) == plain(each.values.filter(pc.invert(each.fails))), each.proof
            if each.can_fail:
                with pytest.raises(EvaluationFailed):
                    one(table)


def test_a_batch_has_the_values_of_its_rows() -> None:
    """Whatever rows stand beside it, and in whatever pieces they come."""
    texts = ["decimal_10_2_1 * 2", "int_1 > 0 AND int_2 <> 0", "upper(string_1)", "hour(timestamp_1)", "string_2", "1"]
    names = [(f"v{i}", expression(text)) for i, text in enumerate(texts)]
    both = evaluator(names, COLUMNS, settings(ZONE))
    table = grid(2, set(VALUES)).slice(7, 40)
    whole = both(table)
    assert whole.schema == both.schema
    assert whole == pa.concat_tables(both(table.slice(at, 1)) for at in range(table.num_rows))
    assert whole == both(pa.concat_tables([table.slice(0, 3), table.slice(3)]))
    assert both(table.slice(0, 0)).num_rows == 0
    assert both.reads == {"decimal_10_2_1", "int_1", "int_2", "string_1", "timestamp_1", "string_2"}


def test_other_encodings_of_arrow_are_taken() -> None:
    table = pa.table(
        {"s": pa.array(["a", "b", None]).dictionary_encode(), "d": pa.array([1, 2, 3], pa.decimal128(3, 0))}
    )
    both = evaluator(
        [("v", expression("s = 'a' AND d < 2")), ("s", expression("s"))],
        {"s": "string", "d": "decimal(10,2)"},
        settings(ZONE),
    )
    assert both(table.to_batches()[0]).to_pydict() == {"v": [True, False, False], "s": ["a", "b", None]}


def test_a_condition_is_a_mask() -> None:
    assert made("int_1 > 1").mask(pa.table({"int_1": pa.array([2, 1, None], pa.int32())})).to_pylist() == [
        True,
        False,
        False,
    ]


def test_an_error_names_sparks_condition() -> None:
    table = pa.table({"int_1": pa.array([1, 0], pa.int32())})
    divided = made("5 / int_1")
    assert divided.can_fail
    with pytest.raises(EvaluationFailed, match="DIVIDE_BY_ZERO") as failed:
        divided(table)
    assert (failed.value.condition, failed.value.why) == ("DIVIDE_BY_ZERO", "a divisor is zero")
    values, fails = divided.attempt(table)
    assert (values["v"].to_pylist(), fails["v"].to_pylist()) == ([5.0, None], [False, True])


def test_only_settings_that_the_list_is_proven_for_are_taken(spark: SparkSession) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "+05:30")
    assert Settings.of(SparkEngine(session)) == Settings(Zone(None, 19800))
    session.conf.set("spark.sql.ansi.enabled", "false")
    with pytest.raises(Refused, match=r"spark\.sql\.ansi\.enabled"):
        Settings.of(SparkEngine(session))


def test_letters_of_all_of_unicode(spark: SparkSession) -> None:
    """Each character alone, and behind and in front of a letter: a final sigma depends on what stands around it. Only
    a sample of the planes that have ideographs and private characters."""
    points = [*range(0xD800), *range(0xE000, 0x20000), *range(0x20000, 0xE0000, 61), *range(0xE0000, 0x110000, 7)]
    characters = pa.table({"c": pa.array(map(chr, points))})
    spark.createDataFrame(characters).createOrReplaceTempView("characters")
    around = spark.sql("SELECT upper(c) u, lower(c) l, lower('AΣ' || c || 'Σ') s FROM characters").toArrow()
    found = pa.table(
        {
            "u": pa.array(upper(chr(p)) for p in points),
            "l": pa.array(lower(chr(p)) for p in points),
            "s": pa.array(lower(f"AΣ{chr(p)}Σ") for p in points),
        }
    )
    for name in "uls":
        pairs = zip(points, around[name].to_pylist(), found[name].to_pylist(), strict=True)
        assert [(hex(p), a, b) for p, a, b in pairs if a != b] == []
