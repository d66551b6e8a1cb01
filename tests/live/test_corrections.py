"""Where the algorithms of the GraphIVM thesis are wrong as printed: each test fails if one correction is taken back."""

from __future__ import annotations

import pytest

from live_examples import Example
from rollview.live.graph.protocol import LookAhead

pytestmark = pytest.mark.usefixtures("each_graph")

TABLES = {
    "r": [("a", "int"), ("x", "int")],
    "s": [("a", "int"), ("b", "int"), ("y", "int")],
    "t": [("b", "int"), ("z", "int")],
}
CHAIN = "SELECT r.x, s.y, t.z FROM r JOIN s ON r.a = s.a JOIN t ON s.b = t.b"
EACH = pytest.mark.parametrize("look_ahead", list(LookAhead))


def chain(look_ahead: LookAhead = LookAhead.GLOBAL, sql: str = CHAIN) -> Example:
    example = Example(sql, TABLES, look_ahead)
    example.load(r=[(1, 10), (1, 11)], s=[(1, 1, 20), (1, 2, 20), (2, 1, 21)], t=[(1, 30), (1, 30), (2, 31)])
    return example


@EACH
def test_a_deletion_makes_its_diffs_before_the_graph_forgets_the_tuple(look_ahead: LookAhead) -> None:
    example = chain(look_ahead)
    gone = {(10, 20, 30): -2, (11, 20, 30): -2}
    assert example.delete("s", (1, 1, 20)) == gone
    assert (1, 1) not in example.held("s")
    assert example.delete("r", (1, 10), (1, 11)) == {(10, 20, 31): -1, (11, 20, 31): -1}


@EACH
def test_an_insertion_makes_its_diffs_with_the_tuple_in_the_graph(look_ahead: LookAhead) -> None:
    example = chain(look_ahead)
    assert example.insert("s", (1, 1, 22)) == {(10, 22, 30): 2, (11, 22, 30): 2}
    assert example.insert("r", (2, 12)) == {(12, 21, 30): 2}


def test_the_changed_projected_tuple_counts_once() -> None:
    """Algorithm 5 multiplies by the count that the tuple has now, which is 3 after this insertion."""
    assert chain().insert("t", (1, 30)) == {(10, 20, 30): 1, (11, 20, 30): 1}


def test_a_generated_row_counts_each_projected_tuple_with_its_count() -> None:
    """Algorithm 6 begins with all tuples of one table: of these, too, each row counts."""
    example = chain()
    example.insert("r", (1, 10))
    assert example.rows() == {(10, 20, 30): 4, (11, 20, 30): 2, (10, 20, 31): 2, (11, 20, 31): 1}


@EACH
def test_an_update_of_join_columns_moves_one_tuple_and_its_deleted_rows_have_the_old_values(
    look_ahead: LookAhead,
) -> None:
    """Algorithm 4 moves all projected tuples of the join tuple, (1, 11) too, and deletes rows with the new values."""
    example = chain(look_ahead)
    assert example.update("r", (1, 10), (2, 99)) == {(10, 20, 30): -2, (10, 20, 31): -1, (99, 21, 30): 2}
    assert example.held("r") == {(1,): {(11,): 1}, (2,): {(99,): 1}}


def test_a_new_join_tuple_has_its_projected_tuple() -> None:
    """Algorithm 2 attaches projected tuples only to join tuples that there are."""
    example = chain()
    example.insert("r", (7, 70))
    assert example.held("r")[(7,)] == {(70,): 1}


def test_an_empty_join_tuple_leaves_the_graph() -> None:
    """Algorithm 3 leaves it among the join tuples."""
    example = chain()
    example.delete("t", (2, 31))
    assert example.held("t") == {(1,): {(30,): 2}}
    assert example.graph.size().vertex_values == 4
    example.delete("s", (1, 2, 20))
    assert example.graph.size().vertex_values == 3


def test_every_modification_of_a_change_makes_its_diffs() -> None:
    """Algorithm 5 returns within its loop, after the first one."""
    found = chain().apply(t={(1, 30): -1, (2, 31): -1, (2, 32): 1})
    assert found == {
        (10, 20, 30): -1,
        (11, 20, 30): -1,
        (10, 20, 31): -1,
        (11, 20, 31): -1,
        (10, 20, 32): 1,
        (11, 20, 32): 1,
    }


SUMS = "SELECT r.a, sum(t.z) AS z, sum(r.x) AS x, count(*) AS n FROM r JOIN s ON r.a = s.a JOIN t ON s.b = t.b GROUP BY r.a"


def test_an_aggregate_multiplies_by_the_counts_of_the_other_tables() -> None:
    """z is 2 × (30 + 30) + 2 × 31, not that times the count of its own tuple; x is (10 + 11) × 3."""
    example = chain(sql=SUMS)
    assert example.held("t") == {(1,): {(): (2, 2, 60)}, (2,): {(): (1, 1, 31)}}
    assert example.rows() == {(1, 182, 63, 6): 1}


def test_a_diff_of_an_aggregate_carries_the_change_of_its_value() -> None:
    example = chain(sql=SUMS)
    assert example.insert("t", (1, 5)) == {(1, 182, 63, 6): -1, (1, 192, 84, 8): 1}
    assert example.delete("r", (1, 11)) == {(1, 192, 84, 8): -1, (1, 96, 40, 4): 1}


def test_an_update_of_an_aggregated_column_changes_the_sum() -> None:
    """Algorithm 4 has no case for it: neither the join tuple nor the projected tuple changes."""
    example = chain(sql=SUMS)
    assert example.update("t", (1, 30), (1, 40)) == {(1, 182, 63, 6): -1, (1, 202, 63, 6): 1}
    assert example.held("t")[(1,)] == {(): (2, 2, 70)}


def test_a_generated_group_combines_all_join_tuples() -> None:
    """Algorithm 6 groups what belongs to one join tuple: here b = 1 and b = 2 are in one group."""
    example = Example("SELECT sum(s.y) AS y, count(*) AS n FROM s JOIN t ON s.b = t.b", TABLES)
    example.load(s=[(1, 1, 20), (1, 2, 20), (2, 1, 21)], t=[(1, 30), (1, 30), (2, 31)])
    assert example.rows() == {(102, 5): 1}
    assert [tuple(row) for row in example.rows()] == [(102, 5)]


def test_a_flag_has_a_direction() -> None:
    """s(3, 3) has a partner in t and none in r. Towards t no path can be completed, towards r one can: a flag without
    direction says no, and the row of a new partner in r is lost."""
    example = chain()
    example.insert("t", (3, 33))
    assert example.insert("s", (3, 3, 23)) == {}
    item = example.item("s", 3, 3)
    sides = [example.core.shape.vertices[value.vertex].parts for value in item.values]
    assert {parts: item.is_live(side) for side, parts in enumerate(sides)} == {(0, 1): True, (1, 2): False}
    assert example.insert("r", (3, 13)) == {(13, 23, 33): 1}


@EACH
def test_an_insertion_raises_flags_as_far_as_they_change(look_ahead: LookAhead) -> None:
    sql = "SELECT a.x, d.x AS y FROM r a, r b, r c, r d WHERE a.x = b.a AND b.x = c.a AND c.x = d.a"
    example = Example(sql, TABLES, look_ahead)
    example.load(r=[(1, 2), (2, 3), (3, 4)])
    assert example.insert("r", (4, 5)) == {(2, 5): 1}
    assert example.delete("r", (2, 3)) == {(2, 5): -1}
    assert example.insert("r", (2, 3)) == {(2, 5): 1}
    assert example.insert("r", (0, 1)) == {(1, 4): 1}


@pytest.mark.parametrize("look_ahead", [LookAhead.LOCAL, LookAhead.GLOBAL])
def test_a_dead_end_is_visited_once(look_ahead: LookAhead) -> None:
    """Deletions leave flags as they are. The first traversal that finds nothing beyond lowers them."""
    example = Example(CHAIN, TABLES, look_ahead)
    example.load(s=[(1, b, 20) for b in range(20)], t=[(b, 30) for b in range(20)])
    assert example.insert("r", (1, 10)) == {(10, 20, 30): 20}
    example.delete("t", *((b, 30) for b in range(20)))
    visited = []
    for x in (11, 12):
        before = example.graph.visited
        assert example.insert("r", (1, x)) == {}
        visited.append(example.graph.visited - before)
    assert visited == [21, 1]
    assert example.insert("t", (3, 31)) == {(x, 20, 31): 1 for x in (10, 11, 12)}


def test_a_row_that_is_not_there_cannot_be_deleted() -> None:
    from rollview.live.graph.reference import NoSuchRow

    example = chain()
    before = example.rows()
    with pytest.raises(NoSuchRow, match="t does not have"):
        example.apply(r={(1, 10): -1}, t={(1, 99): -1})
    assert example.rows() == before
