"""What the embedded store does with rows: positions, feeds, keys, files, and writers side by side."""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from compare import bag, rows
from rollview import Rollview, connect
from rollview.engine.spark import SparkEngine
from rollview.errors import (
    AmbiguousMerge,
    BadName,
    ColumnNotFound,
    Damaged,
    KeyViolated,
    SchemaChanged,
    SqlError,
    Unsupported,
    UserError,
    VersionGone,
)
from rollview.limits import DEFAULT, Limits
from rollview.store.edits import TakeCopies, Upsert
from rollview.store.embedded import EmbeddedStore, lookup
from rollview.store.embedded.files import read_rows
from rollview.store.embedded.log import Log
from rollview.store.protocol import CHANGE_TYPE
from rollview.store.spark_sql.row_changes import FILE, POSITION


def feed(rv: Rollview, table: str, commits: int = 1) -> Counter[Any]:
    last = rv.store.version(table)
    return bag(rv.store.changes(table, last - commits, last).drop("_commit_version", "_commit_timestamp"))


def test_one_updated_row_in_a_million_is_one_change(rv: Rollview) -> None:
    rv.sql("CREATE TABLE t (id BIGINT, v STRING, PRIMARY KEY (id))")
    rv.sql("INSERT INTO t SELECT id, concat('v', id) FROM range(1000000)")
    assert rv.sql("UPDATE t SET v = 'new' WHERE id = 777777").collect()[0].asDict() == {
        "inserted": 0,
        "updated": 1,
        "deleted": 0,
    }
    assert feed(rv, "t") == Counter([(777777, "v777777", "update_preimage"), (777777, "new", "update_postimage")])
    assert rv.table("t").count() == 1_000_000
    assert rows(rv.table("t").where("id BETWEEN 777776 AND 777778")) == [
        (777776, "v777776"),
        (777777, "new"),
        (777778, "v777778"),
    ]


def test_duplicate_rows_are_changed_copy_by_copy(rv: Rollview) -> None:
    rv.sql("CREATE TABLE t (a INT, b STRING)")
    rv.sql("INSERT INTO t VALUES (1, 'x'), (1, 'x'), (NULL, 'x'), (NULL, 'x'), (2, NULL)")
    rv.sql("UPDATE t SET a = coalesce(a, 0) + 10 WHERE b = 'x'")
    assert bag(rv.table("t")) == Counter({(11, "x"): 2, (10, "x"): 2, (2, None): 1})
    assert feed(rv, "t") == Counter(
        {
            (1, "x", "update_preimage"): 2,
            (11, "x", "update_postimage"): 2,
            (None, "x", "update_preimage"): 2,
            (10, "x", "update_postimage"): 2,
        }
    )
    rv.sql("DELETE FROM t WHERE a = 11")
    assert feed(rv, "t") == Counter({(11, "x", "delete"): 2})


def test_an_update_that_depends_on_chance_is_fed_as_it_was_stored(rv: Rollview) -> None:
    rv.sql("CREATE TABLE t (a INT, r DOUBLE); INSERT INTO t VALUES (1, 0), (1, 0), (1, 0)")
    rv.sql("UPDATE t SET r = rand() + 1")
    after = {row[:2]: n for row, n in feed(rv, "t").items() if row[2] == "update_postimage"}
    assert bag(rv.table("t")) == Counter(after)


def test_expressions_are_those_of_spark(rv: Rollview) -> None:
    rv.sql("CREATE TABLE t (id INT, d DECIMAL(10,2), s STRING, m MAP<STRING, INT>, a ARRAY<INT>, ts TIMESTAMP)")
    rv.sql("INSERT INTO t (id, s, d) SELECT id, 'n' || id, id / 3 FROM (SELECT CAST(id AS INT) AS id FROM range(3))")
    rv.sql(
        "UPDATE t SET m = map_from_arrays(array('k'), array(id)), a = transform(sequence(0, id), x -> x * 2), "
        "ts = timestamp_seconds(id), s = (SELECT max(s) FROM t) WHERE id IN (SELECT id FROM t WHERE id > 0)"
    )
    assert rows(rv.table("t").selectExpr("id", "d", "s", "m['k']", "a", "unix_seconds(ts)")) == [
        (0, 0, "n0", None, None, None),
        (1, Decimal("0.33"), "n2", 1, [0, 2], 1),
        (2, Decimal("0.67"), "n2", 2, [0, 2, 4], 2),
    ]


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO t VALUES ('x', 'y')",
        "INSERT INTO t VALUES (1)",
        "INSERT INTO t (id, id) VALUES (1, 2)",
        "INSERT INTO t VALUES (99999999999, 'y')",
        "UPDATE t SET id = 'x'",
        "UPDATE t SET v = 1 / 0",
        "UPDATE t SET v = 'a', v = 'b'",
        "DELETE FROM t WHERE CAST(v AS INT) = 1",
    ],
)
def test_ansi_rules_refuse_what_would_lose_something(rv: Rollview, sql: str) -> None:
    rv.sql("CREATE TABLE t (id INT, v STRING); INSERT INTO t VALUES (1, 'a')")
    before = _files(rv, "t")
    with pytest.raises(SqlError):
        rv.sql(sql)
    assert (rv.store.version("t"), rows(rv.table("t"))) == (1, [(1, "a")])
    assert _files(rv, "t") == before


def _files(rv: Rollview, table: str) -> set[str]:
    root = rv.store.root / table  # type: ignore[attr-defined]
    return {str(path.relative_to(root)) for path in root.rglob("*.parquet")}


def test_a_failed_statement_leaves_no_file_behind(rv: Rollview) -> None:
    rv.sql("CREATE TABLE t (id INT, v STRING NOT NULL, PRIMARY KEY (id)); INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    before = _files(rv, "t")
    for sql, error in (
        ("INSERT INTO t VALUES (1, 'x')", KeyViolated),
        ("INSERT INTO t VALUES (3, NULL)", KeyViolated),
        ("INSERT INTO t VALUES (3, 'x'), (3, 'y')", KeyViolated),
        ("UPDATE t SET id = 1", KeyViolated),
        ("UPDATE t SET id = NULL WHERE id = 1", KeyViolated),
        ("UPDATE t SET v = NULL", KeyViolated),
        ("UPDATE t SET nope = 1", ColumnNotFound),
        (
            "MERGE INTO t USING (VALUES (1, 'x'), (1, 'y')) AS s(id, v) ON t.id = s.id WHEN MATCHED THEN UPDATE SET *",
            AmbiguousMerge,
        ),
        (
            "MERGE INTO t USING (VALUES (9, 'x'), (9, 'y')) AS s(id, v) ON t.id = s.id WHEN NOT MATCHED THEN INSERT *",
            UserError,
        ),
    ):
        with pytest.raises(error):
            rv.sql(sql)
    assert (rv.store.version("t"), rows(rv.table("t"))) == (1, [(1, "a"), (2, "b")])
    assert _files(rv, "t") == before


def test_keys_may_swap_in_one_statement(rv: Rollview) -> None:
    rv.sql("CREATE TABLE t (id INT, v STRING, PRIMARY KEY (id)); INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    rv.sql("UPDATE t SET id = 3 - id WHERE id < 3")
    assert rows(rv.table("t")) == [(1, "b"), (2, "a"), (3, "c")]


def test_merge_takes_the_first_clause_that_applies(rv: Rollview) -> None:
    rv.sql("CREATE TABLE t (id INT, v STRING, n INT, PRIMARY KEY (id))")
    rv.sql("INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3), (4, 'd', 4)")
    outcome = rv.sql(
        "MERGE INTO t AS x USING (VALUES (1, 'A'), (2, 'B'), (7, 'G'), (8, 'skip'), (CAST(NULL AS INT), 'n')) AS s(id, w) "
        "ON x.id = s.id "
        "WHEN MATCHED AND s.w = 'B' THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET v = concat(x.v, s.w), n = x.n + 10 "
        "WHEN NOT MATCHED AND s.id = 7 THEN INSERT (id, v) VALUES (s.id, lower(s.w)) "
        "WHEN NOT MATCHED BY SOURCE AND x.n = 3 THEN UPDATE SET v = '{gone}' "
        "WHEN NOT MATCHED BY SOURCE THEN DELETE"
    )
    assert outcome.collect()[0].asDict() == {"inserted": 1, "updated": 2, "deleted": 2}
    assert rows(rv.table("t")) == [(1, "aA", 11), (3, "{gone}", 3), (7, "g", None)]
    assert sum(feed(rv, "t").values()) == 7


def test_merge_into_an_empty_table_and_deletes_that_match_twice(rv: Rollview) -> None:
    rv.sql("CREATE TABLE t (id INT, v STRING)")
    rv.sql("MERGE INTO t USING (SELECT 1 AS id, 'a' AS v) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *")
    rv.sql("MERGE INTO t USING (VALUES (1), (1)) AS s(id) ON t.id = s.id WHEN MATCHED THEN DELETE")
    assert rows(rv.table("t")) == []
    assert feed(rv, "t") == Counter({(1, "a", "delete"): 1})


def test_statements_that_change_nothing_make_no_commit(rv: Rollview) -> None:
    rv.sql("CREATE TABLE t (id INT, x DOUBLE); INSERT INTO t VALUES (1, 0.0)")
    for sql in ("UPDATE t SET id = id", "DELETE FROM t WHERE id = 9", "INSERT INTO t SELECT * FROM t WHERE false"):
        rv.sql(sql)
    assert rv.store.version("t") == 1
    rv.sql("UPDATE t SET x = -0.0D")
    assert [str(row[0]) for row in rv.table("t").select("x").collect()] == ["-0.0"]


@pytest.mark.slow
def test_large_edits_are_applied_by_spark_with_the_same_result(rv: Rollview) -> None:
    store: EmbeddedStore = rv.store  # type: ignore[assignment]
    script = (
        "INSERT INTO {t} SELECT CAST(id AS INT), concat('v', id % 7), map('k', id) FROM range(50)",
        "UPDATE {t} SET v = upper(v) WHERE id % 2 = 0",
        "DELETE FROM {t} WHERE id % 5 = 1",
        "MERGE INTO {t} x USING (SELECT CAST(id AS INT) AS id FROM range(40, 60)) s ON x.id = s.id "
        "WHEN MATCHED THEN UPDATE SET v = 'm' WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, 'i')",
    )
    for table, size in (("small", DEFAULT.edits_here), ("middle", 30), ("large", 0)):
        store.folder.limits = Limits(edits_here=size)
        rv.sql(f"CREATE TABLE {table} (id INT, v STRING, m MAP<STRING, BIGINT>, PRIMARY KEY (id))")
        for sql in script:
            rv.sql(sql.format(t=table))
    with pytest.raises(KeyViolated):
        rv.sql("UPDATE large SET id = 1")
    with pytest.raises(AmbiguousMerge):
        rv.sql(
            "MERGE INTO large t USING (VALUES (2), (2)) AS s(id) ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = 'x'"
        )
    assert bag(rv.table("small")) == bag(rv.table("middle")) == bag(rv.table("large"))
    last = rv.store.version("small")
    feeds = [bag(rv.store.changes(t, 0, last).drop("_commit_timestamp")) for t in ("small", "middle", "large")]
    assert feeds[0] == feeds[1] == feeds[2]
    assert sum(feeds[0].values()) > 100


@pytest.mark.parametrize("seed", range(3))
def test_random_histories_agree_with_duckdb(rv: Rollview, seed: int) -> None:
    """The same statements on DuckDB, an engine that shares no code with us, and the feed replayed."""
    rng = random.Random(seed)
    keyed = seed % 2 == 0
    other = duckdb.connect()
    columns = "id INT, g INT, s STRING" + (", PRIMARY KEY (id)" if keyed else "")
    rv.sql(f"CREATE TABLE t ({columns})")
    other.execute(f"CREATE TABLE t ({columns.replace(', PRIMARY KEY (id)', '')})")
    fresh = iter(range(1000))

    def value(options: list[str]) -> str:
        return rng.choice(options)

    for _ in range(12):
        condition = value(["id % 3 = 1", "g IS NULL", "g < 2", "s = 'a' OR id > 5", "s IS NULL", "true", "false"])
        some = ", ".join(
            f"({next(fresh) if keyed else rng.randrange(6)}, {value(['NULL', '1', '2'])}, {value(['NULL', repr('a')])})"
            for _ in range(rng.randrange(1, 6))
        )
        sql = rng.choice(
            [
                f"INSERT INTO t VALUES {some}",
                f"INSERT INTO t SELECT id + {next(fresh) * 1000 if keyed else 0}, g, 'copy' FROM t WHERE {condition}",
                f"DELETE FROM t WHERE {condition}",
                f"UPDATE t SET g = g + 1, s = {value(['NULL', repr('b'), 's'])} WHERE {condition}",
            ]
        )
        try:
            rv.sql(sql)
        except KeyViolated:
            continue
        other.execute(sql)
        assert bag(rv.table("t")) == Counter(other.execute("SELECT * FROM t").fetchall()), sql
    state: Counter[Any] = Counter()
    for row, n in bag(rv.store.changes("t", -1, rv.store.version("t"))).items():
        state[row[:3]] += n if row[3] in ("insert", "update_postimage") else -n
    assert {k: n for k, n in state.items() if n} == dict(bag(rv.table("t")))


def test_other_readers_of_delta_see_the_same_table(rv: Rollview) -> None:
    """The deltalake package reads our commits by itself, change feed and statistics included."""
    rv.sql("CREATE TABLE t (id INT, d DATE, s STRING, ts TIMESTAMP, p DECIMAL(9,2), PRIMARY KEY (id))")
    rv.sql(
        "INSERT INTO t VALUES (1, DATE'2025-01-01', 'a', TIMESTAMP'2025-01-01 00:00:00', 1.5), (2, NULL, NULL, NULL, NULL)"
    )
    rv.sql("UPDATE t SET s = 'z' WHERE id = 2")
    for i in range(12):  # beyond a checkpoint
        rv.sql(f"INSERT INTO t (id) VALUES ({i + 10})")
    table = DeltaTable(str(rv.store.root / "t"))  # type: ignore[attr-defined]
    import pyarrow as pa

    assert (rv.store.root / "t" / "_delta_log" / "_last_checkpoint").exists()  # type: ignore[attr-defined]
    found = pa.table(table.load_cdf(starting_version=2, ending_version=2)).to_pylist()
    assert sorted((row["id"], row["s"], row[CHANGE_TYPE]) for row in found if row["s"]) == [
        (2, "z", "update_postimage")
    ]
    actions = pa.table(table.get_add_actions(flatten=True)).to_pylist()
    first = next(a for a in actions if a["max.id"] == 2)
    assert (first["num_records"], first["min.id"], first["null_count.d"], str(first["min.d"])) == (
        2,
        1,
        1,
        "2025-01-01",
    )
    assert sum(a["num_records"] for a in actions) == 14
    assert sorted(pa.table(table.to_pyarrow_dataset().to_table())["id"].to_pylist()) == [1, 2, *range(10, 22)]


def test_vacuumed_files_and_cleaned_logs_are_told(rv: Rollview) -> None:
    rv.sql("CREATE TABLE t (id INT); INSERT INTO t VALUES (1); DELETE FROM t; INSERT INTO t VALUES (2)")
    root: Path = rv.store.root / "t"  # type: ignore[attr-defined]
    DeltaTable(str(root)).vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False)
    assert rows(rv.store.read("t")) == [(2,)]
    with pytest.raises(VersionGone, match=r"vacuumed(.|\n)*REFRESH MATERIALIZED VIEW … FULL"):
        rv.store.read("t", 1)
    with pytest.raises(VersionGone, match="vacuumed"):
        rv.store.changes("t", 0, 2)
    DeltaTable(str(root)).create_checkpoint()
    for version in range(2):
        (root / "_delta_log" / f"{version:020}.json").unlink()
    with pytest.raises(VersionGone, match="no longer in the log"):
        rv.store.changes("t", 0, rv.store.version("t"))


def test_compaction_is_no_change(rv: Rollview) -> None:
    rv.sql("CREATE TABLE t (id INT)")
    for i in range(4):
        rv.sql(f"INSERT INTO t VALUES ({i})")
    before = rv.store.version("t")
    DeltaTable(str(rv.store.root / "t")).optimize.compact()  # type: ignore[attr-defined]
    after = rv.store.version("t")
    assert after == before + 1
    assert rows(rv.store.changes("t", before, after)) == []
    assert rows(rv.table("t")) == [(0,), (1,), (2,), (3,)]


def test_partitioned_tables_of_others_are_read_not_written(rv: Rollview) -> None:
    import pyarrow as pa
    from deltalake import write_deltalake

    root: Path = rv.store.root / "t"  # type: ignore[attr-defined]
    write_deltalake(str(root), pa.table({"p": ["a", "b", None], "n": [1, 2, 3]}), partition_by=["p"])
    assert rows(rv.table("t")) == [("a", 1), ("b", 2), (None, 3)]
    with pytest.raises(Unsupported, match="partitions"):
        rv.sql("DELETE FROM t")


def test_names_that_need_quoting(rv: Rollview) -> None:
    for name in ("my table", "a.b", "größe ☃", "select", "x`y", "50%", "A/b"):
        quoted = "`" + name.replace("`", "``") + "`"
        rv.sql(f"CREATE TABLE {quoted} (id INT, `größe` INT, `select` INT)")
        rv.sql(f"INSERT INTO {quoted} VALUES (1, 2, 3)")
        rv.sql(f"UPDATE {quoted} SET `select` = `größe` + 1")
        rv.sql(f"CREATE MATERIALIZED VIEW `v {name.replace('`', '``')}` AS SELECT `größe` FROM {quoted}")
        assert rows(rv.sql(f"SELECT * FROM {quoted}")) == [(1, 2, 3)]
        assert rows(rv.sql(f"SELECT * FROM `v {name.replace('`', '``')}`")) == [(2,)]
        assert name.lower() in rv.tables()
    assert len(rv.views()) == 7


@pytest.mark.parametrize(
    ("columns", "error"),
    [
        ("a INT, `b c` INT", BadName),
        ("a INT, A INT", BadName),
        ("a INT, _change_type INT", BadName),
        ("a VARCHAR(10)", Unsupported),
        ("a INTERVAL DAY", Unsupported),
        ("a ARRAY<VARIANT>", Unsupported),
    ],
)
def test_columns_a_table_cannot_have(rv: Rollview, columns: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        rv.sql(f"CREATE TABLE t ({columns})")
    assert rv.tables() == []


def test_files_are_small_parquet_with_spark_types(rv: Rollview) -> None:
    rv.sql(
        "CREATE TABLE t (ts TIMESTAMP, n TIMESTAMP_NTZ); INSERT INTO t VALUES (TIMESTAMP'2025-01-01 10:00:00', TIMESTAMP_NTZ'2025-01-01 10:00:00')"
    )
    rv.sql("UPDATE t SET n = n + INTERVAL 1 HOUR")
    root: Path = rv.store.root / "t"  # type: ignore[attr-defined]
    schemas = {str(pq.read_schema(path).field("ts").type) for path in root.rglob("*.parquet")}
    assert schemas == {"timestamp[us, tz=UTC]"}
    log = [json.loads(line) for line in (root / "_delta_log" / f"{2:020}.json").read_text().splitlines()]
    assert {next(iter(action)) for action in log} == {"commitInfo", "remove", "add", "cdc"}


def test_a_copied_warehouse_is_the_same_warehouse(rv: Rollview, opened: Any, tmp_path: Path) -> None:
    rv.sql("CREATE TABLE t (id INT); INSERT INTO t VALUES (1)")
    rv.create("v", "SELECT id + 1 AS n FROM t")
    moment = rv.store.last_commit("t").time
    shutil.copytree(tmp_path / "warehouse", tmp_path / "copy")
    copy: Rollview = opened(folder=tmp_path / "copy")
    assert rows(copy.table("v")) == [(2,)]
    assert copy.refresh("v").strategy == "no_op"
    assert copy.store.versions_at(moment, ["t"]) == {"t": 1}


def test_a_warehouse_named_by_a_roundabout_path(opened: Any, tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    for place in ("x/../a b é id=5/w", "plain/./w"):
        there: Rollview = opened(folder=tmp_path / place)
        there.sql("CREATE TABLE t (id INT, PRIMARY KEY (id)); INSERT INTO t VALUES (1), (2); UPDATE t SET id = id + 10")
        there.sql("MERGE INTO t USING (SELECT 11 AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE")
        assert rows(there.table("t")) == [(12,)]
    for name in ("a[1]", "b%20c"):
        with pytest.raises(UserError, match="pattern"):
            opened(folder=tmp_path / name)


def test_fields_of_structs_are_not_taken_for_columns(rv: Rollview) -> None:
    rv.sql("CREATE TABLE t (a INT, s STRUCT<a: INT>); INSERT INTO t VALUES (1, named_struct('a', 2))")
    with pytest.raises(Unsupported, match="a field of s"):
        rv.sql("UPDATE t SET s.a = 5")
    with pytest.raises(ColumnNotFound, match="nosuch"):
        rv.sql("UPDATE t SET nosuch.a = 5")
    rv.sql("UPDATE t x SET x.a = 7")
    assert rows(rv.table("t").selectExpr("a", "s.a")) == [(7, 2)]


def test_an_interrupt_after_the_commit_loses_nothing(rv: Rollview, monkeypatch: pytest.MonkeyPatch) -> None:
    rv.sql("CREATE TABLE t (id INT); INSERT INTO t VALUES (1)")
    for sql in ("INSERT INTO t VALUES (2)", "UPDATE t SET id = id + 1", "INSERT OVERWRITE t VALUES (2), (3)"):
        with monkeypatch.context() as patch:
            before = rv.store.version("t")

            def interrupted(self: Log, version: int, info: Any = Log.info, before: int = before) -> Any:
                if version > before:
                    raise KeyboardInterrupt
                return info(self, version)

            patch.setattr(Log, "info", interrupted)
            with pytest.raises(KeyboardInterrupt):
                rv.sql(sql)
        assert rv.store.version("t") == before + 1
    assert rows(rv.table("t")) == [(2,), (3,)]


def test_a_table_may_become_one_with_timestamp_ntz(rv: Rollview) -> None:
    rv.sql("CREATE TABLE z (a INT); CREATE OR REPLACE TABLE z (a TIMESTAMP_NTZ)")
    rv.sql("INSERT INTO z VALUES (TIMESTAMP_NTZ'2025-01-01 00:00:00')")
    assert rv.table("z").count() == 1
    rv.sql("DROP TABLE z")


@pytest.mark.parametrize("item", ["'delta.columnMapping.mode' = 'name'", "'delta.enableDeletionVectors' = 'true'"])
def test_properties_that_would_not_be_kept_are_refused(rv: Rollview, item: str) -> None:
    with pytest.raises(Unsupported, match="would not respect it"):
        rv.sql(f"CREATE TABLE t (a INT) TBLPROPERTIES ({item})")
    rv.sql("CREATE TABLE t (a INT) TBLPROPERTIES ('delta.appendOnly' = 'true', 'mine' = 'x')")
    rv.sql("INSERT INTO t VALUES (1)")
    with pytest.raises(UserError, match="append-only"):
        rv.sql("DELETE FROM t")
    assert rv.store.properties("t")["mine"] == "x"


def test_an_unreadable_table_harms_no_other_statement(rv: Rollview) -> None:
    rv.sql("CREATE TABLE dv (a INT); INSERT INTO dv VALUES (1)")
    for file in (rv.store.root / "dv").rglob("*.parquet"):  # type: ignore[attr-defined]
        file.unlink()
    rv.store.views.distrust()  # type: ignore[attr-defined]
    rv.spark.catalog.dropTempView("dv")
    assert rows(rv.sql("SELECT 1 AS dv")) == [(1,)]
    with pytest.raises(Damaged, match=r"its data file .* is missing"):
        rv.sql("SELECT * FROM dv")
    rv.sql("DROP TABLE dv")
    assert rv.tables() == []


def test_two_warehouses_on_one_session_do_not_mix(rv: Rollview, tmp_path: Path) -> None:
    other = connect(tmp_path / "other", spark=rv.spark)
    for one, text in ((rv, "mine"), (other, "other")):
        one.sql(f"CREATE TABLE t (v STRING); INSERT INTO t VALUES ('{text}')")
    for one, text in ((rv, "mine"), (other, "other"), (rv, "mine")):
        assert rows(one.sql("SELECT * FROM t")) == [(text,)]
    rv.sql("CREATE OR REPLACE TEMP VIEW t AS SELECT 'shadow' AS v")
    assert rows(rv.sql("SELECT * FROM t")) == [("mine",)]


def test_names_are_read_at_their_newest_version_however_they_are_written(rv: Rollview, opened: Any) -> None:
    rv.sql("CREATE TABLE `2024_x` (a INT); INSERT INTO `2024_x` VALUES (1)")
    rv.sql("SELECT * FROM `2024_x`")
    opened().sql("INSERT INTO `2024_x` VALUES (2)")
    assert rows(rv.sql("SELECT * FROM 2024_x")) == [(1,), (2,)]
    assert rows(rv.sql("SELECT * FROM IDENTIFIER('2024_x')")) == [(1,), (2,)]


def test_overwriting_keeps_what_the_columns_declare(rv: Rollview) -> None:
    rv.sql("CREATE TABLE o (id INT NOT NULL, a ARRAY<INT> NOT NULL); INSERT INTO o VALUES (1, array(1))")
    for sql in (
        "INSERT OVERWRITE o VALUES (NULL, array(1))",
        "INSERT INTO o VALUES (2, NULL)",
        "UPDATE o SET a = NULL",
    ):
        with pytest.raises(KeyViolated, match="NOT NULL"):
            rv.sql(sql)
    rv.sql("INSERT OVERWRITE o VALUES (2, array(2))")
    assert [field.nullable for field in rv.store.schema("o")] == [False, False]
    with pytest.raises(Unsupported, match="part of the key"):
        rv.sql("CREATE TABLE k (s STRUCT<a: INT>, PRIMARY KEY (s))")


def test_changes_over_a_change_of_schema(rv: Rollview) -> None:
    rv.sql("CREATE TABLE t (x INT, y STRING); INSERT INTO t VALUES (1, 'a')")
    rv.sql("CREATE OR REPLACE TABLE t (x INT, y STRING, z INT)")
    assert rows(rv.store.changes("t", 1, 2).select("x", "y", "z", CHANGE_TYPE)) == [(1, "a", None, "delete")]
    rv.sql("CREATE OR REPLACE TABLE t (x INT, zz STRING)")
    with pytest.raises(SchemaChanged, match="y is gone"):
        rv.store.changes("t", 1, 3)


def test_a_retried_statement_reads_the_newest_rows_everywhere(
    rv: Rollview, opened: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rv.sql("CREATE TABLE ct (id INT, n INT); INSERT INTO ct VALUES (1, 0), (2, 100)")
    other: Rollview = opened()
    commit, once = Log.commit, [True]

    def overtaken(self: Log, *arguments: Any) -> Any:
        if once.pop() if once else False:
            other.sql("UPDATE ct SET n = 500 WHERE id = 2")
        return commit(self, *arguments)

    monkeypatch.setattr(Log, "commit", overtaken)
    rv.sql("UPDATE ct SET n = (SELECT max(n) FROM ct) WHERE id = 1")
    assert rows(rv.table("ct")) == [(1, 500), (2, 500)]


def test_what_does_not_fit_is_refused_without_ansi_too(rv: Rollview) -> None:
    rv.sql("CREATE TABLE t (a INT, d DECIMAL(4, 2))")
    rv.spark.conf.set("spark.sql.ansi.enabled", "false")
    for sql in ("INSERT INTO t VALUES (99999999999, 1)", "INSERT INTO t VALUES (1, 12345)"):
        with pytest.raises(UserError, match="does not fit"):
            rv.sql(sql)
    rv.sql("INSERT INTO t VALUES (2.9D, 1.239)")
    assert rows(rv.table("t")) == [(2, Decimal("1.24"))]


def test_values_that_python_cannot_hold(rv: Rollview) -> None:
    rv.sql("CREATE TABLE t (d DATE, ts TIMESTAMP, s STRING)")
    rv.sql("INSERT INTO t SELECT DATE'+12345-01-01', TIMESTAMP'+12345-01-01 00:00:00', CAST(X'FF41' AS STRING)")
    rv.sql("INSERT INTO t VALUES (DATE'-0044-03-15', NULL, 'x')")
    rv.sql("DELETE FROM t WHERE s = 'x'")
    assert rv.table("t").count() == 1


def test_tables_of_others_without_statistics_or_with_odd_partitions(rv: Rollview) -> None:
    import pyarrow as pa
    from deltalake import write_deltalake

    root: Path = rv.store.root  # type: ignore[attr-defined]
    write_deltalake(str(root / "p"), pa.table({"p": ["a b", "c/d"], "n": [1, 2]}), partition_by=["p"])
    assert rows(rv.table("p")) == [("a b", 1), ("c/d", 2)]
    assert rv.store.changes("p", -1, 0).count() == 2
    write_deltalake(str(root / "q"), pa.table({"n": [1, 2]}), configuration={"delta.dataSkippingNumIndexedCols": "0"})
    log = root / "q" / "_delta_log" / f"{0:020}.json"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines:
        line.get("add", {}).pop("stats", None)
    log.write_text("\n".join(json.dumps(line) for line in lines))
    assert rv.store.count("q") == 2
    rv.sql("UPDATE q SET n = n + 1 WHERE n = 2")
    assert rows(rv.table("q")) == [(1,), (3,)]


def test_a_merge_into_a_large_table_does_the_same(rv: Rollview) -> None:
    """Its rows are looked for in this process, or by Spark where that is too much: the result is the same."""
    store: EmbeddedStore = rv.store  # type: ignore[assignment]
    source = (
        "SELECT * FROM VALUES (1, 'a', 5, false), (NULL, 'b', 7, false), (3, 'c', 0, true), (NULL, NULL, 1, false), "
        "(99, 'new', 2, false) AS s(k, v, n, __delete)"
    )
    for table, size, here in (("small", 100_000, 0), ("large", 0, 100_000), ("huge", 0, -1)):
        store.folder.limits = Limits(lookup_rows=size, lookup_rows_most=here)
        rv.store.create(
            table,
            rv.spark.sql(
                "SELECT CAST(id AS INT) AS k, substr('abc', CAST(id AS INT), 1) AS v, CAST(id AS INT) AS n FROM range(1, 4) "
                "UNION ALL SELECT NULL, 'b', 20 UNION ALL SELECT NULL, NULL, 30"
            ),
        )
        edit = Upsert(rv.spark.sql(source), ["k", "v"], {"n": "t.n + s.n"}, "t.n + s.n = 27")
        store.commit(table, [edit])
        taken = "SELECT * FROM VALUES (2, 'b', 9), (NULL, NULL, -1), (1, 'a', -6) AS s(k, v, n)"
        store.commit(table, [TakeCopies(rv.spark.sql(taken), ["k", "v"], "n")])
    assert bag(rv.table("small")) == bag(rv.table("large")) == bag(rv.table("huge"))
    assert sorted(row.n for row in rv.table("large").collect()) == [2, 2, 9, 30]


def test_rows_of_any_type_are_found_by_their_values(rv: Rollview) -> None:
    """Each row that has a wanted value, NULL among them; and no other of columns whose equal values are the same."""
    rv.store.create(
        "t",
        rv.spark.sql(
            "SELECT id, CAST(id % 7 AS INT) AS few, IF(id % 5 = 0, NULL, concat('s', id % 11)) AS s, "
            "date_add(DATE'1899-12-30', CAST(id AS INT)) AS d, timestamp_seconds(id * 1000 - 5000000000) AS ts, "
            "CAST(timestamp_seconds(id) AS TIMESTAMP_NTZ) AS ntz, CAST(id / 4 AS DECIMAL(20, 2)) AS dec, "
            "IF(id % 3 = 0, CAST('NaN' AS DOUBLE), CAST(id AS DOUBLE)) AS f, id % 2 = 0 AS b, "
            "named_struct('x', id) AS st FROM range(0, 3000, 1, 3)"
        ),
    )
    snapshot = rv.store.folder.snapshot("t")  # type: ignore[attr-defined]
    whole = {file.path: read_rows(snapshot.path(file), snapshot.arrow_schema) for file in snapshot.files}
    assert len(whole) == 3
    every = pa.concat_tables(whole.values())
    picked = every.take([0, 5, 17, 1500, 2999])
    for names in (["id"], ["few"], ["s"], ["d"], ["ts"], ["ntz"], ["dec"], ["s", "few"], ["few", "f"], ["st", "id"]):
        wanted = {name: picked[name] for name in names}
        found = lookup.found_rows(snapshot, wanted, DEFAULT)
        assert found is not None
        for row in found.to_pylist():
            path, position = row.pop(FILE), row.pop(POSITION)
            held = next(held for name, held in whole.items() if name.endswith(path))
            assert held.slice(position, 1).drop_columns(["f"]).to_pylist() == [
                {k: v for k, v in row.items() if k != "f"}
            ]
        compared = [name for name in names if name not in ("f", "st")]
        keys = [set(picked[name].to_pylist()) for name in compared]
        expected = [
            row["id"] for row in every.to_pylist() if all(row[c] in k for c, k in zip(compared, keys, strict=True))
        ]
        assert sorted(found["id"].to_pylist()) == sorted(expected)
    assert lookup.found_rows(snapshot, {"f": picked["f"]}, DEFAULT) is None
    assert lookup.found_rows(snapshot, {"few": picked["few"]}, Limits(rows_here=10)) is None


def test_rows_in_pieces_some_of_them_empty_all_come_to_spark(rv: Rollview) -> None:
    """Spark itself forgets what comes after an empty piece of an Arrow table."""
    engine = SparkEngine(rv.spark)
    for size in (3, 3_000, 150_000):
        piece = pa.table({"a": pa.array(range(size), pa.int64())})
        kept = engine.local(pa.concat_tables([piece, piece.slice(0, 0), piece]), [("a", "bigint")])
        assert kept.frame.count() == kept.rows == 2 * size
