"""Definition 4.2 on data: the changes of a timed delta take what the view shows at any position to what it shows at any
later one. Random small tables, on an interpreter of its own, with a present that moves on between queries."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

import seeds
from paper.bags import Bag, Database, Present, Timed, chain, evaluated, random_database, view_at, wrong_at
from paper.compute_delta import propagate
from paper.equations import equation_1
from paper.figure_10 import Corrections, RollingPropagate
from paper.rolling import TRAPS, Step, by_history, by_presence
from rollview.roll.forwarding import Forwarded
from rollview.roll.queries import Query, Time

TABLES = [("R1", "R2"), ("R1", "R2", "R3"), ("R1", "R2", "R3", "R4"), ("R", "R"), ("R1", "R2", "R1")]

#: An algorithm: all queries up to now with the time that they take, and the mark, after each of its steps.
Queries = Iterator[tuple[list[Query], Time, int]]
Algorithm = Callable[[tuple[str, ...], random.Random, Present], Queries]


def in_steps(step: Step) -> Algorithm:
    def run(tables: tuple[str, ...], rng: random.Random, present: Present) -> Queries:
        forwarded = Forwarded.level(tables, 0)
        while forwarded.mark < present.last:
            executed = present.execute()
            place = forwarded.next_place() if rng.random() < 0.5 else rng.randrange(len(tables))
            if forwarded.at[place] == executed:
                continue
            upto = rng.randint(forwarded.at[place] + 1, executed)
            query = step(forwarded, place, upto, (executed,) * len(tables))
            forwarded = forwarded.advanced(place, upto)
            yield query.expanded(), query.time, forwarded.mark

    return run


def in_intervals(tables: tuple[str, ...], rng: random.Random, present: Present) -> Queries:
    """Propagate."""
    mark = 0
    while mark < present.last:
        if present.execute() > mark:
            upto = rng.randint(mark + 1, present.at)
            yield next(propagate(tables, mark, [upto], present.execute)), Time.LEAST, upto
            mark = upto


def at_once(tables: tuple[str, ...], rng: random.Random, present: Present) -> Queries:
    """Equation 1, which must be executed where its interval ends."""
    mark = 0
    while mark < present.last:
        if present.execute() > mark:
            yield list(equation_1(tables, mark, present.at)), Time.LEAST, present.at
            mark = present.at


def figure_10(tables: tuple[str, ...], rng: random.Random, present: Present) -> Queries:
    """With all corrections."""
    rolling = RollingPropagate(tables, 0, Corrections())
    for _ in range(30):
        place = rolling.next_place()
        if present.execute() > rolling.t_fwd[place]:
            upto = rng.randint(rolling.t_fwd[place] + 1, present.at)
            yield list(rolling.iterate(place, upto, present.execute)), Time.LEAST, rolling.mark


def wrong(algorithm: Algorithm, tables: tuple[str, ...], number: int) -> int | None:
    """The first position at which an algorithm breaks the definition on a random history; checked after each step."""
    rng = random.Random(number)
    database = random_database(rng, tables, 7, together=rng.random() < 0.5)
    contents = [view_at(tables, at, database, chain) for at in range(database.last + 1)]
    delta: Timed = Counter()
    for queries, time, mark in algorithm(tables, rng, Present(rng, 1, database.last)):
        delta.update(evaluated(queries, time, database, chain))
        found = wrong_at(delta, 0, mark, contents)
        if found is not None:
            return found
    return None


@pytest.mark.parametrize("tables", TABLES, ids=" ".join)
@pytest.mark.parametrize(
    "algorithm",
    [in_steps(by_history), in_steps(by_presence), in_intervals, at_once],
    ids=["history", "presence", "propagate", "equation 1"],
)
def test_every_algorithm_gives_a_timed_delta(algorithm: Algorithm, tables: tuple[str, ...]) -> None:
    assert {n: at for n in seeds.numbers(6) if (at := wrong(algorithm, tables, n)) is not None} == {}


@pytest.mark.slow
@pytest.mark.parametrize("tables", TABLES, ids=" ".join)
def test_the_right_form_gives_a_timed_delta_on_many_histories(tables: tuple[str, ...]) -> None:
    for step in by_history, by_presence:
        assert {n: at for n in seeds.numbers(500) if (at := wrong(in_steps(step), tables, n)) is not None} == {}


@pytest.mark.parametrize("name", TRAPS)
def test_the_traps_are_found_on_data(name: str) -> None:
    """Two tables suffice, and data find what the points of the time space show."""
    assert any(wrong(in_steps(TRAPS[name]), ("R1", "R2"), number) is not None for number in range(40))


def test_figure_10_is_right_for_two_tables_and_loses_rows_of_three() -> None:
    assert all(wrong(figure_10, ("R1", "R2"), number) is None for number in range(30))
    assert any(wrong(figure_10, ("R1", "R2", "R3"), number) is not None for number in range(300))


def test_a_third_table_that_changes_between_two_forward_queries() -> None:
    """A row comes to a at 1 and to b at 2. After the forward query of a, one comes to c at 3. Wanted: a row at 3.

    Compensating for b's query, Figure 10 takes the row at 3 away, which a's query did not see."""
    came: list[dict[str, Bag]] = [{"a": Counter([(1, 2)])}, {"b": Counter([(2, 3)])}, {"c": Counter([(3, 4)])}]
    tables, database = ("a", "b", "c"), Database({"a": Counter(), "b": Counter(), "c": Counter()}, came)
    contents = [view_at(tables, at, database, chain) for at in range(4)]
    assert contents == [Counter(), Counter(), Counter(), Counter([(1, 4)])]
    schedule = [(0, 2, 2), (1, 2, 3), (2, 3, 3), (0, 3, 3), (1, 3, 3)]

    rolling, delta = RollingPropagate(tables, 0), Counter[tuple[int, tuple[int | None, ...]]]()
    for place, upto, executed in schedule:
        queries = rolling.iterate(place, upto, lambda at=executed: at)  # type: ignore[misc]
        delta.update(evaluated(queries, Time.LEAST, database, chain))
    rolling.prune(3)
    assert rolling.mark == 3
    assert {key: count for key, count in delta.items() if count} == {(1, (1, 4)): -1, (3, (1, 4)): 1}
    assert wrong_at(delta, 0, 3, contents) == 1

    for step in by_history, by_presence:
        forwarded, delta = Forwarded.level(tables, 0), Counter()
        for place, upto, executed in schedule:
            query = step(forwarded, place, upto, (executed,) * 3)
            forwarded = forwarded.advanced(place, upto)
            delta.update(evaluated(query.expanded(), query.time, database, chain))
            assert wrong_at(delta, 0, forwarded.mark, contents) is None
        assert forwarded.mark == 3
        assert {key: count for key, count in delta.items() if count} == {(3, (1, 4)): 1}
