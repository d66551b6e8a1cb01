"""The order of the commits that one look sees first."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from rollview.clock.order import Sighted, units_of
from rollview.store.protocol import TRANSACTION, Commit
from scripted import second


def ordered(**tables: Sequence[tuple[float, str | None] | float]) -> list[str]:
    """The units of tables whose commits are times, or times with a transaction: ``a0 b1`` is one unit."""
    sighted = {}
    for table, told in tables.items():
        pairs = [each if isinstance(each, tuple) else (each, None) for each in told]
        sighted[table] = [
            Sighted(table, f"id-{table}", Commit(v, second(at), {} if name is None else {TRANSACTION: name}))
            for v, (at, name) in enumerate(pairs)
        ]
    return [" ".join(f"{each.table}{each.commit.version}" for each in unit) for unit in units_of(sighted)]


def test_commits_are_ordered_by_time_then_table_then_version() -> None:
    assert ordered(b=[1, 3], a=[2, 4]) == ["b0", "a0", "b1", "a1"]
    assert ordered(b=[1, 1], a=[1, 1, 2]) == ["a0", "a1", "b0", "b1", "a2"]
    assert ordered() == []
    assert ordered(a=[]) == []


def test_commits_of_a_table_keep_the_order_of_their_versions_whatever_their_times() -> None:
    assert ordered(a=[9, 1], b=[5]) == ["b0", "a0", "a1"]


def test_commits_of_a_transaction_are_one_unit() -> None:
    assert ordered(a=[1, (2, "x")], b=[(3, "x")], c=[2.5]) == ["a0", "a1 b0", "c0"]


def test_what_the_tables_of_a_transaction_committed_earlier_comes_before_it() -> None:
    assert ordered(a=[(1, "x")], b=[4, (5, "x"), 6]) == ["b0", "a0 b1", "b2"]
    assert ordered(a=[(1, "x")], b=[(2, "y"), (5, "x")], c=[3, (4, "y")]) == ["c0", "b0 c1", "a0 b1"]


def test_a_transaction_that_commits_twice_to_a_table_is_one_unit() -> None:
    assert ordered(a=[(1, "x"), (2, "x")], b=[(2, "x")]) == ["a0 a1 b0"]


def test_transactions_that_need_each_other_first_still_have_an_order() -> None:
    found = ordered(a=[(1, "x"), (2, "y")], b=[(1, "y"), (2, "x")])
    assert sorted(" ".join(found).split()) == ["a0", "a1", "b0", "b1"]
    assert len(found) < 4


@pytest.mark.parametrize("size", [2, 300])
def test_many_transactions_of_two_tables_in_opposite_orders_end(size: int) -> None:
    names = [f"t{i}" for i in range(size)]
    found = ordered(a=[(i, name) for i, name in enumerate(names)], b=[(i, n) for i, n in enumerate(reversed(names))])
    assert sorted(" ".join(found).split()) == sorted(f"{t}{i}" for t in "ab" for i in range(size))
