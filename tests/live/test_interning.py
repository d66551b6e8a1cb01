"""Strings and binaries as numbers: the compiled table and the plain one; without numba."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

from live_shop import SUMS, opened, sales
from rollview.live.graphs import SlowLiveView
from rollview.live.interning import CompiledTexts, Interner, PlainTexts, Texts
from rollview.live.kernel import build
from seeds import numbers

BOTH = pytest.mark.parametrize("texts", [CompiledTexts, PlainTexts])


@BOTH
def test_equal_values_have_equal_numbers_and_numbers_their_values(texts: type[Texts]) -> None:
    for seed in numbers(5):
        rng = random.Random(seed)
        interner, known = Interner(texts()), dict[bytes, int]()
        for _ in range(20):
            values = [rng.choice([None, "", "ä", "x" * rng.randrange(300), str(rng.randrange(99))]) for _ in range(40)]
            array = pa.array(values, type=pa.string())[rng.randrange(3) :]
            found = interner.numbers(array)
            for value, number in zip(array.to_pylist(), found.tolist(), strict=True):
                assert (value is None) == (number == 0)
                assert value is None or known.setdefault(value.encode(), number) == number
            assert interner.array(found, pa.string()).to_pylist() == array.to_pylist()
            assert interner.array(found, pa.string()).validate(full=True) is None
        assert len(set(known.values())) == len(known) == len(interner)


@BOTH
def test_swept_numbers_are_given_again_and_their_bytes_are_freed(texts: type[Texts]) -> None:
    interner = Interner(texts())
    first = interner.numbers(pa.array([f"value {i}" for i in range(1000)]))
    full = interner.bytes
    kept = first[::10]
    interner.sweep(kept.tolist())
    assert len(interner) == 100
    assert interner.bytes < full
    assert interner.array(kept, pa.string()).to_pylist() == [f"value {i}" for i in range(0, 1000, 10)]
    again = interner.numbers(pa.array([f"value {i}" for i in range(1000)]))
    assert again[::10].tolist() == kept.tolist()
    assert set(again.tolist()) == set(first.tolist())


@BOTH
def test_empty_arrays_binaries_and_nested_values(texts: type[Texts]) -> None:
    interner = Interner(texts())
    assert interner.numbers(pa.array([], type=pa.string())).tolist() == []
    assert interner.array(np.zeros(2, dtype=np.int64), pa.binary()).to_pylist() == [None, None]
    binary = interner.numbers(pa.array([b"\x00", b"", None]))
    assert [interner.value(int(number)) for number in binary[:2]] == [b"\x00", b""]
    nested = pa.array([[1, None], None, [], [1, None]])
    found = interner.numbers(nested)
    assert found[0] == found[3]
    assert not set(found[[0, 2]].tolist()) & set(binary.tolist())
    assert interner.array(found, nested.type).equals(nested)


def test_a_numba_that_cannot_be_imported_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """It often does not fit a new Python or NumPy: then its import fails."""

    def failing(name: str) -> None:
        raise ImportError("Numba needs NumPy 2.2 or less")

    monkeypatch.setattr(build, "import_module", failing)
    build.available.cache_clear()
    try:
        assert not build.available()
        with pytest.warns(SlowLiveView):
            live = opened().live(SUMS)
        live.apply(sales((4, "a", 1, 1)))
        assert live.get(city="Oslo") == [{"city": "Oslo", "total": 18, "n": 3}]
    finally:
        build.available.cache_clear()
