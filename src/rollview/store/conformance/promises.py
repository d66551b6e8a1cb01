"""Promises about tables: versions, changes, commits and their metadata, keys, history."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

from rollview.errors import KeyViolated, NameTaken, TableNotFound, VersionGone
from rollview.store.conformance.bench import Bench, bag, raises
from rollview.store.edits import Append, Edit, Replace, Upsert
from rollview.store.protocol import CHANGE_TYPE, COMMIT_TIME, COMMIT_VERSION, Stamp


class TablePromises:
    """Tests of a ``bench``."""

    def test_a_table_is_what_was_created(self, bench: Bench) -> None:
        store = bench.store
        bench.made(key=["id"], properties={"rollview.note": "it's"})
        assert bench.held() == [(1, "a"), (2, "b"), (3, None)]
        assert store.version("t") == 0
        assert store.key("t") == ("id",)
        assert store.properties("t")["rollview.note"] == "it's"
        assert store.columns("t") == [("id", "int"), ("v", "string")]
        assert store.count("t") == 3
        assert "t" in store.tables()
        with raises(NameTaken, "already"):
            store.create("t", bench.rows("(1, 'a')"))

    def test_a_table_is_gone_when_dropped_and_can_be_created_again(self, bench: Bench) -> None:
        store = bench.store
        bench.made()
        before = store.identity("t")
        store.drop("t")
        assert not store.exists("t")
        with raises(TableNotFound):
            store.version("t")
        with raises(TableNotFound):
            bench.commit(Append(bench.rows("(1, 'a')")))
        bench.made("(9, 'z')")
        assert bench.held() == [(9, "z")]
        assert store.identity("t") != before

    def test_a_commit_has_one_mark_and_no_other_commit_has_it(self, bench: Bench) -> None:
        store = bench.store
        bench.made()
        first, before = store.identity("t"), store.version("t")
        bench.commit(Append(bench.rows("(4, 'd')")))
        second = store.identity("t")
        assert second.mark is not None
        assert second.mark == store.identity("t").mark != first.mark
        assert store.commit_mark("t", store.version("t")) in (None, second.mark)
        assert store.commit_mark("t", before) in (None, first.mark)
        assert store.commit_mark("t", 99) is None

    def test_every_version_stays_readable_and_changes_lead_from_one_to_the_next(self, bench: Bench) -> None:
        bench.made()
        bench.commit(Append(bench.rows("(4, 'd'), (4, 'd')")))
        bench.commit(Upsert(bench.rows("(1, 'A'), (9, 'i')"), ["id"]))
        bench.commit(Replace(bench.rows("(1, 'A'), (7, 'x'), (7, 'x')")))
        assert bench.store.version("t") == 3
        assert bench.held(0) == [(1, "a"), (2, "b"), (3, None)]
        assert bench.held(1) == [(1, "a"), (2, "b"), (3, None), (4, "d"), (4, "d")]
        for after, upto in ((0, 1), (1, 2), (2, 3), (0, 3)):
            assert bench.replayed(after, upto) == bag(bench.held(upto)), (after, upto)

    def test_the_change_feed_has_kind_version_and_time(self, bench: Bench) -> None:
        bench.made()
        begin = datetime.now(timezone.utc) - timedelta(seconds=5)
        rows = bench.rows("(1, 'A', false), (2, 'b', true), (8, 'h', false)", "id, v, __delete")
        commit = bench.commit(Upsert(rows, ["id"]))
        feed = bench.feed(0, 1)
        assert sorted(row[:4] for row in feed) == [
            (1, "A", "update_postimage", 1),
            (1, "a", "update_preimage", 1),
            (2, "b", "delete", 1),
            (8, "h", "insert", 1),
        ]
        (moment,) = {row[4].timestamp() for row in feed}
        assert abs(moment - commit.time.timestamp()) < 0.002
        assert begin.timestamp() < moment < datetime.now(timezone.utc).timestamp() + 5
        names = [name for name, _ in bench.engine.columns(bench.store.changes("t", 1, 1))]
        assert sorted(names) == sorted(["id", "v", CHANGE_TYPE, COMMIT_VERSION, COMMIT_TIME])
        assert bench.changed(1, 1) == []

    def test_few_changes_are_those_of_the_feed(self, bench: Bench) -> None:
        bench.made()
        bench.commit(Append(bench.rows("(4, 'd'), (5, 'e')")))
        bench.commit(Upsert(bench.rows("(1, 'A', false), (2, 'b', true)", "id, v, __delete"), ["id"]))
        found = bench.store.few_changes("t", 0, 2, ["v"], 10)
        assert bench.store.few_changes("t", 0, 2, ["v"], 4) is None
        if found is None:  # the store reads nothing into this process
            return
        assert found.column_names == ["v", CHANGE_TYPE, COMMIT_VERSION, COMMIT_TIME]
        assert found.schema.field(COMMIT_TIME).type.tz is not None
        expected = [row[1:] for row in bench.feed(0, 2)]
        for given, wanted in zip(_in_order(found.to_pylist()), _in_order(expected), strict=True):
            assert given[:3] == wanted[:3]
            assert given[3].timestamp() == wanted[3].timestamp()

    def test_metadata_lands_in_the_commit(self, bench: Bench) -> None:
        store = bench.store
        bench.made(stamp=Stamp({"made": "by hand", "n": [1, {"é": None}]}))
        assert store.last_commit("t").metadata == {"made": "by hand", "n": [1, {"é": None}]}
        edits: tuple[Edit, ...] = (
            Append(bench.rows("(4, 'd')")),
            Upsert(bench.rows("(4, 'D')"), ["id"]),
            Replace(bench.rows("(1, 'a')")),
            Replace(bench.rows("(1, 'a')"), properties={"rollview.x": "y"}),
        )
        for step, edit in enumerate(edits):
            assert bench.commit(edit, stamp=Stamp({"step": step})).metadata == {"step": step}
            assert store.last_commit("t").metadata == {"step": step}
        assert store.properties("t")["rollview.x"] == "y"
        bench.commit(Append(bench.rows("(2, 'b')")))
        assert store.last_commit("t").metadata == {}
        found = store.last_commit("t", having="step")
        assert (found.metadata, found.version) == ({"step": 3}, 4)
        with raises(VersionGone, "nowhere"):
            store.last_commit("t", having="nowhere")

    def test_a_stamped_commit_without_edits_has_just_its_metadata(self, bench: Bench) -> None:
        bench.made()
        assert bench.commit().version == 0
        assert bench.commit(stamp=Stamp({"n": 1}, "app", 1)).metadata == {"n": 1}
        assert (bench.store.version("t"), bench.changed(0), bench.held()) == (1, [], bench.held(0))

    def test_properties_change_without_the_rows(self, bench: Bench) -> None:
        store = bench.store
        bench.made(key=["id"])
        before = bench.held()
        store.set_properties("t", {"rollview.x": "it's {y}"})
        assert store.properties("t")["rollview.x"] == "it's {y}"
        assert (store.key("t"), bench.held(), store.version("t")) == (("id",), before, 1)
        assert bench.changed(0) == []

    def test_a_repeated_write_does_nothing(self, bench: Bench) -> None:
        store = bench.store
        bench.made()
        edits: tuple[tuple[Edit, int], ...] = (
            (Append(bench.rows("(4, 'd')")), 4),
            (Upsert(bench.rows("(5, 'e')"), ["id"]), 5),
            (Replace(bench.rows("(6, 'f')")), 1),
        )
        for number, (edit, size) in enumerate(edits, 1):
            for _ in range(2):
                bench.commit(edit, stamp=Stamp({"n": number}, "app", number))
                assert (store.version("t"), store.count("t")) == (number, size)
        bench.commit(Append(bench.rows("(7, 'g')")), stamp=Stamp({}, "other", 1))
        assert store.count("t") == 2

    def test_replace_may_change_the_schema(self, bench: Bench) -> None:
        bench.made()
        bench.commit(Replace(bench.rows("(CAST(1.5 AS DOUBLE), DATE'2025-01-01', 'k')", "x, d, id"), key=["id"]))
        assert bench.store.columns("t") == [("x", "double"), ("d", "date"), ("id", "string")]
        assert bench.store.key("t") == ("id",)

    def test_history_is_newest_first(self, bench: Bench) -> None:
        store = bench.store
        bench.made()
        bench.commit(Append(bench.rows("(4, 'd'), (5, 'e')")), stamp=Stamp({"n": 1}))
        bench.commit(Upsert(bench.rows("(1, 'A', false), (2, 'b', true)", "id, v, __delete"), ["id"]))
        found = store.history("t")
        assert [commit.version for commit in found] == [2, 1, 0]
        assert found[0] == store.last_commit("t")
        assert found[1].metadata == {"n": 1}
        assert [commit.time for commit in found] == sorted((commit.time for commit in found), reverse=True)
        known = [(commit.inserted, commit.deleted) for commit in found]
        assert all(one in (None, two) for one, two in zip(sum(known, ()), (1, 2, 2, 0, 3, 0), strict=True)), known
        assert [commit.version for commit in store.history("t", limit=2)] == [2, 1]
        assert [commit.version for commit in store.history("t", after=0)] == [2, 1]
        assert [commit.version for commit in store.history("t", limit=1, after=0)] == [2]
        assert store.history("t", after=2) == []
        assert [store.commits_between("t", *pair) for pair in ((0, 2), (1, 1), (2, 0))] == [2, 0, -2]

    def test_versions_at_a_time(self, bench: Bench) -> None:
        store = bench.store
        past = datetime.now(timezone.utc) - timedelta(seconds=1)
        bench.made()
        time.sleep(0.05)
        bench.commit(Append(bench.rows("(4, 'd')")))
        first = store.last_commit("t").time
        time.sleep(0.05)
        store.create("u", bench.rows("(1, 'a')"))
        bench.commit(Append(bench.rows("(5, 'e')")))
        assert store.versions_at(past) == {}
        assert store.versions_at(first) == {"t": 1}
        assert store.versions_at(first - timedelta(microseconds=1000), ["t"]) == {"t": 0}
        assert store.versions_at(datetime.now(timezone.utc) + timedelta(seconds=1)) == {"t": 2, "u": 0}

    def test_a_declared_key_is_kept(self, bench: Bench) -> None:
        bench.made(key=["id"])
        for text, message in (
            ("(3, 'x')", "id = 3"),
            ("(8, 'x'), (8, 'y')", "id = 8"),
            ("(CAST(NULL AS INT), 'x')", "NULL"),
        ):
            with raises(KeyViolated, message):
                bench.commit(Append(bench.rows(text)))
        with raises(KeyViolated, "id = 9"):
            bench.commit(Upsert(bench.rows("(9, 'x'), (9, 'y')"), ["id"]))
        with raises(KeyViolated, "id = 3"):
            bench.commit(Upsert(bench.rows("(7, 'a')"), ["v"], {"id": "t.id + 2"}))
        with raises(KeyViolated, "id = 8"):
            bench.commit(Append(bench.rows("(8, 'x')")), Append(bench.rows("(8, 'y')")))
        assert (bench.store.version("t"), bench.store.count("t")) == (0, 3)

    def test_a_version_that_never_was(self, bench: Bench) -> None:
        bench.made()
        with raises(VersionGone):
            bench.store.read("t", 7)

    def test_a_name_shows_a_query_over_a_table(self, bench: Bench) -> None:
        store = bench.store
        bench.made()
        called = bench.engine.quoted("__rows")
        store.name_query("shown", "t", f"SELECT v FROM {called} WHERE id > 1", "__rows")
        with store.asked():
            store.sync({"shown"})
            assert bench.fetched(store.pass_on("SELECT * FROM shown")) == [("b",), (None,)]
            bench.commit(Append(bench.rows("(4, 'd')")))
            store.sync({"shown"})
            assert bench.fetched(store.pass_on("SELECT * FROM shown")) == [("b",), ("d",), (None,)]
        store.forget_name("shown")


def _in_order(rows: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Changed rows by kind and values."""
    found = [tuple(row.values()) if isinstance(row, dict) else tuple(row) for row in rows]
    return sorted(found, key=lambda row: repr(row[:3]))
