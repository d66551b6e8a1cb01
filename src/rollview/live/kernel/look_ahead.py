"""Flags, as ``graph/look_ahead.py`` has them: a join tuple is live at a vertex if it is among the first of its list.

A list is *open* if every other part has a neighbour that counts at the vertex value. A part with one side has no list:
its join tuple at a vertex value always is live.
"""

from __future__ import annotations

import numpy as np

from rollview.live.interning import Words
from rollview.live.kernel.lists import is_live, list_lower, list_raise
from rollview.live.kernel.numbers import (
    GLOBAL,
    HEAD,
    LOOK_AHEAD,
    MEMBER,
    MEMBER_LEAF,
    MEMBER_SIDE,
    MEMBER_SLOT,
    MEMBER_WORDS,
    MEMBERS,
    MEMBERS_AT,
    NONE,
    PART_WORDS,
    PARTS,
    SIDE_WORDS,
    SIDES,
    SIDES_AT,
    SLOT,
    VERTEX,
    VERTEX_WORDS,
)


def part_at(part: int) -> int:
    """Where a part is in the plan."""
    return HEAD + part * PART_WORDS


def vertex_at(plan: Words, vertex: int) -> int:
    return HEAD + plan[PARTS] * PART_WORDS + vertex * VERTEX_WORDS


def side_at(plan: Words, part: int, side: int) -> int:
    return plan[part_at(part) + SIDES_AT] + side * SIDE_WORDS


def slot_of(arena: Words, plan: Words, part: int, item: int, side: int) -> int:
    """The slot of a join tuple's part in its vertex value at a side."""
    return arena[item + side] + plan[side_at(plan, part, side) + SLOT]


def counting(arena: Words, plan: Words, slot: int, leaf: int) -> int:
    """How many neighbours count."""
    if leaf:
        return 1 if arena[slot + 1] else 0
    return arena[slot + 2] >> 1 if plan[LOOK_AHEAD] == GLOBAL else arena[slot + 1]


def reachable(arena: Words, plan: Words, vertex: int, value: int, part: int) -> bool:
    """Whether every other part has a neighbour that counts at a vertex value."""
    at = vertex_at(plan, vertex)
    member = plan[at + MEMBERS_AT]
    for _ in range(plan[at + MEMBERS]):
        if plan[member + MEMBER] != part:
            slot = value + plan[member + MEMBER_SLOT]
            if counting(arena, plan, slot, plan[member + MEMBER_LEAF]) == 0:
                return False
        member += MEMBER_WORDS
    return True


def completable(arena: Words, plan: Words, part: int, item: int, side: int) -> bool:
    for other in range(plan[part_at(part) + SIDES]):
        if other != side and not arena[slot_of(arena, plan, part, item, other) + 2] & 1:
            return False
    return True


def enter_flags(arena: Words, plan: Words, part: int, item: int) -> None:
    """Raises what a join tuple makes live that has come into the lists of its vertex values."""
    sides = plan[part_at(part) + SIDES]
    for side in range(sides):
        if plan[LOOK_AHEAD] == NONE or completable(arena, plan, part, item, side):
            list_raise(arena, slot_of(arena, plan, part, item, side), item, sides, side)
    for side in range(sides):
        at = side_at(plan, part, side)
        value = arena[item + side]
        if counting(arena, plan, value + plan[at + SLOT], 0) == 1:
            raise_beyond(arena, plan, plan[at + VERTEX], value, part)


def raise_beyond(arena: Words, plan: Words, vertex: int, value: int, part: int) -> None:
    """A part has its first neighbour at a vertex value: raises what this makes live, on and on."""
    if plan[LOOK_AHEAD] != NONE and can_open(arena, plan, vertex, value, part):
        raise_from(arena, plan, vertex, value, part)


def raise_from(arena: Words, plan: Words, vertex: int, value: int, part: int) -> None:
    waiting = np.empty(48, np.int64)
    waiting[0], waiting[1], waiting[2] = vertex, value, part
    count = 3
    while count:
        count -= 3
        vertex, value, part = waiting[count], waiting[count + 1], waiting[count + 2]
        at = vertex_at(plan, vertex)
        for i in range(plan[at + MEMBERS]):
            member = plan[at + MEMBERS_AT] + i * MEMBER_WORDS
            if opens(arena, plan, vertex, value, part, member):
                waiting, count = opened(arena, plan, value, member, waiting, count)


def can_open(arena: Words, plan: Words, vertex: int, value: int, part: int) -> bool:
    at = vertex_at(plan, vertex)
    for i in range(plan[at + MEMBERS]):
        if opens(arena, plan, vertex, value, part, plan[at + MEMBERS_AT] + i * MEMBER_WORDS):
            return True
    return False


def opens(arena: Words, plan: Words, vertex: int, value: int, part: int, member: int) -> bool:
    """Whether the list of another part can be opened now."""
    other = plan[member + MEMBER]
    if other == part or plan[member + MEMBER_LEAF]:
        return False
    if arena[value + plan[member + MEMBER_SLOT] + 2] & 1:
        return False
    return reachable(arena, plan, vertex, value, other)


def opened(arena: Words, plan: Words, value: int, member: int, waiting: Words, count: int) -> tuple[Words, int]:
    """Opens a list, and raises its join tuples on their other sides; those that are the first there, wait."""
    part, own = plan[member + MEMBER], plan[member + MEMBER_SIDE]
    slot = value + plan[member + MEMBER_SLOT]
    arena[slot + 2] |= 1
    sides = plan[part_at(part) + SIDES]
    for i in range(arena[slot + 1]):
        item = arena[arena[slot] + i]
        for side in range(sides):
            if side == own:
                continue
            beyond = slot_of(arena, plan, part, item, side)
            if is_live(arena, beyond, item, sides, side) or not completable(arena, plan, part, item, side):
                continue
            list_raise(arena, beyond, item, sides, side)
            if plan[LOOK_AHEAD] == GLOBAL and arena[beyond + 2] >> 1 == 1:
                if count + 3 > len(waiting):
                    more = np.empty(2 * len(waiting), np.int64)
                    more[:count] = waiting[:count]
                    waiting = more
                waiting[count], waiting[count + 1] = plan[side_at(plan, part, side) + VERTEX], arena[item + side]
                waiting[count + 2] = part
                count += 3
    return waiting, count


def dead_end(arena: Words, plan: Words, part: int, item: int, side: int) -> bool:
    """A traversal has found no live neighbour beyond a side of a join tuple. Lowers it at all others; whether it was
    so."""
    at = side_at(plan, part, side)
    value = arena[item + side]
    if plan[LOOK_AHEAD] == NONE or reachable(arena, plan, plan[at + VERTEX], value, part):
        return False
    arena[value + plan[at + SLOT] + 2] &= ~1
    sides = plan[part_at(part) + SIDES]
    for other in range(sides):
        if other != side:
            list_lower(arena, slot_of(arena, plan, part, item, other), item, sides, other)
    return True
