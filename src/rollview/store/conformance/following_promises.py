"""Promises about following a table in this process: its rows in batches, and each commit with the rows it changed."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from rollview.errors import TableNotFound, VersionGone
from rollview.store.conformance.bench import Bench, bag, raises
from rollview.store.edits import Append, Replace, Upsert
from rollview.store.protocol import CHANGE_TYPE, UPDATE_AFTER, UPDATE_BEFORE, CommitRows


class FollowingPromises:
    """Tests of a ``bench``."""

    def test_batches_are_the_rows_of_a_version(self, bench: Bench) -> None:
        store = bench.store
        bench.made()
        bench.commit(Append(bench.rows("(4, 'd'), (4, 'd')")))
        for version in (0, 1, None):
            assert bag(_rows(store.batches("t", version))) == bag(bench.held(version))
        found = list(store.batches("t", 1, ["v"]))
        assert all(batch.schema.names == ["v"] for batch in found)
        assert sorted(map(repr, _rows(found))) == sorted(repr((v,)) for _, v in bench.held(1))
        with raises(VersionGone):
            list(store.batches("t", 7))
        with raises(TableNotFound):
            list(store.batches("nowhere"))

    def test_commits_have_their_rows_oldest_first(self, bench: Bench) -> None:
        store = bench.store
        bench.made()
        bench.commit(Append(bench.rows("(4, 'd'), (4, 'd')")))
        store.set_properties("t", {"rollview.x": "y"})
        bench.commit(Upsert(bench.rows("(1, 'A', false), (2, 'b', true)", "id, v, __delete"), ["id"]))
        bench.commit(Replace(bench.rows("(1, 'A'), (7, 'x'), (7, 'x')")))
        found = list(store.commits("t", 0))
        assert [each.commit for each in found] == list(reversed(store.history("t", after=0)))
        for each in found:
            version = each.commit.version
            assert each.rows.column_names == ["id", "v", CHANGE_TYPE]
            assert bag(_rows([each])) == bag(bench.changed(version - 1, version)), version
        assert [each.commit.version for each in store.commits("t", 1, upto=3)] == [2, 3]
        assert list(store.commits("t", 4)) == []
        only = next(iter(store.commits("t", 0, ["v"], 1)))
        assert only.rows.to_pylist() == [{"v": "d", CHANGE_TYPE: "insert"}] * 2
        (kind,) = pa.Table.from_batches(store.batches("t", 1, ["v"])).schema.types
        assert only.rows.schema.types == [kind, pa.string()]
        with raises(TableNotFound):
            list(store.commits("nowhere", 0))

    def test_the_two_rows_of_an_update_are_side_by_side(self, bench: Bench) -> None:
        bench.made("(1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')", key=["id"])
        rows = "(4, 'D', false), (2, 'B', false), (3, 'c', true), (1, 'A', false), (9, 'i', false)"
        bench.commit(Upsert(bench.rows(rows, "id, v, __delete"), ["id"]))
        for columns in (["id", "v"], ["v"]):
            (found,) = bench.store.commits("t", 0, columns)
            pairs = _rows([found])
            before = [at for at, row in enumerate(pairs) if row[-1] == UPDATE_BEFORE]
            assert len(before) == 3
            for at in before:
                assert pairs[at + 1][-1] == UPDATE_AFTER
                assert pairs[at + 1][-2] == pairs[at][-2].upper()

    def test_another_thread_reads_while_this_one_writes(self, bench: Bench) -> None:
        bench.made()
        seen: list[int] = []
        enough = threading.Event()

        def read() -> None:
            with bench.engine.beside():
                while not enough.is_set():
                    seen.extend(each.commit.version for each in bench.store.commits("t", len(seen)))

        thread = threading.Thread(target=read)
        thread.start()
        try:
            for n in range(4):
                bench.commit(Append(bench.rows(f"({n}, 'x')")))
        finally:
            while thread.is_alive() and len(seen) < 4:
                thread.join(0.01)
            enough.set()
            thread.join()
        assert seen == [1, 2, 3, 4]


def _rows(parts: Iterable[pa.RecordBatch | CommitRows]) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []
    for part in parts:
        table = part.rows if isinstance(part, CommitRows) else part
        found += [tuple(row.values()) for row in table.to_pylist()]
    return found
