"""Weighted tuples added up by hashing are those added up one by one."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np

from rollview.live.graph.protocol import joined, split
from rollview.live.kernel.build import kernel
from seeds import numbers


def test_distinct_tuples_with_the_sums_of_their_weights() -> None:
    for seed in numbers(20):
        rng = random.Random(seed)
        rows = [(rng.choice([0, 1, -(2**63)]), rng.randrange(3)) for _ in range(rng.randrange(60))]
        weights = [rng.choice([-1, 1, 2]) for _ in rows]
        columns = np.array(rows, dtype=np.int64).reshape(-1, 2).T.copy()
        places, sums = kernel().summed(columns, np.array(weights, dtype=np.int64))
        expected = Counter[tuple[int, int]]()
        for row, weight in zip(rows, weights, strict=True):
            expected[row] += weight
        found = [tuple(column) for column in columns[:, places].T.tolist()]
        assert dict(zip(found, sums.tolist(), strict=True)) == {row: n for row, n in expected.items() if n}
        assert sorted(sums > 0) == (sums > 0).tolist(), "deleted rows come first"


def test_groups_with_sums_of_128_bits() -> None:
    rng = random.Random(numbers(1)[0])
    keys = [rng.randrange(4) for _ in range(50)]
    values = [rng.choice([-1, 1, 2**64, -(2**64) - 5, 2**63, 2**126]) >> rng.randrange(2) for _ in keys]
    sums = np.array([[1, *split(value)] for value in values], dtype=np.int64).T.copy()
    weights = np.ones(len(keys), dtype=np.int64)
    places = kernel().grouped(np.array([keys], dtype=np.int64), weights, sums)
    found = {keys[at]: (int(weights[at]), joined(*map(int, sums[1:, at]))) for at in places}
    wrapped = {
        key: (keys.count(key), sum(v for k, v in zip(keys, values, strict=True) if k == key)) for key in set(keys)
    }
    assert found == {
        key: (count, joined(*split((total + 2**127) % 2**128 - 2**127))) for key, (count, total) in wrapped.items()
    }
