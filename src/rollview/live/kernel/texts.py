"""Strings and binaries as numbers: their bytes lie one after the other, and a hash table finds them.

``spans`` has of each number where its bytes begin, and how many there are. A number that is free has −1 as length, and
the next free one in place of the beginning. An entry of the table has a number, and above it some bits of the hash.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rollview.live.interning import Bytes, Words
from rollview.live.kernel.tables import MIX, MORE

#: How many bytes there are, the next number, the first free one, how many numbers are in use.
TEXT_END, TEXT_NEXT, TEXT_FREE, TEXT_COUNT = 0, 1, 2, 3
NUMBER_BITS = 32
NUMBERS = (1 << NUMBER_BITS) - 1


def text_hash(text: Bytes, at: int, length: int) -> int:
    found = length + 1
    for i in range(length):
        found = (found ^ text[at + i]) * MIX
        found ^= found >> 29
    found *= MORE
    return found ^ (found >> 32)


def same_text(text: Bytes, at: int, data: Bytes, there: int, length: int) -> bool:
    for i in range(length):  # noqa: SIM110 (a kernel has no generators)
        if text[at + i] != data[there + i]:
            return False
    return True


def text_number(text: Bytes, spans: Words, table: Words, data: Bytes, at: int, length: int, hash_: int) -> int:
    """The number of a text; 0 if it has none."""
    slot, tag = hash_ & (len(table) - 1), hash_ >> NUMBER_BITS
    while table[slot]:
        number = table[slot] & NUMBERS
        alike = table[slot] >> NUMBER_BITS == tag and spans[2 * number + 1] == length
        if alike and same_text(text, spans[2 * number], data, at, length):
            return number
        slot = (slot + 1) & (len(table) - 1)
    return 0


def text_put(table: Words, number: int, hash_: int) -> None:
    slot = hash_ & (len(table) - 1)
    while table[slot]:
        slot = (slot + 1) & (len(table) - 1)
    table[slot] = (hash_ >> NUMBER_BITS << NUMBER_BITS) | number


def text_table(meta: Words, text: Bytes, spans: Words, size: int) -> Words:
    """A table of all texts."""
    table = np.zeros(size, np.int64)
    for number in range(1, meta[TEXT_NEXT]):
        if spans[2 * number + 1] >= 0:
            text_put(table, number, text_hash(text, spans[2 * number], spans[2 * number + 1]))
    return table


def text_added(meta: Words, text: Bytes, spans: Words, data: Bytes, at: int, length: int) -> tuple[Bytes, Words, int]:
    """Gives a number to a text that has none."""
    end, number = meta[TEXT_END], meta[TEXT_FREE]
    if end + length > len(text):
        more = np.empty(2 * len(text) + length, np.uint8)
        more[:end] = text[:end]
        text = more
    if number:
        meta[TEXT_FREE] = spans[2 * number]
    else:
        number = meta[TEXT_NEXT]
        meta[TEXT_NEXT] += 1
        if 2 * number + 1 >= len(spans):
            longer = np.empty(2 * len(spans), np.int64)
            longer[: len(spans)] = spans
            spans = longer
    for i in range(length):
        text[end + i] = data[at + i]
    spans[2 * number], spans[2 * number + 1] = end, length
    meta[TEXT_END] = end + length
    meta[TEXT_COUNT] += 1
    return text, spans, number


def interned(
    meta: Words, text: Bytes, spans: Words, table: Words, data: Bytes, offsets: Words, known: Bytes, out: Words
) -> tuple[Bytes, Words, Words]:
    """The numbers of texts, 0 for those that are not known; ``known`` may be empty if all are."""
    for row in range(len(out)):
        out[row] = 0
        if len(known) and known[row] == 0:
            continue
        at, length = offsets[row], offsets[row + 1] - offsets[row]
        hash_ = text_hash(data, at, length)
        number = text_number(text, spans, table, data, at, length, hash_)
        if number == 0:
            text, spans, number = text_added(meta, text, spans, data, at, length)
            if meta[TEXT_COUNT] * 8 > len(table) * 5:
                table = text_table(meta, text, spans, 2 * len(table))
            else:
                text_put(table, number, hash_)
        out[row] = number
    return text, spans, table


def swept(meta: Words, text: Bytes, spans: Words, used: Bytes, size: int) -> tuple[Bytes, Words]:
    """The bytes and the table without numbers that are not used; these are free now."""
    total = 0
    for number in range(1, meta[TEXT_NEXT]):
        if spans[2 * number + 1] >= 0:
            if used[number]:
                total += spans[2 * number + 1]
            else:
                spans[2 * number], spans[2 * number + 1] = meta[TEXT_FREE], -1
                meta[TEXT_FREE] = number
                meta[TEXT_COUNT] -= 1
    left, end = np.empty(total + 64, np.uint8), 0
    for number in range(1, meta[TEXT_NEXT]):
        length = spans[2 * number + 1]
        if length >= 0:
            for i in range(length):
                left[end + i] = text[spans[2 * number] + i]
            spans[2 * number] = end
            end += length
    meta[TEXT_END] = end
    while size > 64 and meta[TEXT_COUNT] * 4 < size:
        size >>= 1
    return left, text_table(meta, left, spans, size)


def gathered(text: Bytes, spans: Words, numbers: Words, offsets: npt.NDArray[np.int32]) -> Bytes:
    """The bytes of the texts that have some numbers, one after the other; where each begins is put into ``offsets``."""
    total = 0
    for row in range(len(numbers)):
        offsets[row] = total
        if numbers[row]:
            total += spans[2 * numbers[row] + 1]
    offsets[len(numbers)] = total
    out, end = np.empty(total, np.uint8), 0
    for row in range(len(numbers)):
        if numbers[row]:
            at = spans[2 * numbers[row]]
            for i in range(spans[2 * numbers[row] + 1]):
                out[end] = text[at + i]
                end += 1
    return out
