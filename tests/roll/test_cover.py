"""The cover law, without data: of each point of the time space up to the mark, the queries that cover it add up to one,
and their times to its greatest coordinate. It is checked for every schedule of steps over two to four tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement, product

import pytest

from paper.compute_delta import Execute, Unexecuted, compute_delta, propagate
from paper.cover import Counts, added, counts, wrong
from paper.equations import equation_1, equation_2
from paper.figure_10 import AS_PRINTED, Corrections, RollingPropagate
from paper.rolling import LATE, TRAPS, Step, by_history, by_presence, every_schedule, names
from rollview.roll.forwarding import Forwarded
from rollview.roll.queries import Time, shown


@pytest.mark.parametrize("step", [by_history, by_presence])
@pytest.mark.parametrize(("tables", "last"), [(2, 5), (3, 4), (4, 2)])
@pytest.mark.one_in(3)
def test_every_schedule_covers_each_point_once(step: Step, tables: int, last: int) -> None:
    """Also after every single step, not only where all tables stand level."""
    ends = 0
    for forwarded, found in every_schedule(tables, last, step):
        assert not wrong(found, tables, forwarded.mark, last), forwarded.at
        ends += forwarded.mark == last
    assert ends


@pytest.mark.parametrize("name", TRAPS)
def test_no_correction_of_the_right_form_can_be_left_out(name: str) -> None:
    """Two tables show all of them."""
    assert any(wrong(found, 2, forwarded.mark, 3) for forwarded, found in every_schedule(2, 3, TRAPS[name]))


@pytest.mark.parametrize("step", [by_history, by_presence])
def test_a_commit_may_be_cut_into_parts(step: Step) -> None:
    """Both halves of a commit have its time: 1 and 2 are the commit 1, 3 and 4 the commit 2. The mark passes a commit
    with its last part."""
    for forwarded, found in every_schedule(3, 4, step):
        at: dict[tuple[int, ...], Counter[int]] = {point: Counter() for point in product(range(5), repeat=3)}
        for (point, time), count in found.items():
            at[point][(time + 1) // 2] += count
        mark = forwarded.mark // 2
        for point, times in at.items():
            commit = (max(point) + 1) // 2
            kept = {time: count for time, count in times.items() if count and time <= mark}
            assert kept == ({commit: 1} if 0 < commit <= mark else {})


def test_the_way_may_change_where_all_tables_stand_level() -> None:
    """Forward all by history to 1 or 2, in any order, then all by presence to 3. Not level, it is one of the traps."""
    for level in 1, 2:
        for order in (0, 1, 2), (2, 0, 1):
            forwarded, found = Forwarded.level(names(3), 0), Counts()
            for way, upto in (by_history, level), (by_presence, 3):
                for place in order:
                    query = way(forwarded, place, upto, (3, 3, 3))
                    found = added(found, counts(query.expanded(), 3, query.time))
                    forwarded = forwarded.advanced(place, upto)
            assert not wrong(found, 3, 3, 3)


def test_tables_may_be_read_at_several_moments_if_the_changes_end_no_later_than_the_oldest() -> None:
    for forwarded, found in every_schedule(3, 3, by_presence, apart=True):
        assert not wrong(found, 3, forwarded.mark, 3), forwarded.at
    late = every_schedule(3, 3, LATE, apart=True, late=True)
    assert any(wrong(found, 3, forwarded.mark, 3) for forwarded, found in late)


def test_equation_1_is_timed_and_equation_2_only_right_for_its_whole_interval() -> None:
    for tables in 2, 3, 4:
        assert not wrong(counts(equation_1(names(tables), 0, 2), 2), tables, 2, 2)
        for time in Time:
            inside = counts(equation_2(names(tables), 0, 2), 2, time)
            whole = Counter[tuple[int, ...]]()
            for (point, _), count in inside.items():
                whole[point] += count
            assert whole == {point: 1 for point in product(range(3), repeat=tables) if max(point)}
            assert wrong(inside, tables, 2, 2)


def moving(last: int, queries: int) -> Iterator[Execute]:
    """Every way in which the tables can move on from 1 to ``last`` between this many queries."""
    for moves in combinations_with_replacement(range(queries), last - 1):
        number = iter(range(queries))

        def execute(moves: Sequence[int] = moves, number: Iterator[int] = number) -> int:
            now = next(number)
            return 1 + sum(move <= now for move in moves)

        yield execute


@pytest.mark.parametrize(("tables", "last", "queries"), [(2, 4, 4), (3, 3, 15), (4, 2, 64)])
def test_compute_delta_is_right_however_the_tables_move_between_its_queries(
    tables: int, last: int, queries: int
) -> None:
    ran = 0
    for execute in moving(last, queries):
        found = list(compute_delta(Unexecuted(names(tables)), [0] * tables, 1, execute))
        assert not wrong(counts(found, last), tables, 1, last), shown(found)
        ran += 1
    assert ran >= 20


def test_propagate_is_right_after_each_interval() -> None:
    for execute in moving(4, 8):
        found = Counts()
        for end, queries in zip((1, 2), propagate(names(2), 0, (1, 2), lambda: 1 + execute()), strict=True):  # noqa: B023
            found = added(found, counts(queries, 5))
            assert not wrong(found, 2, end, 4)


def figure_10(tables: int, corrections: Corrections, last: int, widths: Sequence[int]) -> Iterator[tuple[int, Counts]]:
    """Some iterations while the tables move on by one position after every other query. The mark and what is counted."""
    queries = 0

    def execute() -> int:
        nonlocal queries
        queries += 1
        return min(last, 2 + queries // 2)

    rolling, found = RollingPropagate(names(tables), 0, corrections), Counts()
    for width in widths:
        place = rolling.next_place()
        upto = min(rolling.t_fwd[place] + width, 2 + (queries + 1) // 2)
        if upto <= rolling.t_fwd[place]:
            break
        found = added(found, counts(rolling.iterate(place, upto, execute), last))
        yield rolling.mark, found


def fails(tables: int, corrections: Corrections) -> bool:
    """Whether Figure 10 is wrong up to its mark with any widths of intervals, or its mark never moves."""
    marks = []
    for widths in product((1, 2, 3), repeat=5):
        for mark, found in figure_10(tables, corrections, 6, widths):
            if wrong(found, tables, mark, 6):
                return True
            marks.append(mark)
    return max(marks) == 0


def test_figure_10_needs_all_corrections_for_two_tables_and_they_do_not_suffice_for_three() -> None:
    assert not fails(2, Corrections())
    assert fails(2, AS_PRINTED)
    assert fails(2, Corrections(advanced=False))
    assert fails(2, Corrections(negated=False))
    assert fails(2, Corrections(unlisted=False))
    assert fails(3, Corrections())


def test_as_printed_figure_10_gets_nowhere() -> None:
    """The first table stays the one with the smallest t_fwd, and is chosen for ever."""
    rolling = RollingPropagate(names(2), 0, AS_PRINTED)
    for _ in range(5):
        assert rolling.next_place() == 0
        assert shown(rolling.iterate(0, 2, lambda: 9)) == "R1(0,2] ⋈ R2@9"
    assert rolling.mark == 0
