"""Adding up weighted rows, in memory and in files."""

from __future__ import annotations

import random
import resource
from collections import Counter

import numpy as np
import pytest

from rollview.live.net import Net
from seeds import numbers


@pytest.mark.parametrize("most", [10, 1_000_000])
@pytest.mark.parametrize("key", [None, (0,)])
def test_rows_are_added_up_within_bounded_memory(most: int, key: tuple[int, ...] | None) -> None:
    rng = random.Random(numbers(1)[0])
    net, expected = Net(2, most, key), Counter[tuple[int, int]]()
    for _ in range(30):
        rows = [(rng.randrange(-50, 50), rng.randrange(2)) for _ in range(rng.randrange(9))]
        weights = [rng.choice([-1, 1, 2]) for _ in rows]
        net.add(np.array(rows, dtype=np.int64).reshape(-1, 2), np.array(weights, dtype=np.int64))
        for row, weight in zip(rows, weights, strict=True):
            expected[row] += weight
    change = net.done()
    assert change.in_memory == (most > 10)
    found = Counter[tuple[int, int]]()
    for rows_, weights_ in change.pieces(3):
        assert len(weights_) <= 3 + (key is not None)
        for row, weight in zip(map(tuple, rows_.tolist()), weights_.tolist(), strict=True):
            assert weight
            assert row not in found
            found[row] = weight
    assert found == {row: weight for row, weight in expected.items() if weight}
    assert len(change) == len(found)


def test_deleted_rows_come_before_inserted_ones_of_the_same_key() -> None:
    net = Net(2, 100, (0,))
    net.add(np.array([[2, 1], [1, 9], [2, 0], [1, 8]]), np.array([1, -1, -1, 1]))
    pieces = [(rows.tolist(), weights.tolist()) for rows, weights in net.done().pieces(1)]
    assert pieces == [([[1, 9], [1, 8]], [-1, 1]), ([[2, 0], [2, 1]], [-1, 1])]


def test_many_large_changes_need_a_file_each() -> None:
    """One file for each part of each change would be more than a process may open."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(256, limit[1]), limit[1]))
    try:
        nets = [Net(1, 10) for _ in range(100)]
        for number, net in enumerate(nets):
            for begin in (0, 50):
                net.add(np.arange(begin, begin + 50).reshape(-1, 1), np.full(50, number + 1))
        for number, net in enumerate(nets):
            change = net.done()
            assert not change.in_memory
            assert sorted(change.rows[:, 0].tolist()) == list(range(100))
            assert set(change.weights.tolist()) == {number + 1}
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limit)
