"""What is called from outside: changing the rows of a part, generating paths, listing what there is.

Each goes on where it stopped, and stops when the output is full.
"""

from __future__ import annotations

import numpy as np

from rollview.live.interning import Words
from rollview.live.kernel.checks import is_nothing
from rollview.live.kernel.look_ahead import dead_end, part_at, side_at, vertex_at
from rollview.live.kernel.memory import has_room
from rollview.live.kernel.numbers import (
    AT,
    CACHED,
    CHOICE,
    CHOSEN,
    DELTA,
    DONE,
    GOES,
    HAS,
    IN_FIELDS,
    IN_WIDTH,
    ITEM,
    KEY,
    LEAF,
    NEXT,
    PHASE,
    PUSHED,
    ROW,
    SEEN,
    SIDE,
    SIDES,
    SLOT,
    SOURCE,
    STEP,
    STEP_WORDS,
    STEPS,
    STEPS_AT,
    STRIDE,
    TABLE,
    TARGET,
    TARGET_LEAF,
    TARGET_SLOT,
    TOP,
    VALUE_TABLE,
    VALUES,
    VERTEX,
    VISITED,
    WALKING,
    WANTED,
    WARM,
    WIDTH,
    WRITING,
)
from rollview.live.kernel.paths import put_tuple, several_found, written
from rollview.live.kernel.rows import (
    blocks_of,
    count_row,
    item_found,
    item_made,
    item_removed,
    make_values,
    row_wants,
    values_found,
    warmed,
)
from rollview.live.kernel.tables import PLACES, found_record


def changed(arena: Words, plan: Words, state: Words, part: int, rows: Words, count: int, push: bool, out: Words) -> int:
    """Changes rows of a part, and writes what this does to the paths: how many. If not all is done, because the output
    is full or more words are ``WANTED``, this number is returned as one below zero: −1 for none."""
    wide = plan[part_at(part) + IN_WIDTH]
    state[DONE] = state[WANTED] = 0
    while state[ROW] < count:
        if state[PHASE] == NEXT:
            if state[ROW] % WARM == 0 and count > 1 and arena[TOP] > CACHED:
                state[SEEN] = warmed(arena, plan, state, part, rows, state[ROW], min(state[ROW] + WARM, count))
            if not row_applied(arena, plan, state, part, rows, state[ROW] * wide):
                return ~state[DONE]
            if push and state[ITEM]:
                start(arena, plan, state, part)
        if state[PHASE] != NEXT and not walked(arena, plan, state, part, out):
            return ~state[DONE]
        if state[GOES]:
            row_removed(arena, plan, state, part, rows, state[ROW] * wide)
        state[ROW] += 1
    return state[DONE]


def row_applied(arena: Words, plan: Words, state: Words, part: int, rows: Words, at: int) -> bool:
    """Applies a changed row, and makes it the path's first tuple; if a tuple goes, it is removed later. Whether there
    was room for it."""
    own = part_at(part)
    fields, changes = at + plan[own + IN_FIELDS], 1 + 3 * plan[own + PUSHED]
    width, stride = plan[own + WIDTH], plan[own + STRIDE]
    state[GOES] = state[ITEM] = 0
    if is_nothing(rows, fields + width, changes):
        return True
    there, item = values_found(arena, plan, state, part, rows, at), 0
    if there:
        item = item_found(arena, plan, state, part)
        if item and arena[blocks_of(plan, part, item) + 1] == 0:
            item = 0
    if item and rows[fields + width] < 0:
        state[GOES] = 1
    else:
        wanted = row_wants(arena, plan, state, part, item)
        if not has_room(arena, wanted):
            state[WANTED] = wanted
            return False
        if not there:
            make_values(arena, plan, state, part, rows, at)
        if item == 0:
            item = item_made(arena, plan, state, part, rows, at)
        else:
            count_row(arena, plan, part, item, rows, at)
    state[ITEM] = item
    slot = plan[DELTA]
    arena[slot], arena[slot + 1] = slot + 2, 1
    for i in range(stride):
        arena[slot + 2 + i] = rows[fields + i]
    state[HAS + part] = slot
    return True


def row_removed(arena: Words, plan: Words, state: Words, part: int, rows: Words, at: int) -> None:
    """Takes away what a row that was traversed takes away."""
    item = state[ITEM]
    count_row(arena, plan, part, item, rows, at)
    if arena[blocks_of(plan, part, item) + 1] == 0:
        item_removed(arena, plan, part, item)


def start(arena: Words, plan: Words, state: Words, part: int) -> None:
    """Begins a traversal from a join tuple of a part, whose projected tuples are known."""
    arena[VISITED] += 1
    put_tuple(arena, plan, state, part, 0)
    state[CHOICE + part] = state[ITEM]
    state[STEP] = 0
    state[AT] = 0
    state[PHASE] = WALKING
    if plan[part_at(part) + STEPS] == 0:
        several_found(arena, plan, state, part)
        state[PHASE] = WRITING


def walked(arena: Words, plan: Words, state: Words, part: int, out: Words) -> bool:
    """Goes on with a traversal; whether it came to its end."""
    own = part_at(part)
    steps, table = plan[own + STEPS], plan[own + STEPS_AT]
    last = part if steps == 0 else plan[table + (steps - 1) * STEP_WORDS + TARGET]
    number = state[STEP]
    while number >= 0:
        step = table + number * STEP_WORDS
        if state[PHASE] == WRITING:
            if not written(arena, plan, state, out, last):
                state[STEP] = number
                return False
            state[PHASE] = WALKING
            if steps == 0:
                break
            number -= 1  # the last part has one join tuple at a vertex value
            if number >= 0:
                state[AT + number] += 1
            continue
        source = plan[step + SOURCE]
        value = arena[state[CHOICE + source] + plan[step + SIDE]]
        if source == part:
            value = state[VALUES + plan[step + SIDE]]
        slot = value + plan[step + TARGET_SLOT]
        place = state[AT + number]
        live = arena[slot + 2] >> 1
        if plan[step + TARGET_LEAF]:
            live = 1 if arena[slot + 1] else 0
        if place < live:
            choose(arena, plan, state, step, slot, place)
            if number + 1 == steps:
                several_found(arena, plan, state, last)
                state[PHASE] = WRITING
                continue
            number += 1
            state[AT + number] = 0
            continue
        if live:
            number -= 1
        else:
            lowered = False
            if not plan[part_at(source) + LEAF]:
                lowered = dead_end(arena, plan, source, state[CHOICE + source], plan[step + SIDE])
            number = plan[step + CHOSEN]
            if lowered:  # another join tuple has taken its place
                continue
        if number >= 0:
            state[AT + number] += 1
    state[PHASE] = NEXT
    return True


def choose(arena: Words, plan: Words, state: Words, step: int, slot: int, place: int) -> None:
    """Chooses the join tuple of a step's target."""
    arena[VISITED] += 1
    target = plan[step + TARGET]
    if plan[step + TARGET_LEAF]:
        state[HAS + target] = slot
    else:
        item = arena[arena[slot] + place]
        state[CHOICE + target] = item
        state[HAS + target] = item + 2 * plan[part_at(target) + SIDES]
    if arena[state[HAS + target] + 1] == 1:
        put_tuple(arena, plan, state, target, 0)


def generated(
    arena: Words, plan: Words, state: Words, part: int, side: int, keys: Words, count: int, out: Words
) -> bool:
    """Writes all paths from a part; or, if there is a side, those from the values of some keys there. Whether all is
    written."""
    own = part_at(part)
    vertex = vertex_at(plan, plan[side_at(plan, part, max(side, 0)) + VERTEX])
    table = plan[vertex + VALUE_TABLE] if plan[own + LEAF] else plan[own + TABLE]
    if side < 0:
        count = arena[table + 1] + 1
    state[DONE] = 0
    while state[ROW] < count:
        if state[PHASE] == NEXT:
            if side < 0:
                found = arena[arena[table] + state[ROW]] & PLACES
            else:
                width = plan[vertex + KEY]
                found = found_record(arena, plan[vertex + VALUE_TABLE], keys, state[ROW] * width, width)
            if found == 0 or not begun(arena, plan, state, part, side, found):
                state[ROW] += 1
                state[ITEM] = 0
                continue
        if not walked(arena, plan, state, part, out):
            return False
        if side >= 0 and not plan[own + LEAF]:
            state[ITEM] += 1  # the next one at this vertex value
        else:
            state[ROW] += 1
    return True


def begun(arena: Words, plan: Words, state: Words, part: int, side: int, found: int) -> bool:
    """Begins a traversal from a join tuple, or from one of a vertex value; whether there is one."""
    own = part_at(part)
    if plan[own + LEAF]:
        if arena[blocks_of(plan, part, found) + 1] == 0:
            return False
        state[VALUES] = found
    else:
        if side >= 0:
            slot = found + plan[side_at(plan, part, side) + SLOT]
            if state[ITEM] >= arena[slot + 1]:
                return False
            # from the last to the first: a dead end swaps its join tuple with one that was visited
            found = arena[arena[slot] + arena[slot + 1] - 1 - state[ITEM]]
        for i in range(plan[own + SIDES]):
            state[VALUES + i] = arena[found + i]
    state[HAS + part] = blocks_of(plan, part, found)
    place = state[ITEM]
    state[ITEM] = found
    start(arena, plan, state, part)
    state[ITEM] = place
    return True


def listed_values(arena: Words, plan: Words, vertex: int, out: Words) -> None:
    """Lists the keys of a vertex, a row for each."""
    at = vertex_at(plan, vertex)
    table, row = plan[at + VALUE_TABLE], 0
    for slot in range(arena[table + 1] + 1):
        found = arena[arena[table] + slot] & PLACES
        if found:
            for i in range(plan[at + KEY]):
                out[row, i] = arena[found + i]
            row += 1


def listed_tuples(arena: Words, plan: Words, part: int) -> Words:
    """Lists the projected tuples of a part, a row for each: those of a join tuple one after the other; first where the
    join tuple is."""
    own = part_at(part)
    table = plan[own + TABLE]
    if plan[own + LEAF]:
        table = plan[vertex_at(plan, plan[side_at(plan, part, 0) + VERTEX]) + VALUE_TABLE]
    stride, rows = plan[own + STRIDE], 0
    for slot in range(arena[table + 1] + 1):
        found = arena[arena[table] + slot] & PLACES
        if found:
            rows += arena[blocks_of(plan, part, found) + 1]
    out = np.empty((rows, 1 + stride), np.int64)
    row = 0
    for slot in range(arena[table + 1] + 1):
        found = arena[arena[table] + slot] & PLACES
        if found:
            has = blocks_of(plan, part, found)
            for number in range(arena[has + 1]):
                out[row, 0] = found
                for i in range(stride):
                    out[row, 1 + i] = arena[arena[has] + number * stride + i]
                row += 1
    return out
