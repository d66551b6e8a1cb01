"""The neighbours of a vertex value that are of one part: a contiguous list of join tuples, the live ones first.

A slot in the vertex value has where the list is, how many it has, and twice the number of live ones, plus 1 if it is
open (see ``look_ahead.py``). The word before a list says for how many it has room. A join tuple has its place in each
list, after its vertex values.
"""

from __future__ import annotations

from rollview.live.interning import Words
from rollview.live.kernel.memory import give, rounded, take


def list_wants(arena: Words, slot: int) -> int:
    """The words that are taken if one is added, at most."""
    at, count = arena[slot], arena[slot + 1]
    return 3 * count + 5 if at == 0 or count == arena[at - 1] else 0


def list_add(arena: Words, slot: int, item: int, place: int) -> None:
    """Adds a join tuple, which is not live. ``place`` is where it has its place in this list."""
    at, count = arena[slot], arena[slot + 1]
    if at == 0 or count == arena[at - 1]:
        size = rounded(2 * count + 2)
        new = take(arena, size)
        arena[new] = size - 1
        for i in range(count):
            arena[new + 1 + i] = arena[at + i]
        if at:
            give(arena, at - 1, arena[at - 1] + 1)
        at = new + 1
        arena[slot] = at
    arena[at + count] = item
    arena[place] = count
    arena[slot + 1] = count + 1


def list_remove(arena: Words, slot: int, item: int, sides: int, side: int) -> None:
    list_lower(arena, slot, item, sides, side)
    last = arena[slot + 1] - 1
    list_swap(arena, slot, arena[item + sides + side], last, sides + side)
    arena[slot + 1] = last
    if last == 0:
        give(arena, arena[slot] - 1, arena[arena[slot] - 1] + 1)
        arena[slot] = 0


def list_swap(arena: Words, slot: int, a: int, b: int, place: int) -> None:
    at = arena[slot]
    one, other = arena[at + a], arena[at + b]
    arena[at + a], arena[at + b] = other, one
    arena[one + place], arena[other + place] = b, a


def is_live(arena: Words, slot: int, item: int, sides: int, side: int) -> bool:
    return arena[item + sides + side] < arena[slot + 2] >> 1


def list_raise(arena: Words, slot: int, item: int, sides: int, side: int) -> None:
    """Makes a join tuple live that is not."""
    list_swap(arena, slot, arena[item + sides + side], arena[slot + 2] >> 1, sides + side)
    arena[slot + 2] += 2


def list_lower(arena: Words, slot: int, item: int, sides: int, side: int) -> None:
    """Makes a join tuple not live, if it is."""
    if is_live(arena, slot, item, sides, side):
        arena[slot + 2] -= 2
        list_swap(arena, slot, arena[item + sides + side], arena[slot + 2] >> 1, sides + side)
