"""Promises about edits: what each does, alone and after others in the same commit."""

from __future__ import annotations

from collections import Counter
from typing import Any

from rollview.engine.protocol import Frame
from rollview.errors import AmbiguousMerge, RollviewError
from rollview.store.conformance.bench import Bench, raises
from rollview.store.conformance.histories import follow
from rollview.store.edits import Append, DeleteMatching, Edit, Replace, TakeCopies, UpdateMatching, Upsert
from rollview.store.protocol import INSERT, UPDATE_AFTER, Stamp


class EditPromises:
    """Tests of a ``bench``. ``seeds`` are the seeds of the random histories. ``empty_commits`` says whether the store
    may commit an edit that changes nothing, because it finds that out only by committing."""

    seeds = range(4)
    empty_commits = False

    def test_an_upsert_matches_null_with_null_and_leaves_equal_rows_alone(self, bench: Bench) -> None:
        bench.made("(1, 'a'), (NULL, 'n'), (2, NULL)")
        rows = bench.rows("(NULL, 'N', false), (2, NULL, false), (7, 'q', true)", "id, v, __delete")
        bench.commit(Upsert(rows, ["id"]))
        assert bench.held() == [(1, "a"), (2, None), (None, "N")]
        assert bench.changed(0) == [(None, "N", "update_postimage"), (None, "n", "update_preimage")]

    def test_an_upsert_on_several_columns_updates_every_copy(self, bench: Bench) -> None:
        bench.made("(1, 'x', 10), (1, 'x', 10), (1, 'y', 20)", "a, b, n")
        bench.commit(Upsert(bench.rows("(1, 'x', 11), (2, 'x', 5)", "a, b, n"), ["a", "b"]))
        assert bench.held() == [(1, "x", 11), (1, "x", 11), (1, "y", 20), (2, "x", 5)]

    def test_copies_are_added_or_taken_from_those_that_are_stored(self, bench: Bench) -> None:
        there = "(1, 'x', 10), (1, 'x', 4), (NULL, 'y', 2), (3, 'z', 1), (7, NULL, 2), (7, NULL, 1)"
        bench.made(there, "a, b, n")
        given = "(1, 'x', -5), (NULL, 'y', 5), (4, 'q', -1), (7, NULL, -3)"
        bench.commit(TakeCopies(bench.rows(given, "a, b, n"), ["a", "b"], "n"))
        assert bench.held() == [(1, "x", 9), (3, "z", 1), (None, "y", 2), (None, "y", 5)]
        fed: Counter[Any] = Counter()
        for a, b, n, kind in bench.changed(0):
            fed[a, b] += n if kind in (INSERT, UPDATE_AFTER) else -n
        assert fed == {(1, "x"): -5, (None, "y"): 5, (7, None): -3}

    def test_an_upsert_adds_and_deletes_by_conditions_over_both_rows(self, bench: Bench) -> None:
        bench.made("(1, 'x', 9), (3, 'z', 1)", "a, b, n")
        given, total = "(1, 'x', -9), (3, 'z', 1), (5, 'new', 0), (6, 'new', 2)", "coalesce(t.n, 0) + s.n"
        bench.commit(Upsert(bench.rows(given, "a, b, n"), ["a", "b"], {"n": total}, f"{total} = 0"))
        assert bench.held() == [(3, "z", 2), (6, "new", 2)]

    def test_an_update_by_a_part_of_the_key_sets_some_columns_of_all_rows_that_match(self, bench: Bench) -> None:
        bench.made("(1, 1, 'a', 5), (1, 2, 'b', 6), (2, 1, 'c', 7), (NULL, 1, 'd', 8)", "o, line, v, n")
        given = bench.rows("(1, 100, 'new'), (NULL, 200, 'none'), (9, 300, 'nobody')", "o, plus, w")
        commit = bench.commit(UpdateMatching(given, ["o"], {"n": "t.n + s.plus", "v": "s.w"}))
        assert bench.held() == [(1, 1, "new", 105), (1, 2, "new", 106), (2, 1, "c", 7), (None, 1, "none", 208)]
        assert Counter(row[-1] for row in bench.changed(0)) == {"update_postimage": 3, "update_preimage": 3}
        assert commit.rows == 3

    def test_a_delete_by_a_part_of_the_key(self, bench: Bench) -> None:
        bench.made("(1, 1), (1, 2), (2, 1), (NULL, 1)", "o, line")
        commit = bench.commit(DeleteMatching(bench.rows("(1), (NULL), (9)", "o"), ["o"]))
        assert bench.held() == [(2, 1)]
        assert bench.changed(0) == [(1, 1, "delete"), (1, 2, "delete"), (None, 1, "delete")]
        assert commit.rows == 3

    def test_edits_of_many_rows(self, bench: Bench) -> None:
        many = bench.engine.query("SELECT id, 'a' AS v FROM (SELECT explode(sequence(1, 150000)) AS id)", {})
        bench.store.create("t", many)
        changed = bench.engine.query("SELECT id, 'b' AS v FROM (SELECT explode(sequence(2, 150001)) AS id)", {})
        assert bench.commit(Upsert(changed, ["id"])).rows == 150_000
        assert bench.fetched(_counted(bench)) == [("a", 1), ("b", 150_000)]
        commit = bench.commit(
            DeleteMatching(bench.rows("(1)", "id"), ["id"]),
            UpdateMatching(changed, ["id"], {"v": "'c'"}),
            DeleteMatching(bench.rows("(2)", "id"), ["id"]),
        )
        assert commit.rows == 150_001
        assert bench.fetched(_counted(bench)) == [("c", 149_999)]

    def test_an_edit_that_changes_no_row_writes_none(self, bench: Bench) -> None:
        bench.made("(1, 'a'), (2, 'b')")
        same = bench.rows("(1, 'a'), (9, 'z')")
        for edits in (
            [UpdateMatching(same, ["id"], {"v": "s.v"})],
            [DeleteMatching(bench.rows("(7)", "id"), ["id"])],
            [Upsert(bench.rows("(1, 'a')"), ["id"])],
            [Upsert(bench.rows("(1, 'a')"), ["id"], {"v": "s.v"})],
            [UpdateMatching(same, ["id"], {"v": "'q'"}), UpdateMatching(same, ["id"], {"v": "s.v"})],
            [Append(bench.rows("(5, 'e')")), DeleteMatching(bench.rows("(5)", "id"), ["id"])],
        ):
            commit = bench.commit(*edits)
            assert self.empty_commits or commit.version == 0, edits
            assert bench.changed(0) == [], edits
        stamp = Stamp({"n": 1}, "app", 1)
        assert bench.commit(UpdateMatching(same, ["id"], {"v": "s.v"}), stamp=stamp).metadata == {"n": 1}
        assert bench.store.last_commit("t").metadata == {"n": 1}
        assert (bench.changed(0), bench.held()) == ([], [(1, "a"), (2, "b")])

    def test_two_given_rows_that_would_change_one_stored_row_are_an_error(self, bench: Bench) -> None:
        bench.made("(1, 'a'), (2, 'b')")
        two = bench.rows("(1, 'x'), (1, 'y')")
        edits: tuple[Edit, ...] = (Upsert(two, ["id"]), UpdateMatching(two, ["id"], {"v": "s.v"}))
        nobody = UpdateMatching(bench.rows("(7, 'x')"), ["id"], {"v": "s.v"})
        for edit in edits:
            for chain in ([edit], [nobody, edit], [edit, nobody]):
                with raises(AmbiguousMerge, "More than one source row"):
                    bench.commit(*chain)
        assert (bench.store.version("t"), bench.held()) == (0, [(1, "a"), (2, "b")])
        bench.commit(DeleteMatching(two, ["id"]))  # to delete a row twice is to delete it
        assert bench.held() == [(2, "b")]
        twice = bench.rows("(2, 'x', true), (2, 'y', true)", "id, v, __delete")
        bench.commit(Upsert(twice, ["id"]))
        assert bench.held() == []

    def test_edits_apply_in_order_each_to_what_those_before_it_left(self, bench: Bench) -> None:
        bench.made("(1, 'a', 10), (2, 'b', 20), (3, 'c', 30)", "id, v, n")
        commit = bench.commit(
            DeleteMatching(bench.rows("(1)", "id"), ["id"]),
            Append(bench.rows("(4, 'd', 40), (5, 'e', 50)", "id, v, n")),
            UpdateMatching(bench.rows("(2, 1), (4, 2), (1, 9)", "id, plus"), ["id"], {"n": "t.n + s.plus"}),
            Upsert(bench.rows("(2, 'B', 100), (6, 'f', 60)", "id, v, n"), ["id"], {"n": "t.n + s.n"}),
            DeleteMatching(bench.rows("('e')", "v"), ["v"]),
            stamp=Stamp({"n": 1}, "app", 1),
        )
        assert bench.held() == [(2, "B", 121), (3, "c", 30), (4, "d", 42), (6, "f", 60)]
        assert bench.changed(0) == [
            (1, "a", 10, "delete"),
            (2, "B", 121, "update_postimage"),
            (2, "b", 20, "update_preimage"),
            (4, "d", 42, "insert"),
            (6, "f", 60, "insert"),
        ]
        assert (commit.version, commit.metadata, commit.rows) == (1, {"n": 1}, 4)
        again = bench.commit(Append(bench.rows("(9, 'z', 90)", "id, v, n")), stamp=Stamp({"n": 1}, "app", 1))
        assert (again.version, bench.store.version("t")) == (1, 1)

    def test_a_replace_is_the_only_edit_of_its_commit(self, bench: Bench) -> None:
        bench.made()
        with raises(RollviewError, "other edits"):
            bench.commit(Replace(bench.rows("(1, 'a')")), Append(bench.rows("(2, 'b')")))
        assert bench.store.version("t") == 0

    def test_rows_that_differ_little_are_told_apart(self, bench: Bench) -> None:
        """0.0 and -0.0, and moments a microsecond apart: each edit changes the very rows that it matches."""
        moment = "TIMESTAMP'2025-01-01 00:00:00.00000"
        there = ", ".join(f"({i}, {x}, {moment}{i}')" for i, x in ((1, "0.0D"), (2, "-0.0D"), (3, "double('NaN')")))
        bench.made(there, "id, x, at")
        bench.commit(
            Append(bench.rows(f"(9, 1.5D, {moment}9')", "id, x, at")),
            UpdateMatching(bench.rows(f"({moment}2')", "at"), ["at"], {"id": "t.id + 10"}),
        )
        assert [row[0] for row in bench.held()] == [1, 12, 3, 9]
        assert [(row[0], str(row[1])) for row in bench.changed(0)] == [
            (12, "-0.0"),
            (2, "-0.0"),
            (9, "1.5"),
        ]

    def test_random_histories_of_edits_hold_what_the_interpreter_says(self, bench: Bench) -> None:
        for seed in self.seeds:
            follow(bench, seed)


def _counted(bench: Bench) -> Frame:
    """How often each value of ``v`` is stored."""
    table = ("t",)
    return bench.engine.query("SELECT v, count(*) AS n FROM t GROUP BY v", {table: bench.store.read("t")})
