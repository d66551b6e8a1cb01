"""Which changes a forward query takes in."""

from __future__ import annotations

import random
from collections.abc import Mapping

from rollview.roll.schedule import Backlog, Interval, freely, next_interval
from seeds import numbers

BOUND = 100


def steps(backlogs: Mapping[str, Backlog], bound: int = BOUND) -> list[tuple[Interval, int]]:
    """All intervals until nothing is left, each with the rows of other tables that its query reads besides."""
    forwarded, found = freely(dict.fromkeys(backlogs, 0), backlogs), []
    most = dict.fromkeys(backlogs, bound)
    while (interval := next_interval(forwarded, backlogs, most)) is not None:
        assert forwarded[interval.table] == interval.after == min(forwarded.values())
        ahead = [each.rows(interval.after + 1, forwarded[t]) for t, each in backlogs.items() if t != interval.table]
        found.append((interval, sum(ahead)))
        forwarded = freely({**forwarded, interval.table: interval.upto}, backlogs)
    return found


def backlog(rows: Mapping[int, int], upto: int = 1_000) -> Backlog:
    return Backlog(sorted(rows.items()), upto)


def test_a_quiet_table_is_forwarded_far_by_one_query_and_a_busy_one_needs_many() -> None:
    busy = {position: 10 for position in range(1, 301) if position % 10}
    found = [each for each, _ in steps({"busy": backlog(busy), "quiet": backlog(dict.fromkeys(range(10, 301, 10), 1))})]
    assert [each.table for each in found].count("quiet") == 1
    assert [each.table for each in found].count("busy") == 27


def test_a_commit_of_more_rows_is_cut_and_what_comes_before_it_goes_first() -> None:
    found = steps({"a": backlog({1: 10, 3: 250, 4: 10}), "b": backlog({2: 5, 5: 7})})
    assert [(each.table, each.after, each.upto, each.cut and each.cut.parts) for each, _ in found] == [
        ("a", 0, 1, None),
        ("b", 1, 5, None),
        ("a", 2, 3, 3),
        ("a", 3, 4, None),
    ]


def test_no_query_takes_in_more_rows_nor_more_of_each_table_that_is_ahead() -> None:
    """Whatever the commits are, also those that must be cut."""
    for seed in numbers(200):
        check_bounds(random.Random(seed))


def check_bounds(choose: random.Random) -> None:
    backlogs = {}
    for table in "abcd"[: choose.randint(1, 4)]:
        share, top = choose.random(), choose.choice([5, 40, 120, 400])
        rows = {position: choose.randint(1, top) for position in range(1, 200) if choose.random() < share}
        backlogs[table] = backlog(rows, 200)
    taken = dict.fromkeys(backlogs, 0)
    for interval, compensated in steps(backlogs):
        own = backlogs[interval.table].rows(interval.after, interval.upto)
        parts = 1 if interval.cut is None else interval.cut.parts
        assert -(-own // parts) <= BOUND
        assert compensated <= BOUND * (len(backlogs) - 1)
        taken[interval.table] += own
    assert taken == {table: each.rows(0, 200) for table, each in backlogs.items()}
