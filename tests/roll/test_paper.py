"""The paper's examples, equations and figures, with the exact queries. Positions are numbers: a = 0, unless said otherwise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import count

import pytest

from paper.bags import Database, chain, evaluated
from paper.compute_delta import Unexecuted, compute_delta, propagate
from paper.cover import drawn
from paper.equations import equation_1, equation_2, equation_3, realizable
from paper.figure_10 import RollingPropagate
from rollview.roll.forwarding import Forwarded
from rollview.roll.queries import Query, Time, shown

TWO, THREE = ("R1", "R2"), ("R1", "R2", "R3")


def at(*positions: int) -> Iterator[int]:
    return iter(positions)


def test_equation_1_has_a_query_for_each_set_of_changed_tables() -> None:
    queries = list(equation_1(THREE, 0, 2))
    assert shown(queries) == (
        "R1(0,2] ⋈ R2@2 ⋈ R3@2 + R1@2 ⋈ R2(0,2] ⋈ R3@2 + R1@2 ⋈ R2@2 ⋈ R3(0,2]"
        " − R1(0,2] ⋈ R2(0,2] ⋈ R3@2 − R1(0,2] ⋈ R2@2 ⋈ R3(0,2] − R1@2 ⋈ R2(0,2] ⋈ R3(0,2]"
        " + R1(0,2] ⋈ R2(0,2] ⋈ R3(0,2]"
    )
    assert [realizable(query, 2) for query in queries] == [True] * 7
    assert [realizable(query, 3) for query in queries] == [False] * 6 + [True]  # all but the last are synchronous
    assert [len(list(equation_1([f"R{i}" for i in range(n)], 0, 2))) for n in (2, 3, 4, 5)] == [3, 7, 15, 31]


def test_equation_2_has_a_query_for_each_table_and_most_are_of_no_one_moment() -> None:
    queries = list(equation_2(THREE, 0, 2))
    assert shown(queries) == "R1(0,2] ⋈ R2@2 ⋈ R3@2 + R1@0 ⋈ R2(0,2] ⋈ R3@2 + R1@0 ⋈ R2@0 ⋈ R3(0,2]"
    assert [[realizable(query, x) for x in range(4)] for query in queries] == [
        [False, False, True, False],
        [False] * 4,
        [False] * 4,  # the changes go on after the moment at which the other tables are seen
    ]


def test_equation_3_is_what_compute_delta_executes_for_two_tables() -> None:
    """Forward queries at 3 and 5, each with its compensation; those of changes alone may be executed at any time."""
    found = list(compute_delta(Unexecuted(TWO), [0, 0], 2, at(3, 4, 5, 6).__next__))
    assert found == equation_3(0, 2, 3, 5)
    assert shown(found) == "R1(0,2] ⋈ R2@3 − R1(0,2] ⋈ R2(2,3] + R1@5 ⋈ R2(0,2] − R1(0,5] ⋈ R2(0,2]"


def test_nothing_is_compensated_if_the_tables_stand_still() -> None:
    found = compute_delta(Unexecuted(TWO), [0, 0], 2, lambda: 2)
    assert shown(found) == "R1(0,2] ⋈ R2@2 + R1@2 ⋈ R2(0,2] − R1(0,2] ⋈ R2(0,2]"


@pytest.mark.parametrize(("tables", "queries"), [(1, 1), (2, 4), (3, 15), (4, 64), (5, 325), (6, 1956)])
def test_the_recursion_multiplies_queries(tables: int, queries: int) -> None:
    """Each of n forward queries is compensated for by a recursion over n − 1 tables."""
    names = [f"R{i + 1}" for i in range(tables)]
    assert len(list(compute_delta(Unexecuted(tuple(names)), [0] * tables, 1, count(2).__next__))) == queries
    step = Forwarded.level(names, 0).by_presence(0, 1, [2] * tables)
    assert len(step.places) == tables  # ours: one query for each changed table, with a sum for each place


def test_the_deletion_of_section_3_3() -> None:
    """r1 goes at 1 and r2 at 2: the joined row goes at 1. Three of the four queries find nothing."""
    r1, r2 = (1, 7), (7, 2)
    database = Database(
        {"R1": Counter([r1]), "R2": Counter([r2])}, [{"R1": Counter({r1: -1})}, {"R2": Counter({r2: -1})}, {}, {}]
    )
    queries = list(compute_delta(Unexecuted(TWO), [0, 0], 2, at(3, 3, 4, 4).__next__))
    assert shown(queries) == "R1(0,2] ⋈ R2@3 − R1(0,2] ⋈ R2(2,3] + R1@4 ⋈ R2(0,2] − R1(0,4] ⋈ R2(0,2]"
    found = [dict(evaluated([query], Time.LEAST, database, chain)) for query in queries]
    assert found == [{}, {}, {}, {(1, (1, 2)): -1}]


def test_the_insertion_of_section_3_3() -> None:
    """x1 comes at 1 and x2 at 2: the joined row comes at 2, once the other two have cancelled out."""
    x1, x2 = (1, 7), (7, 2)
    database = Database({"R1": Counter(), "R2": Counter()}, [{"R1": Counter([x1])}, {"R2": Counter([x2])}, {}, {}])
    queries = list(compute_delta(Unexecuted(TWO), [0, 0], 2, at(3, 3, 4, 4).__next__))
    found = [dict(evaluated([query], Time.LEAST, database, chain)) for query in queries]
    assert found == [{(1, (1, 2)): 1}, {}, {(2, (1, 2)): 1}, {(1, (1, 2)): -1}]


#: V at 4 less V at 2: R1 goes up and R2 to the right.
FIGURE_6 = """
.......
.......
11111..
11111..
...11..
...11..
...11..
""".strip()


def test_figures_6_and_7_the_queries_cover_an_l_shaped_region() -> None:
    """Figure 6: what is new from a = 2 to b = 4. Figure 7: ComputeDelta, its forward queries executed at c = 5 and d = 6."""
    queries = list(compute_delta(Unexecuted(TWO), [2, 2], 4, at(5, 5, 6, 6).__next__))
    assert shown(queries) == "R1(2,4] ⋈ R2@5 − R1(2,4] ⋈ R2(4,5] + R1@6 ⋈ R2(2,4] − R1(2,6] ⋈ R2(2,4]"
    assert drawn(queries, 6) == FIGURE_6
    for equation in equation_1, equation_2:
        assert drawn(equation(TWO, 2, 4), 6) == FIGURE_6

    forward = [queries[0], queries[2]]  # they stick out, and overlap
    assert drawn(forward, 6) == "...11..\n...11..\n111221.\n111221.\n...11..\n...11..\n...11.."
    assert drawn([-queries[1], -queries[3]], 6) == "...11..\n...11..\n...111.\n...111.\n.......\n.......\n......."


def test_figure_8_each_interval_of_propagate_is_by_itself() -> None:
    found = list(propagate(TWO, 0, (2, 4, 6), at(3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8).__next__))
    assert [drawn(queries, 6) for queries in found] == [
        ".......\n.......\n.......\n.......\n111....\n111....\n.11....",
        ".......\n.......\n11111..\n11111..\n...11..\n...11..\n...11..",
        "1111111\n1111111\n.....11\n.....11\n.....11\n.....11\n.....11",
    ]


def figure_9() -> tuple[RollingPropagate, list[list[Query]]]:
    """b = 2, c = 4, d = 6 and e = 8: four forward queries of R1 and two of R2, twice as wide."""
    rolling = RollingPropagate(TWO, 0)
    times = at(3, 5, 5, 5, 6, 9, 9, 9, 10, 11)
    steps = [(0, 2), (1, 4), (0, 4), (1, 8), (0, 6), (0, 8)]
    return rolling, [list(rolling.iterate(place, upto, times.__next__)) for place, upto in steps]


def test_figure_9_compensation_in_rectangles() -> None:
    rolling, found = figure_9()
    assert [shown(queries) for queries in found] == [
        "R1(0,2] ⋈ R2@3",
        "R1@5 ⋈ R2(0,4] − R1(0,5] ⋈ R2(0,3] − R1(2,5] ⋈ R2(3,4]",
        "R1(2,4] ⋈ R2@6",
        "R1@9 ⋈ R2(4,8] − R1(2,9] ⋈ R2(4,6] − R1(4,9] ⋈ R2(6,8]",
        "R1(4,6] ⋈ R2@10",
        "R1(6,8] ⋈ R2@11",
    ]
    rolling.prune(8)
    assert rolling.t_fwd == [8, 8]
    assert [(each.after, each.upto) for each in rolling.lists[0]] == [(4, 6), (6, 8)]
    assert rolling.lists[1] == []
    assert rolling.t_comp == [4, 8]
    assert rolling.mark == 4
    # Up to the mark, all but V at 0 is counted once. Above it, what later queries of R2 will compensate for.
    assert drawn((query for queries in found for query in queries), 11) == "\n".join(
        [
            "............",
            "............",
            "............",
            "111111111111",
            "111111111111",
            "11111111111.",
            "11111111111.",
            "111111111...",
            "111111111...",
            "111111111...",
            "111111111...",
            ".11111111...",
        ]
    )


def test_the_same_steps_in_the_right_form() -> None:
    """Nothing is left to be compensated for later: R1's queries are cut back to where R2 is forwarded, too."""
    forwarded, found = Forwarded.level(TWO, 0), []
    for place, upto, executed in [(0, 2, 3), (1, 4, 5), (0, 4, 6), (1, 8, 9), (0, 6, 10), (0, 8, 11)]:
        found.append(forwarded.by_presence(place, upto, (executed, executed)))
        forwarded = forwarded.advanced(place, upto)
    assert [shown(query.expanded()) for query in found] == [
        "R1(0,2] ⋈ R2@3 − R1(0,2] ⋈ R2(0,3]",
        "R1@5 ⋈ R2(0,4] − R1(2,5] ⋈ R2(0,4]",
        "R1(2,4] ⋈ R2@6 − R1(2,4] ⋈ R2(4,6]",
        "R1@9 ⋈ R2(4,8] − R1(4,9] ⋈ R2(4,8]",
        "R1(4,6] ⋈ R2@10 − R1(4,6] ⋈ R2(8,10]",
        "R1(6,8] ⋈ R2@11 − R1(6,8] ⋈ R2(8,11]",
    ]
    assert forwarded.mark == 8
    assert drawn((part for query in found for part in query.expanded()), 9) == "\n".join(
        ["..........", *["111111111."] * 8, ".11111111."]
    )
