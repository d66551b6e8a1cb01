"""The promises of the store protocol, on every store and every kind of session."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from compare import bag, rows
from rollview import Rollview, connect
from rollview.limits import Limits
from rollview.store.conformance import Bench, EditPromises, Promises, follow


class TestEmbedded(Promises):
    """Tables in a folder."""

    @pytest.fixture
    def bench(self, opened: Callable[..., Rollview]) -> Bench:
        return _bench(opened("embedded"))


@pytest.mark.one_in(2)
class TestEmbeddedLookup(EditPromises):
    """The same if stored rows are looked up by their values, and changed rows do not stay in this process."""

    seeds = range(2)

    @pytest.fixture
    def bench(self, opened: Callable[..., Rollview]) -> Bench:
        return _bench(opened("embedded", limits=Limits(lookup_rows=0, rows_here=2)))


@pytest.mark.one_in(4)
class TestEmbeddedOnConnect(Promises):
    """The same on Spark Connect."""

    seeds = range(1)

    @pytest.fixture
    def bench(self, opened: Callable[..., Rollview]) -> Bench:
        return _bench(opened("embedded", "connect"))


class TestDelta(Promises):
    """Delta through Spark."""

    seeds = range(2)
    empty_commits = True

    @pytest.fixture
    def bench(self, opened: Callable[..., Rollview]) -> Bench:
        return _bench(opened("delta"))


@pytest.mark.slow
class TestDeltaOnConnect(Promises):
    """The same on Spark Connect."""

    seeds = range(1)
    empty_commits = True

    @pytest.fixture
    def bench(self, opened: Callable[..., Rollview]) -> Bench:
        return _bench(opened("delta", "connect"))


class TestDuck(Promises):
    """Tables in DuckDB, which are fast enough for many histories."""

    seeds = range(15)

    @pytest.fixture
    def bench(self) -> Bench:
        return _bench(connect("duckdb:"))


def _bench(rv: Rollview) -> Bench:
    return Bench(rv.store, rv.engine)


@pytest.mark.slow
def test_more_random_histories_are_right_and_reach_ambiguous_edits() -> None:
    bench = _bench(connect("duckdb:"))
    assert sum(follow(bench, seed) for seed in range(60)) > 5


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("TINYINT", "1Y, -128Y, NULL"),
        ("SMALLINT", "1S, NULL"),
        ("BIGINT", "9223372036854775807L, NULL"),
        ("FLOAT", "CAST('NaN' AS FLOAT), -0.0F, 1.5F"),
        ("DOUBLE", "CAST('Infinity' AS DOUBLE), CAST('NaN' AS DOUBLE), NULL"),
        ("DECIMAL(38,10)", "CAST('1234567890123456789012345678.0123456789' AS DECIMAL(38,10)), NULL"),
        ("BOOLEAN", "true, false, NULL"),
        ("BINARY", "X'00FF', X'', NULL"),
        ("DATE", "DATE'0001-01-01', DATE'9999-12-31', NULL"),
        ("TIMESTAMP", "TIMESTAMP'0001-01-01 00:00:00', TIMESTAMP'9999-12-31 23:59:59.999999', NULL"),
        ("TIMESTAMP_NTZ", "TIMESTAMP_NTZ'1582-10-04 01:02:03.000004', NULL"),
        ("STRING", "'', 'é\U0001f600', repeat('long ', 40), NULL"),
        ("ARRAY<STRING>", "array('a', NULL), array(), NULL"),
        ("MAP<STRING, INT>", "map('k', 1, 'l', NULL), map(), NULL"),
        (
            "STRUCT<a: INT, b: ARRAY<STRUCT<c: STRING>>>",
            "named_struct('a', 1, 'b', array(named_struct('c', 'x'))), NULL",
        ),
    ],
)
@pytest.mark.one_in(3)
def test_values_of_every_type_survive_an_update_beside_them(rv: Rollview, kind: str, text: str) -> None:
    rv.sql(f"CREATE TABLE t (id INT, x {kind}, n INT)")
    rv.sql(
        f"INSERT INTO t SELECT CAST(p AS INT), CAST(x AS {kind}), 0 FROM (SELECT posexplode(array({text})) AS (p, x))"
    )
    before = [repr(row) for row in rows(rv.table("t").selectExpr("id", "CAST(x AS STRING)"))]
    rv.sql("UPDATE t SET n = 1 WHERE id = 0")
    rv.sql("DELETE FROM t WHERE id = 99")
    assert [repr(row) for row in rows(rv.table("t").selectExpr("id", "CAST(x AS STRING)"))] == before
    assert rv.store.changes("t", 1, 2).count() == 2


def test_a_table_made_by_one_store_is_changed_by_the_other(rv: Rollview, opened, tmp_path) -> None:  # type: ignore[no-untyped-def]
    delta = opened("delta")
    rv.sql("CREATE TABLE a (id INT, v STRING, PRIMARY KEY (id)); INSERT INTO a VALUES (1, 'x'), (2, 'y')")
    delta.sql("CREATE TABLE b (id INT, v STRING, PRIMARY KEY (id)); INSERT INTO b VALUES (1, 'x'), (2, 'y')")
    for session in (delta, rv, delta):
        for table in ("a", "b"):
            session.sql(f"UPDATE {table} SET v = concat(v, '+') WHERE id = 1")
            session.sql(
                f"MERGE INTO {table} t USING (SELECT max(id) + 1 AS id FROM {table}) s ON t.id = s.id "
                f"WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, 'new')"
            )
            session.sql(f"DELETE FROM {table} WHERE id = 2")
    for table in ("a", "b"):
        assert rv.store.key(table) == delta.store.key(table) == ("id",)
        assert rows(rv.table(table)) == rows(delta.table(table))
        assert rows(rv.table(table))[0] == (1, "x+++")
        last = rv.store.version(table)
        assert bag(rv.store.changes(table, 0, last)) == bag(delta.store.changes(table, 0, last))
