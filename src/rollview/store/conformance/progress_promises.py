"""Promises about following a table: what was committed since, rows of this process, and tidying."""

from __future__ import annotations

import contextlib

import pyarrow as pa

from rollview.errors import VersionGone
from rollview.store.conformance.bench import Bench
from rollview.store.edits import Append, Upsert
from rollview.store.protocol import Identity, Stamp

_ROWS = pa.table({"id": pa.array([1, 2], pa.int64()), "v": ["a", None]})


class ProgressPromises:
    """Tests of a ``bench``."""

    def test_progress_is_what_was_committed_since_a_known_version(self, bench: Bench) -> None:
        store = bench.store
        bench.made()
        first = store.identity("t")
        nothing = store.progress("t", first)
        assert (nothing.newest, nothing.commits, nothing.follows) == (first, (), True)
        bench.commit(Append(bench.rows("(4, 'd'), (5, 'e')")), stamp=Stamp({"n": 1}))
        bench.commit(Upsert(bench.rows("(1, 'A', false), (2, 'b', true)", "id, v, __delete"), ["id"]))
        second = store.identity("t")
        since, every = store.progress("t", first), store.progress("t", None)
        assert (since.newest, since.newest.mark, since.follows) == (second, second.mark, True)
        assert [commit.version for commit in since.commits] == [1, 2]
        assert since.commits[0].metadata == {"n": 1}
        assert [commit.version for commit in every.commits] == [0, 1, 2]
        assert every.follows is False
        assert [every.commits[0].mark, since.commits[1].mark] == [first.mark, second.mark]
        assert all(commit.changes_rows for commit in every.commits)

    def test_progress_tells_a_table_that_was_created_again_or_went_back(self, bench: Bench) -> None:
        store = bench.store
        bench.made()
        bench.commit(Append(bench.rows("(4, 'd')")))
        old = store.identity("t")
        assert old.version is not None
        ahead = store.progress("t", Identity(old.table_id, old.version + 3, "another mark"))
        other = store.progress("t", Identity(old.table_id, old.version, "another mark"))
        for found in (ahead, other):
            assert ([commit.version for commit in found.commits], found.follows) == ([1], False)
        store.drop("t")
        bench.made()
        found = store.progress("t", old)
        assert ([commit.version for commit in found.commits], found.follows) == ([0], False)
        assert found.newest.table_id != old.table_id

    def test_commits_that_change_no_rows_say_so(self, bench: Bench) -> None:
        store = bench.store
        bench.made()
        known = store.identity("t")
        store.set_properties("t", {"rollview.x": "y"})
        bench.commit(stamp=Stamp({"n": 1}, "app", 1))
        bench.commit(Append(bench.rows("(4, 'd')")))
        assert [commit.changes_rows for commit in store.progress("t", known).commits] == [False, False, True]

    def test_rows_of_this_process_are_created_and_appended(self, bench: Bench) -> None:
        store = bench.store
        store.create("t", _ROWS)
        assert store.columns("t") == [("id", "bigint"), ("v", "string")]
        bench.commit(Append(_ROWS), Append(_ROWS.slice(1)), stamp=Stamp({"n": 1}, "app", 1))
        bench.commit(Append(_ROWS), stamp=Stamp({"n": 1}, "app", 1))
        assert (store.version("t"), bench.held()) == (1, sorted([(1, "a")] * 2 + [(2, None)] * 3, key=repr))
        assert bench.changed(0, 1) == [(1, "a", "insert"), (2, None, "insert"), (2, None, "insert")]
        store.create("u", _ROWS.schema.empty_table())
        assert bench.held(table="u") == []

    def test_tidying_keeps_the_rows_and_the_last_changes(self, bench: Bench) -> None:
        store = bench.store
        store.create("t", _ROWS)
        for _ in range(12):
            bench.commit(Append(_ROWS))
        known, held, kept = store.identity("t"), bench.held(), bench.held(9)
        store.tidy("t", 4)
        store.tidy("t", 4)
        assert bench.held() == held
        assert bench.held(9) == kept
        assert not any(commit.changes_rows for commit in store.progress("t", known).commits)
        bench.commit(Append(_ROWS))
        assert bench.changed(store.version("t") - 1) == [(1, "a", "insert"), (2, None, "insert")]
        assert bench.replayed(12, store.version("t")) == bench.replayed(store.version("t"), store.version("t"))
        with contextlib.suppress(VersionGone):  # only what is kept is promised
            assert len(bench.held(1)) == 4

    def test_old_rows_are_pruned_and_all_others_stay(self, bench: Bench) -> None:
        store = bench.store
        store.create("t", _ROWS)
        for begin in (10, 20, 30):
            bench.commit(Append(pa.table({"id": [begin, begin + 1], "v": ["x", None]})))
        before, held = store.version("t"), bench.held()
        done = store.prune("t", "id", 11, Stamp({"n": 1}, "app", 1))
        assert (done.metadata, store.version("t")) == ({"n": 1}, before + 1)
        assert bench.held() == [row for row in held if row[0] > 11]
        assert bench.held(before) == held
        assert bench.replayed(before, before + 1) == bench.replayed(before + 1, before + 1)
        assert store.progress("t", store.identity("t")).newest.version == before + 1
        store.prune("t", "id", 25, Stamp({"n": 1}, "app", 1))
        assert store.version("t") == before + 1
        store.prune("t", "id", 20)
        assert [row for row in bench.held() if row[0] > 20] == [row for row in held if row[0] > 20]
        again = store.prune("t", "id", 0, Stamp({"n": 2}, "app", 2))
        assert (again.metadata, store.last_commit("t").version) == ({"n": 2}, store.version("t"))
        assert [row for row in bench.held() if row[0] > 20] == [row for row in held if row[0] > 20]

    def test_tidying_after_pruning_keeps_what_is_younger_than_asked(self, bench: Bench) -> None:
        store = bench.store
        store.create("t", _ROWS)
        for begin in (10, 20, 30):
            bench.commit(Append(pa.table({"id": [begin, begin + 1], "v": ["x", None]})))
        before, held = store.version("t"), bench.held()
        done = store.prune("t", "id", 11, Stamp({"n": 1}))
        store.tidy("t", 0, 3_600)
        assert bench.held(before) == held
        left = bench.held()
        store.tidy("t", store.version("t") - done.version)
        assert bench.held() == left
        assert store.last_commit("t", having="n").metadata == {"n": 1}
        bench.commit(Append(pa.table({"id": [40], "v": ["y"]})))
        assert bench.held() == sorted([*left, (40, "y")], key=repr)
        with contextlib.suppress(VersionGone):  # only what is kept is promised
            assert bench.held(before) == held
