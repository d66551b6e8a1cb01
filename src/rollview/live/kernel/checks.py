"""Changed rows before they are applied: equal rows are added up, and no more copies may go than there are."""

from __future__ import annotations

import numpy as np

from rollview.live.interning import Words
from rollview.live.kernel.look_ahead import part_at
from rollview.live.kernel.numbers import IN_FIELDS, IN_WIDTH, PUSHED, STRIDE, WIDTH
from rollview.live.kernel.projected import block_find
from rollview.live.kernel.rows import add_state, blocks_of, item_found, values_found
from rollview.live.kernel.tables import hashed, same


def added_up(plan: Words, part: int, rows: Words, count: int) -> None:
    """Adds rows that are equal to the first of them; the others then change nothing."""
    own = part_at(part)
    wide, named = plan[own + IN_WIDTH], plan[own + IN_FIELDS] + plan[own + WIDTH]
    size = 16
    while size < 2 * count:
        size *= 2
    table = np.zeros(size, np.int64)
    for row in range(count):
        at = row * wide
        slot = hashed(rows, at, named) & (size - 1)
        while table[slot] and not same(rows, (table[slot] - 1) * wide, rows, at, named):
            slot = (slot + 1) & (size - 1)
        if table[slot] == 0:
            table[slot] = row + 1
            continue
        first = (table[slot] - 1) * wide
        add_state(rows, first + named, rows, at + named, plan[own + PUSHED])
        for i in range(named, wide):
            rows[at + i] = 0


def is_nothing(rows: Words, at: int, count: int) -> bool:
    """Whether all of some words are 0."""
    for i in range(count):  # noqa: SIM110 (a kernel has no generators)
        if rows[at + i]:
            return False
    return True


def possible(arena: Words, plan: Words, state: Words, part: int, rows: Words, count: int) -> bool:
    """Whether there are all rows that a change takes away."""
    own = part_at(part)
    wide, pushed, width = plan[own + IN_WIDTH], plan[own + PUSHED], plan[own + WIDTH]
    after = np.zeros(1 + 3 * pushed, np.int64)
    for row in range(count):
        fields = row * wide + plan[own + IN_FIELDS]
        changed = fields + width
        if rows[changed] > 0 or is_nothing(rows, changed, 1 + 3 * pushed):
            continue
        after[:] = 0
        if values_found(arena, plan, state, part, rows, row * wide):
            item = item_found(arena, plan, state, part)
            if item:
                has = blocks_of(plan, part, item)
                number = block_find(arena, has, rows, fields, width, plan[own + STRIDE])
                if number >= 0:
                    add_state(after, 0, arena, arena[has] + number * plan[own + STRIDE] + width, pushed)
        add_state(after, 0, rows, changed, pushed)
        if after[0] < 0 or (after[0] == 0 and not is_nothing(after, 0, len(after))):
            return False
    return True
