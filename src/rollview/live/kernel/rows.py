"""Changed rows of a part in the graph: vertex values, join tuples and projected tuples that come and go."""

from __future__ import annotations

from rollview.live.interning import Words
from rollview.live.kernel.lists import list_add, list_remove, list_wants
from rollview.live.kernel.look_ahead import enter_flags, part_at, raise_beyond, side_at, slot_of, vertex_at
from rollview.live.kernel.memory import give, take
from rollview.live.kernel.numbers import (
    IN_FIELDS,
    IN_KEY,
    IN_WIDTH,
    JOIN_TUPLES,
    KEY,
    LEAF,
    LOOKED,
    MEMBER_SLOT,
    MEMBER_WORDS,
    MEMBERS,
    MEMBERS_AT,
    PROJECTED,
    PUSHED,
    ROOM,
    SIDES,
    SLOT,
    STRIDE,
    TABLE,
    TUPLE,
    VALUE,
    VALUE_TABLE,
    VALUES,
    VERTEX,
    VERTEX_VALUES,
    WIDTH,
)
from rollview.live.kernel.projected import block_add, block_find, block_free, block_remove, block_wants
from rollview.live.kernel.tables import PLACES, enter_record, found_record, hashed, leave_record, table_wants


def warmed(arena: Words, plan: Words, state: Words, part: int, rows: Words, first: int, end: int) -> int:
    """Looks at the vertex values of some rows and at their lists, so that the processor fetches many at the same time.
    What is returned is of no use, but without it nothing would be fetched."""
    own = part_at(part)
    wide, found = plan[own + IN_WIDTH], 0
    for side in range(plan[own + SIDES]):
        at = side_at(plan, part, side)
        vertex = vertex_at(plan, plan[at + VERTEX])
        table, key, slot = plan[vertex + VALUE_TABLE], plan[vertex + KEY], plan[at + SLOT]
        base, mask = arena[table], arena[table + 1]
        for row in range(first, end):
            place = base + (hashed(rows, row * wide + plan[at + IN_KEY], key) & mask)
            state[LOOKED + row - first] = place
            found ^= arena[place]
        for row in range(first, end):
            value = arena[state[LOOKED + row - first]] & PLACES
            if value:
                state[LOOKED + row - first] = value + slot
                found ^= arena[value + slot]
            else:
                state[LOOKED + row - first] = 0
        for row in range(first, end):
            value = state[LOOKED + row - first]
            if value and arena[value]:
                found ^= arena[arena[value] - 1]
    return found


def values_found(arena: Words, plan: Words, state: Words, part: int, rows: Words, at: int) -> bool:
    """Looks up the vertex values of a row; whether all are there."""
    there = True
    for side in range(plan[part_at(part) + SIDES]):
        own = side_at(plan, part, side)
        vertex = vertex_at(plan, plan[own + VERTEX])
        value = found_record(arena, plan[vertex + VALUE_TABLE], rows, at + plan[own + IN_KEY], plan[vertex + KEY])
        state[VALUES + side] = value
        if value == 0:
            there = False
    return there


def row_wants(arena: Words, plan: Words, state: Words, part: int, item: int) -> int:
    """The words that a row takes at most whose vertex values and join tuple were looked up."""
    own = part_at(part)
    found, leaf = plan[own + ROOM], plan[own + LEAF]
    for side in range(plan[own + SIDES]):
        at, value = side_at(plan, part, side), state[VALUES + side]
        if value == 0:
            found += table_wants(arena, plan[vertex_at(plan, plan[at + VERTEX]) + VALUE_TABLE])
        elif item == 0 and not leaf:
            found += list_wants(arena, value + plan[at + SLOT])
    if leaf:
        item = state[VALUES]
    elif item == 0:
        found += table_wants(arena, plan[own + TABLE])
    return found + block_wants(arena, blocks_of(plan, part, item), plan[own + STRIDE]) if item else found


def make_values(arena: Words, plan: Words, state: Words, part: int, rows: Words, at: int) -> None:
    """Makes those vertex values of a row that are not there."""
    for side in range(plan[part_at(part) + SIDES]):
        if state[VALUES + side]:
            continue
        own = side_at(plan, part, side)
        vertex = vertex_at(plan, plan[own + VERTEX])
        size, key = plan[vertex + VALUE], plan[vertex + KEY]
        value = take(arena, size)
        for i in range(key):
            arena[value + i] = rows[at + plan[own + IN_KEY] + i]
        for i in range(key, size):
            arena[value + i] = 0
        enter_record(arena, plan[vertex + VALUE_TABLE], value, key)
        arena[VERTEX_VALUES] += 1
        state[VALUES + side] = value


def item_found(arena: Words, plan: Words, state: Words, part: int) -> int:
    """The join tuple of a part that has the vertex values of the state: of a part with one side, the vertex value."""
    at = part_at(part)
    if plan[at + LEAF]:
        return state[VALUES]
    return found_record(arena, plan[at + TABLE], state, VALUES, plan[at + SIDES])


def blocks_of(plan: Words, part: int, item: int) -> int:
    """Where a join tuple says where its projected tuples are."""
    at = part_at(part)
    if plan[at + LEAF]:
        return item + plan[side_at(plan, part, 0) + SLOT]
    return item + 2 * plan[at + SIDES]


def item_made(arena: Words, plan: Words, state: Words, part: int, rows: Words, at: int) -> int:
    """A new join tuple with one projected tuple, of a changed row."""
    own = part_at(part)
    sides, stride, width = plan[own + SIDES], plan[own + STRIDE], plan[own + WIDTH]
    fields = at + plan[own + IN_FIELDS]
    arena[JOIN_TUPLES] += 1
    arena[PROJECTED] += 1
    if plan[own + LEAF]:
        item = state[VALUES]
        block_add(arena, blocks_of(plan, part, item), rows, fields, width, stride)
        raise_beyond(arena, plan, plan[side_at(plan, part, 0) + VERTEX], item, part)
        return item
    item = take(arena, plan[own + TUPLE])
    for side in range(sides):
        arena[item + side] = state[VALUES + side]
    has = item + 2 * sides
    arena[has], arena[has + 1] = has + 2, 1
    for i in range(stride):
        arena[has + 2 + i] = rows[fields + i]
    for side in range(sides):
        list_add(arena, slot_of(arena, plan, part, item, side), item, item + sides + side)
    enter_record(arena, plan[own + TABLE], item, sides)
    enter_flags(arena, plan, part, item)
    return item


def count_row(arena: Words, plan: Words, part: int, item: int, rows: Words, at: int) -> None:
    """Adds a changed row to the projected tuples of a join tuple; one that then stands for no row goes."""
    own = part_at(part)
    stride, width = plan[own + STRIDE], plan[own + WIDTH]
    fields = at + plan[own + IN_FIELDS]
    has = blocks_of(plan, part, item)
    number = block_find(arena, has, rows, fields, width, stride)
    if number < 0:
        arena[PROJECTED] += 1
        block_add(arena, has, rows, fields, width, stride)
        return
    add_state(arena, arena[has] + number * stride + width, rows, fields + width, plan[own + PUSHED])
    if arena[arena[has] + number * stride + width] == 0:
        arena[PROJECTED] -= 1
        block_remove(arena, has, number, width, stride)


def add_state(words: Words, at: int, more: Words, there: int, sums: int) -> None:
    """Adds a count and sums to others."""
    words[at] += more[there]
    for i in range(sums):
        to, of = at + 1 + 3 * i, there + 1 + 3 * i
        words[to] += more[of]
        low = words[to + 1] + more[of + 1]
        words[to + 2] += more[of + 2] + carry(words[to + 1], low)
        words[to + 1] = low


def carry(before: int, after: int) -> int:
    """Whether a word that was added to, as one without sign, is now less than before."""
    return 1 if (after ^ LEAST) < (before ^ LEAST) else 0


#: Turns the order of words into that of words without sign.
LEAST = -(1 << 63)


def item_removed(arena: Words, plan: Words, part: int, item: int) -> None:
    """Removes a join tuple that stands for no row, and the vertex values that only it had."""
    own = part_at(part)
    sides = plan[own + SIDES]
    has = blocks_of(plan, part, item)
    arena[JOIN_TUPLES] -= 1
    block_free(arena, has, plan[own + STRIDE])
    if plan[own + LEAF]:
        arena[has] = 0
        value_left(arena, plan, plan[side_at(plan, part, 0) + VERTEX], item)
        return
    for side in range(sides):
        list_remove(arena, slot_of(arena, plan, part, item, side), item, sides, side)
    leave_record(arena, plan[own + TABLE], item, sides)
    for side in range(sides):
        value_left(arena, plan, plan[side_at(plan, part, side) + VERTEX], arena[item + side])
    give(arena, item, plan[own + TUPLE])


def value_left(arena: Words, plan: Words, vertex: int, value: int) -> None:
    """Removes a vertex value if it has no neighbours."""
    at = vertex_at(plan, vertex)
    for i in range(plan[at + MEMBERS]):
        if arena[value + plan[plan[at + MEMBERS_AT] + i * MEMBER_WORDS + MEMBER_SLOT] + 1]:
            return
    leave_record(arena, plan[at + VALUE_TABLE], value, plan[at + KEY])
    arena[VERTEX_VALUES] -= 1
    give(arena, value, plan[at + VALUE])
