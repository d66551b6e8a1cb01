"""Completed paths, written to the output: a row for each choice of one projected tuple of each part.

The fields of parts are put into the path so far when their join tuple is chosen. If it has several projected tuples,
all are tried in turn; those of the last part are written in one go. The output has a column for each word: of all
fields of all parts, or of what the view shows.
"""

from __future__ import annotations

from rollview.live.interning import Words
from rollview.live.kernel.look_ahead import part_at
from rollview.live.kernel.numbers import (
    BITS,
    BITS_AT,
    COUNT,
    DONE,
    FIELDS,
    HAS,
    INNER,
    MANY,
    NULLS,
    NULLS_OUT,
    OUT_SUMS,
    PAIR_WORDS,
    PARTS,
    PATH,
    PLACE,
    PUSHED,
    SEVERAL,
    SHOWN,
    SHOWN_AT,
    STRIDE,
    SUMS,
    WIDTH,
    ZEROS,
)

#: If there are this many rows or more, columns are written one after the other.
MANY_ROWS = 8


def put_tuple(arena: Words, plan: Words, state: Words, part: int, number: int) -> None:
    """Puts one of the projected tuples of a part into the path."""
    own = part_at(part)
    at = arena[state[HAS + part]] + number * plan[own + STRIDE]
    pair = plan[own + SHOWN_AT]
    for _ in range(plan[own + SHOWN]):
        state[PATH + plan[pair + 1]] = arena[at + plan[pair]]
        pair += PAIR_WORDS
    state[COUNT + part] = arena[at + plan[own + WIDTH]]
    state[ZEROS + part] = zeros(arena, plan, part, at)
    state[PLACE + part] = number


def zeros(arena: Words, plan: Words, part: int, at: int) -> int:
    """The bits for NULL that a projected tuple has in the output."""
    own = part_at(part)
    if plan[own + BITS] == 0:
        return 0
    bits = arena[at + plan[own + NULLS]]
    found = 0
    if bits:
        pair = plan[own + BITS_AT]
        for _ in range(plan[own + BITS]):
            found |= (bits >> plan[pair] & 1) << plan[pair + 1]
            pair += PAIR_WORDS
    return found


def several_found(arena: Words, plan: Words, state: Words, last: int) -> None:
    """Begins to write a path: finds the parts that have several projected tuples."""
    found = 0
    for part in range(plan[PARTS]):
        if part != last and arena[state[HAS + part] + 1] > 1:
            put_tuple(arena, plan, state, part, 0)
            state[MANY + found] = part
            found += 1
    state[SEVERAL] = found
    state[INNER] = 0


def written(arena: Words, plan: Words, state: Words, out: Words, last: int) -> bool:
    """Writes what a path stands for; whether all of it has found room."""
    count = arena[state[HAS + last] + 1]
    while True:
        begin = state[INNER]
        more = min(count - begin, out.shape[1] - state[DONE])
        write_tuples(arena, plan, state, out, last, begin, more)
        state[DONE] += more
        state[INNER] = begin + more
        if begin + more < count:
            return False
        i = state[SEVERAL] - 1
        while i >= 0:
            part = state[MANY + i]
            number = state[PLACE + part] + 1
            if number < arena[state[HAS + part] + 1]:
                put_tuple(arena, plan, state, part, number)
                break
            put_tuple(arena, plan, state, part, 0)
            i -= 1
        if i < 0:
            return True
        state[INNER] = 0


def write_tuples(arena: Words, plan: Words, state: Words, out: Words, last: int, begin: int, count: int) -> None:
    """Writes the path with some of the projected tuples of the last part: row by row if they are few, else one column
    after the other."""
    own = part_at(last)
    width, stride = plan[own + WIDTH], plan[own + STRIDE]
    base, to = arena[state[HAS + last]] + begin * stride, state[DONE]
    weight, bits = 1, 0
    for part in range(plan[PARTS]):
        if part != last:
            weight *= state[COUNT + part]
            bits |= state[ZEROS + part]
    if count < MANY_ROWS and plan[SUMS] == 0:
        for j in range(count):
            if arena[state[HAS + last] + 1] > 1:  # if not, it has been put there
                put_tuple(arena, plan, state, last, begin + j)
            for column in range(plan[FIELDS]):
                out[column, to + j] = state[PATH + column]
            if plan[NULLS_OUT] >= 0:
                out[plan[NULLS_OUT], to + j] = bits | state[ZEROS + last]
            out[plan[FIELDS], to + j] = weight * state[COUNT + last]
        return
    for part in range(plan[PARTS]):
        if part != last:
            pair = plan[part_at(part) + SHOWN_AT]
            for _ in range(plan[part_at(part) + SHOWN]):
                out[plan[pair + 1], to : to + count] = state[PATH + plan[pair + 1]]
                pair += PAIR_WORDS
    pair = plan[own + SHOWN_AT]
    for _ in range(plan[own + SHOWN]):
        write_words(arena, base + plan[pair], stride, 1, out[plan[pair + 1], to : to + count])
        pair += PAIR_WORDS
    write_words(arena, base + width, stride, weight, out[plan[FIELDS], to : to + count])
    if plan[NULLS_OUT] >= 0 and plan[own + BITS]:
        for j in range(count):
            out[plan[NULLS_OUT], to + j] = bits | zeros(arena, plan, last, base + j * stride)
    elif plan[NULLS_OUT] >= 0:
        out[plan[NULLS_OUT], to : to + count] = bits
    if plan[SUMS]:
        for j in range(count):
            put_tuple(arena, plan, state, last, begin + j)
            write_sums(arena, plan, state, out, to + j)


def write_words(arena: Words, at: int, stride: int, factor: int, to: Words) -> None:
    """Writes one word of each of some projected tuples. What is read and written are arrays of their own: their places
    need no test for being below zero."""
    block = arena[at : at + (len(to) - 1) * stride + 1]
    for j in range(len(to)):
        to[j] = factor * block[j * stride]


def write_sums(arena: Words, plan: Words, state: Words, out: Words, to: int) -> None:
    """Writes the sums of a path: each times the counts of the other parts."""
    for part in range(plan[PARTS]):
        own = part_at(part)
        if plan[own + PUSHED] == 0:
            continue
        others = 1
        for other in range(plan[PARTS]):
            if other != part:
                others *= state[COUNT + other]
        at = arena[state[HAS + part]] + state[PLACE + part] * plan[own + STRIDE] + plan[own + WIDTH] + 1
        for i in range(plan[own + PUSHED]):
            row, of = plan[own + OUT_SUMS] + 3 * i, at + 3 * i
            out[row, to] = arena[of] * others
            out[row + 1, to] = arena[of + 1] * others
            out[row + 2, to] = times_high(arena[of + 1], arena[of + 2], others)


def times_high(low: int, high: int, factor: int) -> int:
    """The high word of a number of 128 bits, times a word."""
    a, b = low & 0xFFFFFFFF, low >> 32 & 0xFFFFFFFF
    c, d = factor & 0xFFFFFFFF, factor >> 32 & 0xFFFFFFFF
    middle = (a * c >> 32 & 0xFFFFFFFF) + (b * c & 0xFFFFFFFF) + (a * d & 0xFFFFFFFF)
    found = b * d + (b * c >> 32 & 0xFFFFFFFF) + (a * d >> 32 & 0xFFFFFFFF) + (middle >> 32 & 0xFFFFFFFF)
    found += high * factor
    return found - low if factor < 0 else found
