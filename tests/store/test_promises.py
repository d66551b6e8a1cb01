"""The promises of the store protocol, checked on every store and every kind of session."""

from __future__ import annotations

import time
from collections import Counter
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from pyspark.sql import DataFrame

from compare import bag, rows
from rollview import Rollview
from rollview.errors import KeyViolated, NameTaken, TableNotFound, VersionGone
from rollview.store.protocol import CHANGE_TYPE, COMMIT_TIME, COMMIT_VERSION, Stamp, Store


def values(rv: Rollview, text: str, columns: str = "id, v") -> DataFrame:
    return rv.spark.sql(f"SELECT * FROM VALUES {text} AS t({columns})")


def made(rv: Rollview, text: str = "(1, 'a'), (2, 'b'), (3, NULL)", **options: object) -> Store:
    rv.store.create("t", values(rv, text), **options)  # type: ignore[arg-type]
    return rv.store


def replayed(store: Store, table: str, after: int, upto: int) -> Counter[object]:
    """The rows of a version, and the changes up to another one applied to them."""
    state = bag(store.read(table, after))
    width = len(store.schema(table).names)
    for row, copies in bag(store.changes(table, after, upto)).items():
        sign = 1 if row[width] in ("insert", "update_postimage") else -1
        state[row[:width]] += sign * copies
    return +state if all(n >= 0 for n in state.values()) else state


def test_a_table_is_what_was_created(rv_all: Rollview) -> None:
    store = made(rv_all, key=["id"], properties={"rollview.note": "it's"})
    assert rows(store.read("t")) == [(1, "a"), (2, "b"), (3, None)]
    assert store.version("t") == 0
    assert store.key("t") == ("id",)
    assert store.properties("t")["rollview.note"] == "it's"
    assert [(f.name, f.dataType.simpleString()) for f in store.schema("t")] == [("id", "int"), ("v", "string")]
    assert store.count("t") == 3
    assert "t" in store.tables()
    with pytest.raises(NameTaken, match="already"):
        store.create("t", values(rv_all, "(1, 'a')"))


def test_a_table_is_gone_when_dropped_and_can_be_made_again(rv_all: Rollview) -> None:
    store = made(rv_all)
    before = store.identity("t")
    store.drop("t")
    assert not store.exists("t")
    with pytest.raises(TableNotFound):
        store.version("t")
    store.create("t", values(rv_all, "(9, 'z')"))
    assert rows(store.read("t")) == [(9, "z")]
    assert store.identity("t") != before


def test_every_version_stays_readable_and_changes_lead_from_one_to_the_next(rv_all: Rollview) -> None:
    store = made(rv_all)
    store.append("t", values(rv_all, "(4, 'd'), (4, 'd')"))
    store.merge("t", values(rv_all, "(1, 'A'), (9, 'i')"), ["id"])
    store.replace("t", values(rv_all, "(1, 'A'), (7, 'x'), (7, 'x')"))
    assert store.version("t") == 3
    assert rows(store.read("t", 0)) == [(1, "a"), (2, "b"), (3, None)]
    assert rows(store.read("t", 1)) == [(1, "a"), (2, "b"), (3, None), (4, "d"), (4, "d")]
    for after, upto in ((0, 1), (1, 2), (2, 3), (0, 3)):
        assert replayed(store, "t", after, upto) == bag(store.read("t", upto)), (after, upto)


def test_the_change_feed_tells_kind_version_and_time(rv_all: Rollview) -> None:
    store = made(rv_all)
    begin = datetime.now(timezone.utc) - timedelta(seconds=5)
    store.merge(
        "t",
        values(rv_all, "(1, 'A', false), (2, 'b', true), (8, 'h', false)", "id, v, __delete"),
        ["id"],
    )
    feed = store.changes("t", 0, 1)
    assert feed.columns == ["id", "v", CHANGE_TYPE, COMMIT_VERSION, COMMIT_TIME]
    assert rows(feed.select("id", "v", CHANGE_TYPE, COMMIT_VERSION)) == [
        (1, "A", "update_postimage", 1),
        (1, "a", "update_preimage", 1),
        (2, "b", "delete", 1),
        (8, "h", "insert", 1),
    ]
    micros = feed.selectExpr(f"unix_micros({COMMIT_TIME})").distinct().collect()
    assert len(micros) == 1
    assert begin.timestamp() < micros[0][0] / 1e6 < datetime.now(timezone.utc).timestamp() + 5
    assert store.changes("t", 1, 1).columns == feed.columns
    assert rows(store.changes("t", 1, 1)) == []


def test_merge_matches_null_with_null_and_leaves_equal_rows_alone(rv_all: Rollview) -> None:
    store = made(rv_all, "(1, 'a'), (NULL, 'n'), (2, NULL)")
    source = values(rv_all, "(NULL, 'N', false), (2, NULL, false), (7, 'q', true)", "id, v, __delete")
    store.merge("t", source, ["id"])
    assert rows(store.read("t")) == [(1, "a"), (2, None), (None, "N")]
    assert rows(store.changes("t", 0, store.version("t")).select("v", CHANGE_TYPE)) == [
        ("N", "update_postimage"),
        ("n", "update_preimage"),
    ]


def test_merge_on_several_columns_updates_every_copy(rv_all: Rollview) -> None:
    rv_all.store.create("t", values(rv_all, "(1, 'x', 10), (1, 'x', 10), (1, 'y', 20)", "a, b, n"))
    rv_all.store.merge("t", values(rv_all, "(1, 'x', 11), (2, 'x', 5)", "a, b, n"), ["a", "b"])
    assert rows(rv_all.store.read("t")) == [(1, "x", 11), (1, "x", 11), (1, "y", 20), (2, "x", 5)]


def test_a_merge_of_copies_adds_them_or_takes_them_from_those_that_are_there(rv_all: Rollview) -> None:
    there = "(1, 'x', 10), (1, 'x', 4), (NULL, 'y', 2), (3, 'z', 1), (7, NULL, 2), (7, NULL, 1)"
    rv_all.store.create("t", values(rv_all, there, "a, b, n"))
    source = "(1, 'x', -5), (NULL, 'y', 5), (4, 'q', -1), (7, NULL, -3)"
    before = rv_all.store.version("t")
    rv_all.store.merge("t", values(rv_all, source, "a, b, n"), ["a", "b"], copies="n")
    assert rows(rv_all.store.read("t")) == [(1, "x", 9), (3, "z", 1), (None, "y", 2), (None, "y", 5)]
    fed: Counter[tuple[Any, ...]] = Counter()
    for a, b, n, kind in rows(rv_all.store.changes("t", before, before + 1).select("a", "b", "n", CHANGE_TYPE)):
        fed[a, b] += n if kind in ("insert", "update_postimage") else -n
    assert fed == {(1, "x"): -5, (None, "y"): 5, (7, None): -3}
    source, total = "(1, 'x', -9), (3, 'z', 1), (5, 'new', 0), (6, 'new', 2)", "coalesce(t.n, 0) + s.n"
    rv_all.store.merge("t", values(rv_all, source, "a, b, n"), ["a", "b"], combine={"n": total}, gone=f"{total} = 0")
    assert rows(rv_all.store.read("t")) == [(3, "z", 2), (6, "new", 2), (None, "y", 2), (None, "y", 5)]


def test_metadata_lands_in_the_commit(rv_all: Rollview) -> None:
    store = made(rv_all, stamp=Stamp({"made": "by hand", "n": [1, {"é": None}]}))
    assert store.last_commit("t").metadata == {"made": "by hand", "n": [1, {"é": None}]}
    store.append("t", values(rv_all, "(4, 'd')"), stamp=Stamp({"step": 2}))
    assert store.last_commit("t").metadata == {"step": 2}
    store.merge("t", values(rv_all, "(4, 'D')"), ["id"], stamp=Stamp({"step": 3}))
    assert store.last_commit("t").metadata == {"step": 3}
    store.replace("t", values(rv_all, "(1, 'a')"), stamp=Stamp({"step": 4}))
    assert store.last_commit("t").metadata == {"step": 4}
    store.replace("t", values(rv_all, "(1, 'a')"), properties={"rollview.x": "y"}, stamp=Stamp({"step": 5}))
    assert store.last_commit("t").metadata == {"step": 5}
    assert store.properties("t")["rollview.x"] == "y"
    store.append("t", values(rv_all, "(2, 'b')"))
    assert store.last_commit("t").metadata == {}
    found = store.last_commit("t", having="step")
    assert (found.metadata, found.version) == ({"step": 5}, store.version("t") - 1)


def test_properties_change_without_the_rows(rv_all: Rollview) -> None:
    store = made(rv_all, key=["id"])
    before, version = rows(store.read("t")), store.version("t")
    store.set_properties("t", {"rollview.x": "it's {y}"})
    assert store.properties("t")["rollview.x"] == "it's {y}"
    assert (store.key("t"), rows(store.read("t")), store.version("t")) == (("id",), before, version + 1)
    assert store.changes("t", version, version + 1).isEmpty()


def test_a_repeated_write_does_nothing(rv_all: Rollview) -> None:
    store = made(rv_all)
    for _ in range(2):
        store.append("t", values(rv_all, "(4, 'd')"), stamp=Stamp({"n": 1}, "app", 1))
    assert (store.version("t"), store.count("t")) == (1, 4)
    for _ in range(2):
        store.merge("t", values(rv_all, "(5, 'e')"), ["id"], stamp=Stamp({"n": 2}, "app", 2))
    assert (store.version("t"), store.count("t")) == (2, 5)
    for _ in range(2):
        store.replace("t", values(rv_all, "(6, 'f')"), stamp=Stamp({"n": 3}, "app", 3))
    assert (store.version("t"), rows(store.read("t"))) == (3, [(6, "f")])
    store.append("t", values(rv_all, "(7, 'g')"), stamp=Stamp({}, "other", 1))
    assert store.count("t") == 2


def test_replace_may_change_the_schema(rv_all: Rollview) -> None:
    store = made(rv_all)
    store.replace("t", values(rv_all, "(1.5D, DATE'2025-01-01', 'k')", "x, d, id"), key=["id"])
    assert [(f.name, f.dataType.simpleString()) for f in store.schema("t")] == [
        ("x", "double"),
        ("d", "date"),
        ("id", "string"),
    ]
    assert store.key("t") == ("id",)
    assert [f.name for f in store.schema("t", 0)] == ["id", "v"]


def test_versions_at_a_time(rv_all: Rollview) -> None:
    store = rv_all.store
    past = datetime.now(timezone.utc) - timedelta(seconds=1)
    made(rv_all)
    time.sleep(0.05)
    store.append("t", values(rv_all, "(4, 'd')"))
    first = store.last_commit("t").time
    time.sleep(0.05)
    store.create("u", values(rv_all, "(1, 'a')"))
    store.append("t", values(rv_all, "(5, 'e')"))
    assert store.versions_at(past) == {}
    assert store.versions_at(first) == {"t": 1}
    assert store.versions_at(first - timedelta(microseconds=1000), ["t"]) == {"t": 0}
    assert store.versions_at(datetime.now(timezone.utc) + timedelta(seconds=1)) == {"t": 2, "u": 0}


def test_a_declared_key_is_kept(rv_all: Rollview) -> None:
    store = made(rv_all, key=["id"])
    for text, message in (
        ("(3, 'x')", "id = 3"),
        ("(8, 'x'), (8, 'y')", "id = 8"),
        ("(CAST(NULL AS INT), 'x')", "NULL"),
    ):
        with pytest.raises(KeyViolated, match=message):
            store.append("t", values(rv_all, text))
    assert (store.version("t"), store.count("t")) == (0, 3)


def test_a_version_that_never_was_or_is_gone(rv_all: Rollview) -> None:
    store = made(rv_all)
    with pytest.raises(VersionGone):
        store.read("t", 7)


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
