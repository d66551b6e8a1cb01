"""Weighted tuples of words → each distinct tuple once, with the sum of its weights, none of weight zero."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rollview.live.interning import Words
from rollview.live.kernel.build import available, kernel


def consolidated(tuples: Words, weights: Words, key: Sequence[int] | None = None) -> tuple[Words, Words]:
    """The deleted rows come first; if the words of a key are named, only those of the same key: then rows of the same
    key are side by side."""
    if not len(weights):
        return tuples, weights
    if not tuples.shape[1]:
        total = int(weights.sum())
        return tuples[: int(total != 0)], np.array([total] if total else [], dtype=np.int64)
    if len(weights) == 1:
        return (tuples, weights) if weights[0] else (tuples[:0], weights[:0])
    rows, sums = _added_up(tuples, weights) if available() else _sorted(tuples, weights)
    if key is None and available():
        return rows, sums
    by = [] if key is None else [rows[:, at] for at in reversed(key)]
    signs = np.lexsort([sums > 0, *by])
    return rows[signs], sums[signs]


def _added_up(tuples: Words, weights: Words) -> tuple[Words, Words]:
    """Each distinct tuple with the sum of its weights, if that is not zero; those below zero first."""
    columns = np.ascontiguousarray(tuples.T)
    places, sums = kernel().summed(columns, np.ascontiguousarray(weights))
    if len(places) == len(weights) and (len(places) < 2 or bool((places[1:] > places[:-1]).all())):
        return tuples, sums
    return columns[:, places].T, sums


def _sorted(tuples: Words, weights: Words) -> tuple[Words, Words]:
    """The same without compiled functions: in the order of the tuples."""
    order = np.lexsort(tuples.T[::-1])
    rows, counts = tuples[order], weights[order]
    first = np.concatenate([[True], (rows[1:] != rows[:-1]).any(axis=1)])
    sums = np.add.reduceat(counts, np.flatnonzero(first))
    rows, kept = rows[first], sums != 0
    return rows[kept], sums[kept]
