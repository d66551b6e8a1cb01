"""The arena: one array of words. Pieces of it are named by where they begin; 0 is none.

Freed pieces of a size are used again for that size. Small ones are also cut from large ones that were freed.

No function that changes the arena makes a larger one: before a row is applied it is known how many words that takes at
most, and if fewer are free, the caller first makes the arena larger. So the array never has to be handed back,
and the functions count no references to it, which took most of their time.
"""

from __future__ import annotations

import numpy as np

from rollview.live.interning import Words
from rollview.live.kernel.numbers import CHUNK, FREE, FROM, LARGE, SMALL, TOP, UNTIL


def large_class(words: int) -> int:
    """The number of the size class of a large piece."""
    size, found = 96, SMALL + 1
    while size < words:
        size += size // 3 if found % 2 else size // 2
        found += 1
    return found


def large_size(number: int) -> int:
    size = 96
    for each in range(SMALL + 1, number):
        size += size // 3 if each % 2 else size // 2
    return size


def rounded(words: int) -> int:
    """The size of the piece that is taken for this number of words."""
    return words if words <= SMALL else large_size(large_class(words))


def has_room(arena: Words, words: int) -> bool:
    """Whether this many words are free at the end of the arena."""
    return arena[TOP] + words <= len(arena)


def grown(arena: Words, words: int) -> Words:
    """A larger arena that has this many free words at its end."""
    top, size = arena[TOP], len(arena)
    more = size if size < 1 << 24 else size // 2
    new = np.empty(max(size + more, top + words), np.int64)
    new[:top] = arena[:top]
    return new


def refill(arena: Words) -> None:
    """Makes room for a small piece in the range from which small ones are taken."""
    left = arena[UNTIL] - arena[FROM]
    if left > 0:
        give(arena, arena[FROM], left)
    for number in range(SMALL + LARGE, SMALL + 3, -1):
        at = arena[FREE + number]
        if at:
            arena[FREE + number] = arena[at]
            arena[FROM] = at
            arena[UNTIL] = at + large_size(number)
            return
    arena[FROM] = fresh(arena, 512 if arena[TOP] < 1 << 16 else CHUNK)
    arena[UNTIL] = arena[TOP]


def fresh(arena: Words, words: int) -> int:
    """A piece that was never used."""
    at = arena[TOP]
    if at + words > len(arena):
        raise MemoryError("more words of the arena are taken than were asked for before the row was applied")
    arena[TOP] = at + words
    return at


def take(arena: Words, words: int) -> int:
    """A piece of this many words; its content is undefined."""
    if words <= SMALL:
        at = arena[FREE + words]
        if at:
            arena[FREE + words] = arena[at]
            return at
        if arena[FROM] + words > arena[UNTIL]:
            refill(arena)
        at = arena[FROM]
        arena[FROM] = at + words
        return at
    number = large_class(words)
    at = arena[FREE + number]
    if at:
        arena[FREE + number] = arena[at]
        return at
    return fresh(arena, large_size(number))


def give(arena: Words, at: int, words: int) -> None:
    """Frees a piece that was taken with this number of words."""
    number = words if words <= SMALL else large_class(words)
    arena[at] = arena[FREE + number]
    arena[FREE + number] = at
