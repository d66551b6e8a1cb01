"""Functions that the generated functions of all peers call: relations with indexes, in an arena.

A relation in the plan has its table, the words of a row, how many indexes there are, and of each the table and the
column. Behind a row are its count and its places in lists. A value of an index has its key and the slot of its list.
"""

from __future__ import annotations

import numpy as np

from rollview.live.interning import Words
from rollview.live.kernel.lists import list_add, list_remove, list_wants
from rollview.live.kernel.memory import give, grown, has_room, take
from rollview.live.kernel.numbers import CHUNK
from rollview.live.kernel.tables import enter_record, found_record, hashed, leave_record, table_wants


def change_wants(arena: Words, plan: Words, at: int) -> int:
    """The words that are taken if a row comes, at most, and that are not there; else 0. A list may have all rows."""
    table, indexes = plan[at], plan[at + 2]
    found = 2 * plan[at + 1] + CHUNK + table_wants(arena, table) + (3 * arena[table + 2] + 32) * indexes
    for i in range(indexes):
        found += table_wants(arena, plan[at + 3 + 2 * i])
    return 0 if has_room(arena, found) else found


def row_changed(arena: Words, plan: Words, at: int, row: Words, weight: int) -> None:
    """A row of a relation comes, goes, or has another count."""
    table, width, indexes = plan[at], plan[at + 1], plan[at + 2]
    record = found_record(arena, table, row, 0, width)
    if record:
        arena[record + width] += weight
        if arena[record + width] == 0:
            for i in range(indexes):
                index, column = plan[at + 3 + 2 * i], plan[at + 4 + 2 * i]
                unlinked(arena, index, record + column, record + width + 1, i)
            leave_record(arena, table, record, width)
            give(arena, record, width + 1 + indexes)
        return
    record = take(arena, width + 1 + indexes)
    for i in range(width):
        arena[record + i] = row[i]
    arena[record + width] = weight
    enter_record(arena, table, record, width)
    for i in range(indexes):
        index, column = plan[at + 3 + 2 * i], plan[at + 4 + 2 * i]
        link(arena, index, record + column, record + width + 1, i)


def link(arena: Words, index: int, key: int, item: int, place: int) -> None:
    """Adds a row to the list of its value in an index."""
    value = found_record(arena, index, arena, key, 1)
    if value == 0:
        value = take(arena, 4)
        arena[value] = arena[key]
        arena[value + 1] = arena[value + 2] = arena[value + 3] = 0
        enter_record(arena, index, value, 1)
    list_add(arena, value + 1, item, item + place)


def unlinked(arena: Words, index: int, key: int, item: int, place: int) -> None:
    """Removes a row from the list of its value in an index."""
    value = found_record(arena, index, arena, key, 1)
    list_remove(arena, value + 1, item, 0, place)
    if arena[value + 2] == 0:
        leave_record(arena, index, value, 1)
        give(arena, value, 4)


def loaded(arena: Words, plan: Words, at: int, rows: Words, wide: int, counted: int, columns: Words) -> Words:
    """Changes the rows of a base table, and nothing else."""
    row = np.empty(len(columns), np.int64)
    for begin in range(0, len(rows), wide):
        for i in range(len(columns)):
            row[i] = rows[begin + columns[i]]
        if rows[begin + counted]:
            wanted = change_wants(arena, plan, at)
            if wanted:
                arena = grown(arena, wanted)
            row_changed(arena, plan, at, row, rows[begin + counted])
    return arena


def entry_wants(arena: Words, plan: Words, row: Words) -> int:
    """The words that are taken if a row is added to a full outer join table, at most, and that are not there; else
    0."""
    ends = plan[1]
    found = 2 * (plan[0] + 8 * ends) + CHUNK
    for i in range(ends):
        if row[plan[4 + 3 * i]]:
            value = found_record(arena, plan[2 + 3 * i], row, plan[3 + 3 * i], 1)
            found += list_wants(arena, value + 1) if value else table_wants(arena, plan[2 + 3 * i])
    return 0 if has_room(arena, found) else found


def enter(arena: Words, plan: Words, row: Words) -> None:
    """Adds a row to a full outer join table: to the index of each end of a join that it has.

    In the plan are the words of a row, how many ends there are, and of each the index, the column, the column that says
    how often the end's row is there."""
    width, ends = plan[0], plan[1]
    record = take(arena, width + ends)
    for i in range(width):
        arena[record + i] = row[i]
    for i in range(ends):
        if row[plan[4 + 3 * i]]:
            link(arena, plan[2 + 3 * i], record + plan[3 + 3 * i], record + width, i)


def left(arena: Words, plan: Words, record: int) -> None:
    """Removes a row from a full outer join table."""
    width, ends = plan[0], plan[1]
    for i in range(ends):
        if arena[record + plan[4 + 3 * i]]:
            unlinked(arena, plan[2 + 3 * i], record + plan[3 + 3 * i], record + width, i)
    give(arena, record, width + ends)


def with_room(out: Words, done: int, more: int) -> Words:
    """The output, or a larger one, with room for more rows."""
    if done + more <= out.shape[1]:
        return out
    new = np.empty((out.shape[0], max(2 * out.shape[1], done + more)), np.int64)
    new[:, :done] = out[:, :done]
    return new


def segments(arena: Words, at: int, count: int, width: int, columns: Words) -> tuple[Words, int]:
    """The rows of a list, each distinct in some columns once; how many there are."""
    size = 16
    while size < 2 * count:
        size *= 2
    table = np.zeros(size, np.int64)
    found = np.empty((count, width), np.int64)
    picked, distinct = np.empty((count, len(columns)), np.int64), 0
    flat = picked.reshape(-1)
    for i in range(count):
        record = arena[at + i] - width
        for j in range(len(columns)):
            picked[distinct, j] = arena[record + columns[j]]
        slot = hashed(flat, distinct * len(columns), len(columns)) & (size - 1)
        while table[slot]:
            alike = True
            for j in range(len(columns)):
                if picked[table[slot] - 1, j] != picked[distinct, j]:
                    alike = False
            if alike:
                break
            slot = (slot + 1) & (size - 1)
        if table[slot] == 0:
            for j in range(width):
                found[distinct, j] = arena[record + j]
            distinct += 1
            table[slot] = distinct
    return found, distinct


def listed_rows(arena: Words, table: int, width: int, out: Words) -> None:
    """All records of a table and the word behind them, a column for each word."""
    row = 0
    for slot in range(arena[table + 1] + 1):
        found = arena[arena[table] + slot] & ((1 << 48) - 1)
        if found:
            for i in range(width + 1):
                out[i, row] = arena[found + i]
            row += 1
