"""The projected tuples of a join tuple: a contiguous block, with an index if there are many.

A projected tuple has its fields, how many rows it stands for, and for each sum the number of values and the sum of 128
bits. Two words say where the block is and how many there are. One tuple may lie right behind these two words. The word
before a block says for how many it has room; if for more than eight, the two before that, where the index is and its
size − 1. The index has a half word for each entry: the number of a tuple, plus one.
"""

from __future__ import annotations

from rollview.live.interning import Words
from rollview.live.kernel.memory import give, rounded, take
from rollview.live.kernel.tables import hashed, same

#: So many are searched one by one.
FEW = 8
HALF = 0xFFFFFFFF


def block_room(arena: Words, has: int) -> int:
    """For how many tuples there is room."""
    at = arena[has]
    if at == 0:
        return 0
    return 1 if at == has + 2 else arena[at - 1]


def block_find(arena: Words, has: int, fields: Words, at: int, width: int, stride: int) -> int:
    """The number of the tuple that has some fields; −1 if there is none."""
    base, count = arena[has], arena[has + 1]
    if block_room(arena, has) <= FEW:
        for i in range(count):
            if same(arena, base + i * stride, fields, at, width):
                return i
        return -1
    index, mask = arena[base - 3], arena[base - 2]
    slot = hashed(fields, at, width) & mask
    while True:
        i = index_get(arena, index, slot) - 1
        if i < 0 or same(arena, base + i * stride, fields, at, width):
            return i
        slot = (slot + 1) & mask


def block_wants(arena: Words, has: int, stride: int) -> int:
    """The words that are taken if a tuple is added, at most: those of a larger block, and of its index."""
    count = arena[has + 1]
    if count < block_room(arena, has):
        return 0
    words = 3 * (count + 1) * stride + 8
    return words + 2 * (words // stride) + 32


def block_add(arena: Words, has: int, words: Words, at: int, width: int, stride: int) -> None:
    """Adds a tuple that is not there."""
    count = arena[has + 1]
    if count == block_room(arena, has):
        block_grow(arena, has, width, stride)
    base = arena[has]
    for i in range(stride):
        arena[base + count * stride + i] = words[at + i]
    arena[has + 1] = count + 1
    if block_room(arena, has) > FEW:
        index_put(arena, base, count, width, stride)


def block_grow(arena: Words, has: int, width: int, stride: int) -> None:
    """Takes a larger block."""
    old, count = arena[has], arena[has + 1]
    room = count + 1 if count < 2 else 2 * count if count < 64 else count + count // 2
    header = 1 if room <= FEW else 3
    size = rounded(header + room * stride)
    if room > FEW:
        room = (size - header) // stride
    new = take(arena, size) + header
    arena[new - 1] = room
    for i in range(count * stride):
        arena[new + i] = arena[old + i]
    block_free(arena, has, stride)
    arena[has] = new
    if room > FEW:
        make_index(arena, new, count, width, stride)


def block_free(arena: Words, has: int, stride: int) -> None:
    """Frees the block."""
    at = arena[has]
    if at == 0 or at == has + 2:
        return
    room = arena[at - 1]
    if room <= FEW:
        give(arena, at - 1, rounded(1 + room * stride))
        return
    give(arena, arena[at - 3], (arena[at - 2] + 1) >> 1)
    give(arena, at - 3, rounded(3 + room * stride))


def block_remove(arena: Words, has: int, number: int, width: int, stride: int) -> None:
    """Removes a tuple; the last one takes its place."""
    base, last = arena[has], arena[has + 1] - 1
    indexed = block_room(arena, has) > FEW
    if indexed:
        index_remove(arena, base, number, width, stride)
    if number != last:
        if indexed:
            index_set(arena, arena[base - 3], index_slot(arena, base, last, width, stride), number + 1)
        for i in range(stride):
            arena[base + number * stride + i] = arena[base + last * stride + i]
    arena[has + 1] = last


def index_get(arena: Words, index: int, slot: int) -> int:
    return arena[index + (slot >> 1)] >> ((slot & 1) << 5) & HALF


def index_set(arena: Words, index: int, slot: int, value: int) -> None:
    shift = (slot & 1) << 5
    at = index + (slot >> 1)
    arena[at] = (arena[at] & ~(HALF << shift)) | (value << shift)


def make_index(arena: Words, base: int, count: int, width: int, stride: int) -> None:
    """Makes the index of a block."""
    size = 32
    while size < 2 * arena[base - 1]:
        size *= 2
    index = take(arena, size >> 1)
    for i in range(size >> 1):
        arena[index + i] = 0
    arena[base - 3], arena[base - 2] = index, size - 1
    for i in range(count):
        index_put(arena, base, i, width, stride)


def index_put(arena: Words, base: int, number: int, width: int, stride: int) -> None:
    index, mask = arena[base - 3], arena[base - 2]
    slot = hashed(arena, base + number * stride, width) & mask
    while index_get(arena, index, slot):
        slot = (slot + 1) & mask
    index_set(arena, index, slot, number + 1)


def index_slot(arena: Words, base: int, number: int, width: int, stride: int) -> int:
    """The slot of a tuple that is in the index."""
    index, mask = arena[base - 3], arena[base - 2]
    slot = hashed(arena, base + number * stride, width) & mask
    while index_get(arena, index, slot) != number + 1:
        slot = (slot + 1) & mask
    return slot


def index_remove(arena: Words, base: int, number: int, width: int, stride: int) -> None:
    index, mask = arena[base - 3], arena[base - 2]
    free = index_slot(arena, base, number, width, stride)
    slot = (free + 1) & mask
    while True:
        found = index_get(arena, index, slot)
        if found == 0:
            break
        home = hashed(arena, base + (found - 1) * stride, width) & mask
        if (slot - home) & mask >= (slot - free) & mask:
            index_set(arena, index, free, found)
            free = slot
        slot = (slot + 1) & mask
    index_set(arena, index, free, 0)
