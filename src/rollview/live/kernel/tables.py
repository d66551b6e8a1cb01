"""Hash tables with open addressing: each entry is where a record is, with 15 bits of its key's hash.

A record's key is some words of it. What is removed leaves no mark: later entries move up.
"""

from __future__ import annotations

from rollview.live.interning import Words
from rollview.live.kernel.memory import give, take

#: The bits of an entry that say where the record is.
PLACE_BITS = 48
PLACES = (1 << PLACE_BITS) - 1
MIX = -7046029254386353131
MORE = -4417276706812531889


def hashed(words: Words, at: int, count: int) -> int:
    """The hash of some words."""
    found = 1
    for i in range(count):
        found = (found ^ words[at + i]) * MIX
        found ^= found >> 29
    found *= MORE
    return found ^ (found >> 32)


def entry(hash_: int, record: int) -> int:
    return ((hash_ >> PLACE_BITS & 0x7FFF) << PLACE_BITS) | record


def same(a: Words, at: int, b: Words, there: int, count: int) -> bool:
    """Whether the words at two places are equal."""
    for i in range(count):  # noqa: SIM110 (a kernel has no generators)
        if a[at + i] != b[there + i]:
            return False
    return True


def found_record(arena: Words, table: int, keys: Words, at: int, count: int) -> int:
    """The record whose key is at a place; 0 if there is none."""
    base, mask = arena[table], arena[table + 1]
    hash_ = hashed(keys, at, count)
    tag = hash_ >> PLACE_BITS & 0x7FFF
    slot = hash_ & mask
    while True:
        found = arena[base + slot]
        if found == 0:
            return 0
        record = found & PLACES
        if found >> PLACE_BITS == tag and same(arena, record, keys, at, count):
            return record
        slot = (slot + 1) & mask


def table_wants(arena: Words, table: int) -> int:
    """The words that are taken if a record is added."""
    return 2 * (arena[table + 1] + 1) if is_full(arena, table) else 0


def is_full(arena: Words, table: int) -> bool:
    return (arena[table + 2] + 1) * 8 > (arena[table + 1] + 1) * 5


def enter_record(arena: Words, table: int, record: int, count: int) -> None:
    """Adds a record that is not in the table."""
    if is_full(arena, table):
        resize(arena, table, (arena[table + 1] + 1) * 2, count)
    put(arena, table, record, hashed(arena, record, count))
    arena[table + 2] += 1


def put(arena: Words, table: int, record: int, hash_: int) -> None:
    base, mask = arena[table], arena[table + 1]
    slot = hash_ & mask
    while arena[base + slot]:
        slot = (slot + 1) & mask
    arena[base + slot] = entry(hash_, record)


def resize(arena: Words, table: int, size: int, count: int) -> None:
    """Gives a table another size: a power of two."""
    old, mask = arena[table], arena[table + 1]
    new = take(arena, size)
    for i in range(size):
        arena[new + i] = 0
    arena[table], arena[table + 1] = new, size - 1
    if old:
        for i in range(mask + 1):
            found = arena[old + i]
            if found:
                record = found & PLACES
                put(arena, table, record, hashed(arena, record, count))
        give(arena, old, mask + 1)


def leave_record(arena: Words, table: int, record: int, count: int) -> None:
    """Removes a record from the table."""
    base, mask = arena[table], arena[table + 1]
    slot = hashed(arena, record, count) & mask
    while arena[base + slot] & PLACES != record:
        slot = (slot + 1) & mask
    arena[table + 2] -= 1
    free, slot = slot, (slot + 1) & mask
    while True:
        found = arena[base + slot]
        if found == 0:
            break
        home = hashed(arena, found & PLACES, count) & mask
        if (slot - home) & mask >= (slot - free) & mask:
            arena[base + free] = found
            free = slot
        slot = (slot + 1) & mask
    arena[base + free] = 0
