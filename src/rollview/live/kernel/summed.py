"""Weighted tuples added up by a hash table over their rows."""

from __future__ import annotations

import numpy as np

from rollview.live.interning import Words
from rollview.live.kernel.rows import carry
from rollview.live.kernel.tables import MIX, MORE

#: An entry has a row, plus one, and above it some bits of the hash.
ROW_BITS = 32
ROWS = (1 << ROW_BITS) - 1


def row_hashes(columns: Words) -> Words:
    """The hash of each row."""
    found = np.ones(columns.shape[1], np.int64)
    for i in range(columns.shape[0]):
        for row in range(columns.shape[1]):
            mixed = (found[row] ^ columns[i, row]) * MIX
            found[row] = mixed ^ (mixed >> 29)
    for row in range(columns.shape[1]):
        mixed = found[row] * MORE
        found[row] = mixed ^ (mixed >> 32)
    return found


def first_rows(columns: Words) -> Words:
    """For each row, the first one that equals it."""
    count = columns.shape[1]
    hashes = row_hashes(columns)
    size = 16
    while size < 2 * count:
        size *= 2
    table = np.zeros(size, np.int64)
    found = np.empty(count, np.int64)
    for row in range(count):
        slot, tag = hashes[row] & (size - 1), hashes[row] >> ROW_BITS
        found[row] = row
        while table[slot]:
            first = (table[slot] & ROWS) - 1
            if table[slot] >> ROW_BITS == tag and same_rows(columns, first, row):
                found[row] = first
                break
            slot = (slot + 1) & (size - 1)
        if found[row] == row:
            table[slot] = (tag << ROW_BITS) | (row + 1)
    return found


def same_rows(columns: Words, a: int, b: int) -> bool:
    for i in range(columns.shape[0]):  # noqa: SIM110 (a kernel has no generators)
        if columns[i, a] != columns[i, b]:
            return False
    return True


def summed(columns: Words, weights: Words) -> tuple[Words, Words]:
    """The first row of each distinct tuple and the sum of its weights, if that is not zero; those below zero first."""
    first = first_rows(columns)
    sums = weights.copy()
    for row in range(len(first)):
        if first[row] != row:
            sums[first[row]] += sums[row]
            sums[row] = 0
    places, found = np.empty(len(first), np.int64), 0
    for sign in range(-1, 2, 2):
        for row in range(len(first)):
            if sums[row] * sign > 0:
                places[found] = row
                found += 1
    places = places[:found]
    return places, sums[places]


def grouped(columns: Words, weights: Words, sums: Words) -> Words:
    """Adds the weights and sums of all rows to those of the first row of their tuple, which are returned in order."""
    first = first_rows(columns)
    places, found = np.empty(len(first), np.int64), 0
    for row in range(len(first)):
        to = first[row]
        if to == row:
            places[found] = row
            found += 1
            continue
        weights[to] += weights[row]
        for i in range(0, sums.shape[0], 3):
            sums[i, to] += sums[i, row]
            low = sums[i + 1, to] + sums[i + 1, row]
            sums[i + 2, to] += sums[i + 2, row] + carry(sums[i + 1, to], low)
            sums[i + 1, to] = low
    return places[:found]
