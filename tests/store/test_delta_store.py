"""What is particular to Delta through Spark: the catalog, paths, and tables without a change feed."""

from __future__ import annotations

import time
import uuid
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from pyspark.sql import SparkSession

from compare import bag, rows
from rollview import Rollview, UserError, connect
from rollview.errors import BadName, Damaged, KeyViolated, NotIncremental, VersionGone
from rollview.store.delta import ChangeFeedOff
from stores import need_delta


@pytest.fixture(params=["classic", pytest.param("connect", marks=pytest.mark.slow)])
def catalog(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[Rollview]:
    """``connect(spark=…)`` in a schema of its own."""
    need_delta(spark)
    session = spark.newSession() if request.param == "classic" else request.getfixturevalue("remote")
    name = f"s_{uuid.uuid4().hex[:8]}"
    session.sql(f"CREATE SCHEMA {name}")
    session.sql(f"USE {name}")
    yield connect(spark=session)
    session.sql("USE default")
    session.sql(f"DROP SCHEMA {name} CASCADE")


def test_catalog_tables_and_views_are_plain_spark_objects(catalog: Rollview) -> None:
    rv, spark = catalog, catalog.spark
    space = spark.catalog.currentDatabase()
    spark.sql("CREATE TABLE t (id INT, g STRING) USING delta TBLPROPERTIES (delta.enableChangeDataFeed = true)")
    spark.sql("INSERT INTO t VALUES (1, 'a'), (2, 'a')")
    rv.sql("CREATE TABLE u (id INT, PRIMARY KEY (id)); INSERT INTO u VALUES (1)")
    rv.sql(f"CREATE MATERIALIZED VIEW v AS SELECT g, count(*) FROM t JOIN {space}.u ON t.id = u.id GROUP BY g")
    assert rows(spark.sql("SELECT * FROM v")) == [("a", 1)]
    assert spark.table("v").columns == ["g", "count(1)"]
    assert spark.sql("SHOW VIEWS LIKE 'v'").count() == 1
    spark.sql("INSERT INTO u VALUES (2)")
    assert rv.views()[0].name == f"{space}.v"
    assert rv.views()[0].behind == {f"{space}.u": 1}
    assert rv.refresh("v").to_vector == {f"{space}.t": 1, f"{space}.u": 2}
    assert rows(spark.sql(f"SELECT * FROM {space}.v")) == [("a", 2)]
    assert rv.verify("v").ok
    spark.sql("USE default")  # what the names in the query mean was fixed when the view was made
    spark.sql(f"DELETE FROM {space}.t WHERE id = 1")
    assert rv.refresh(f"{space}.v").rows_written == 1
    assert rv.verify(f"{space}.v").ok
    spark.sql(f"USE {space}")
    with pytest.raises(BadName, match="letters, digits"):
        rv.create("my view", "SELECT * FROM t")
    rv.drop("v")
    assert not spark.catalog.tableExists("v")


def test_without_a_change_feed_versions_are_compared_and_the_remedy_is_named(catalog: Rollview) -> None:
    rv, spark = catalog, catalog.spark
    table = rv.store.canonical(("t",))
    spark.sql("CREATE TABLE t (id INT, v STRING) USING delta TBLPROPERTIES (delta.enableChangeDataFeed = false)")
    spark.sql("INSERT INTO t VALUES (1, 'a'), (1, 'a'), (2, NULL)")
    spark.sql("UPDATE t SET v = 'b' WHERE id = 1")
    with pytest.warns(ChangeFeedOff, match=r"ALTER TABLE .* SET TBLPROPERTIES \(delta.enableChangeDataFeed = true\)"):
        found = bag(rv.store.changes(table, 1, 2).drop("_commit_timestamp"))
    assert found == {(1, "a", "delete", 2): 2, (1, "b", "insert", 2): 2}
    spark.sql("ALTER TABLE t SET TBLPROPERTIES (delta.enableChangeDataFeed = true)")
    spark.sql("DELETE FROM t WHERE id = 2")
    with warnings.catch_warnings():
        warnings.simplefilter("error", ChangeFeedOff)
        assert bag(rv.store.changes(table, 3, 4).drop("_commit_timestamp")) == {(2, None, "delete", 4): 1}
    with pytest.warns(ChangeFeedOff):  # part of this range was never recorded
        assert sum(bag(rv.store.changes(table, 1, 4)).values()) == 5


def test_versions_older_than_delta_reads_are_gone(catalog: Rollview) -> None:
    """Delta does not read back further than it keeps removed files, though the files may still be there."""
    rv, spark = catalog, catalog.spark
    rv.sql("CREATE TABLE t (id INT, PRIMARY KEY (id)); INSERT INTO t VALUES (1)")
    rv.create("v", "SELECT count(*) AS n FROM t")
    spark.sql("ALTER TABLE t SET TBLPROPERTIES (delta.deletedFileRetentionDuration = 'interval 1 seconds')")
    rv.sql("INSERT INTO t VALUES (2)")
    time.sleep(1.5)
    with pytest.raises(VersionGone, match="no longer there"):
        rv.table("t", version=1)
    rv.sql("INSERT INTO t VALUES (3)")
    result = rv.refresh("v")
    assert (result.strategy, result.reason) == ("full", "history_gone")
    assert rows(rv.table("v")) == [(3,)]


def test_tables_by_path(catalog: Rollview, tmp_path: Path) -> None:
    rv = catalog
    path = f"delta.`{tmp_path}/events`"
    rv.sql(f"CREATE TABLE {path} (id INT, v STRING) USING delta")
    rv.sql(f"INSERT INTO {path} VALUES (1, 'a')")
    rv.sql(f"CREATE MATERIALIZED VIEW by_path AS SELECT count(*) AS n FROM {path} e")
    rv.sql(f"INSERT INTO {path} VALUES (2, 'b')")
    assert rv.refresh("by_path").strategy == "aggregate_merge"
    assert rows(rv.table("by_path")) == [(2,)]
    assert rv.verify("by_path").ok


def test_a_key_that_an_update_or_merge_would_break_is_kept(catalog: Rollview) -> None:
    rv = catalog
    rv.sql("CREATE TABLE t (id INT, v STRING, PRIMARY KEY (id)); INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    for sql in (
        "UPDATE t SET id = 1",
        "INSERT INTO t VALUES (2, 'c')",
        "MERGE INTO t USING (SELECT 7 AS id FROM range(2)) AS s ON t.id = s.id WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)",
    ):
        with pytest.raises(KeyViolated):
            rv.sql(sql)
        assert rows(rv.table("t")) == [(1, "a"), (2, "b")]


def test_a_session_without_delta_is_told_how_to_get_it(spark: SparkSession) -> None:
    class Plain:
        class conf:
            @staticmethod
            def get(_name: str, default: str | None = None) -> str | None:
                return default

    with pytest.raises(UserError, match=r"spark.jars.packages(.|\n)*io.delta:delta-spark_4"):
        connect(spark=Plain())  # type: ignore[arg-type]
    with pytest.raises(UserError, match="folder or a Spark session"):
        connect()
    with pytest.raises(UserError, match="no store named"):
        connect("x", store="iceberg")  # type: ignore[arg-type]


MADE_BY_SPARK = {
    "lengths": "(id INT, g CHAR(4), x VARCHAR(10)) USING delta PARTITIONED BY (g)",
    "defaults": "(id INT, g STRING DEFAULT 'q', x INT) USING delta TBLPROPERTIES ("
    "'delta.feature.allowColumnDefaults' = 'supported', 'delta.enableDeletionVectors' = 'true')",
    "mapped": "(id INT, g STRING, x INT, `odd name` MAP<STRING, INT>) USING delta TBLPROPERTIES ("
    "'delta.columnMapping.mode' = 'name', 'delta.enableChangeDataFeed' = 'false')",
}


@pytest.mark.slow
@pytest.mark.parametrize("table", MADE_BY_SPARK)
@pytest.mark.filterwarnings("ignore::rollview.store.delta.ChangeFeedOff")
def test_tables_that_spark_made_with_columns_of_its_own_kinds(table: str, opened: Callable[..., Rollview]) -> None:
    rv = opened("delta")
    rv.spark.sql(f"CREATE TABLE {table} {MADE_BY_SPARK[table]}")
    rv.sql(f"INSERT INTO {table} (id, g, x) VALUES (1, 'a', 1), (2, 'a', 2), (3, 'b', 3), (4, NULL, 4)")
    rv.create("whole", f"SELECT * FROM {table}" if table != "mapped" else f"SELECT id, g FROM {table}")
    rv.create("groups", f"SELECT g, count(*) AS n FROM {table} WHERE id <> 2 GROUP BY g")
    for change, moved in (
        (f"UPDATE {table} SET g = 'c' WHERE id = 1; DELETE FROM {table} WHERE id = 3", True),
        (f"ALTER TABLE {table} ADD COLUMN more INT", False),
        (f"INSERT INTO {table} (id, g, x) VALUES (5, 'c', 7)", True),
        (f"ALTER TABLE {table} RENAME COLUMN x TO renamed" if table == "mapped" else f"OPTIMIZE {table}", False),
        (f"UPDATE {table} SET g = NULL WHERE id = 5", True),
    ):
        rv.sql(change)
        for view in ("whole", "groups"):
            result = rv.refresh(view)
            assert (change, result.strategy != "no_op", result.reason) == (change, moved, None)
            assert rv.verify(view).ok, change


@pytest.mark.filterwarnings("ignore::rollview.store.delta.ChangeFeedOff")
def test_without_a_change_feed_changes_without_equality_are_read_off_the_files(opened: Callable[..., Rollview]) -> None:
    rv = opened("delta")
    rv.spark.sql("CREATE TABLE t (id INT, v VARIANT, m MAP<STRING, INT>) USING delta")
    rv.sql("INSERT INTO t VALUES (1, parse_json('1'), map('a', 1)), (2, NULL, NULL)")
    rv.create("ids", "SELECT id, m['a'] AS a FROM t")
    rv.create("values", "SELECT id, v::int AS v FROM t")
    rv.sql("INSERT INTO t VALUES (3, parse_json('3'), map('a', 2)); DELETE FROM t WHERE id = 1")
    assert rv.refresh("ids").strategy == "row_delta"
    assert (rv.refresh("values").strategy, rv.refresh("values").strategy) == ("row_delta", "no_op")
    assert rv.verify("ids").ok
    assert rv.verify("values").ok


def test_tables_without_versions_are_base_tables(catalog: Rollview) -> None:
    rv, spark = catalog, catalog.spark
    spark.sql("CREATE TABLE p (id INT, g STRING) USING parquet")
    spark.sql("CREATE TABLE c (id INT, g STRING) USING csv")
    spark.sql("INSERT INTO p VALUES (1, 'a'), (2, 'b')")
    spark.sql("INSERT INTO c VALUES (1, 'x')")
    spark.sql("CREATE VIEW plain AS SELECT id * 10 AS id, g FROM p")
    rv.sql("CREATE TABLE u (id INT, PRIMARY KEY (id)); INSERT INTO u VALUES (1), (3)")
    queries = {
        "counts": "SELECT g, count(*) AS n FROM p GROUP BY g",
        "of_text": "SELECT * FROM c",
        "of_view": "SELECT id FROM plain",
        "mixed": "SELECT u.id, p.g FROM u JOIN p ON u.id = p.id",
    }
    for name, query in queries.items():
        with pytest.raises(NotIncremental, match="no versions"):
            rv.create(name, query, policy="INCREMENTAL")
        assert rv.create(name, query).reason == "created"
    rv.create("above", "SELECT max(n) AS n FROM counts")
    p = rv.store.canonical(("p",))
    found = {view.name.split(".")[-1]: view for view in rv.views()}
    assert (found["counts"].vector, found["counts"].unversioned, found["counts"].fresh) == ({p: None}, (p,), False)
    assert found["mixed"].behind == {}
    assert not found["above"].fresh  # nobody knows whether what it reads has changed
    spark.sql("INSERT INTO p VALUES (3, 'b')")
    assert not rv.verify("counts").ok
    for name in queries:
        result = rv.refresh(name)
        assert (result.strategy, result.reason) == ("full", "not_versioned")
        assert rv.verify(name).ok
    assert rv.refresh("above").rows_written == 1
    assert rows(rv.table("above")) == [(2,)]
    assert rows(rv.table("mixed")) == [(1, "a"), (3, "b")]
    text = rv.explain("mixed")
    assert f"{p}, which has no versions" in text
    assert "full, because not_versioned" in text
    spark.sql("DROP TABLE p")
    rv.sql("CREATE TABLE p (id INT, g STRING); INSERT INTO p VALUES (3, 'q')")
    assert rv.refresh("counts").reason == "table_replaced"
    rv.sql("INSERT INTO p VALUES (4, 'q')")
    assert rv.refresh("counts").strategy == "aggregate_merge"


def test_damage_of_catalog_tables(catalog: Rollview, spark: SparkSession) -> None:
    rv = catalog
    space = rv.spark.catalog.currentDatabase()
    rv.sql("CREATE TABLE t (id INT); INSERT INTO t VALUES (1)")
    rv.create("v", "SELECT count(*) AS n FROM t")
    rv.create("w", "SELECT id FROM t")
    rv.sql("INSERT INTO t VALUES (2)")
    rv.refresh("v")
    place = rv.spark.sql(f"DESCRIBE DETAIL {space}.__rollview__v").collect()[0]["location"]
    last = sorted(Path(urlsplit(place).path).glob("_delta_log/*.json"))[-1]
    last.write_bytes(last.read_bytes()[:-30])
    found = {view.name: view for view in rv.views()}
    assert "cannot be read" in (found[f"{space}.v"].damage or "")
    assert found[f"{space}.w"].damage is None
    with pytest.raises(Damaged, match=f"The materialized view {space}.v is damaged"):
        rv.refresh("v")
    assert rv.refresh("w").rows_written == 1
    assert rv.refresh("v", full=True).reason == "damaged"
    assert rows(rv.spark.sql("SELECT * FROM v")) == [(2,)]
    place = rv.spark.sql(f"DESCRIBE DETAIL {space}.t").collect()[0]["location"]
    sorted(Path(urlsplit(place).path).glob("_delta_log/*.json"))[-1].write_bytes(b"")
    spark.catalog.clearCache()
    for call in (lambda: rv.refresh("v"), lambda: rv.sql("INSERT INTO t VALUES (9)")):
        with pytest.raises(Damaged, match=r"The table .*t is damaged\nWhy: its log entry \d+\.json is empty"):
            call()
    rv.drop("v")
    rv.drop("w")


def _harmed(table: str, spark: SparkSession, tmp_path: Path, harm: Callable[[Path], None]) -> None:
    """A table of two rows in the session's catalog, damaged before anyone has read it."""
    spark.sql(f"CREATE TABLE {table} (id INT) USING delta LOCATION '{(tmp_path / table).as_uri()}'")
    for number in (1, 2):
        spark.sql(f"INSERT INTO {table} VALUES ({number})")
    log = tmp_path / table / "_delta_log"
    for check in log.glob(".*.crc"):
        check.unlink()
    harm(log)


def _cut(log: Path) -> None:
    last = sorted(log.glob("*.json"))[-1]
    last.write_bytes(last.read_bytes()[:-30])


def _emptied(log: Path) -> None:
    sorted(log.glob("*.json"))[-1].write_bytes(b"")


def test_what_is_damaged_in_the_catalog_is_told_when_it_is_asked_for(catalog: Rollview, tmp_path: Path) -> None:
    rv, spark = catalog, catalog.spark
    space = spark.catalog.currentDatabase()
    rv.sql("CREATE TABLE good (id INT); INSERT INTO good VALUES (7)")
    harms: dict[str, Callable[[Path], None]] = {
        "cut": _cut,
        "emptied": _emptied,
        "gap": lambda log: sorted(log.glob("*.json"))[1].unlink(),
        "lost": lambda log: next(iter(log.parent.glob("*.parquet"))).unlink(),
    }
    said = {
        "cut": r"its log entry 0{19}2\.json cannot be read",
        "emptied": r"its log entry 0{19}2\.json is empty",
        "gap": r"its log entry 0{19}1\.json is missing",
        "lost": "its data file .* is missing in",
    }
    for name, harm in harms.items():
        _harmed(name, spark, tmp_path, harm)
        with pytest.raises(Damaged, match=rf"The table \S*{name} is damaged\nWhy: {said[name]}(.|\n)*What to do"):
            rv.sql(f"WITH c AS (SELECT * FROM {space}.{name}) SELECT * FROM c, good")
    reading: list[Callable[[], object]] = [
        lambda: rv.sql("INSERT INTO good SELECT * FROM emptied"),
        lambda: rv.table("emptied"),
    ]
    for read in reading:
        with pytest.raises(Damaged, match=said["emptied"]):
            read()
    rv.create("v", "SELECT id FROM good")
    place = Path(urlsplit(str(spark.sql("DESCRIBE DETAIL __rollview__v").collect()[0]["location"])).path)
    last = sorted((place / "_delta_log").glob("*.json"))[-1]
    for check in last.parent.glob(".*.crc"):
        check.unlink()
    assert rows(rv.sql("SELECT * FROM v")) == [(7,)]
    last.write_bytes(b"")
    with pytest.raises(Damaged, match=r"The materialized view \S*v is damaged\nWhy: no entry of its log says"):
        rv.sql("SELECT * FROM v")
    spark.range(3).createOrReplaceTempView("my_own")
    assert rv.sql("SELECT * FROM my_own, good").count() == 3
