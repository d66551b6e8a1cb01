"""The forms in which a diff is handed over: rows with weights, changes as Delta's feed has them, or upserts by key."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import numpy as np
import pyarrow as pa

from rollview.errors import UserError
from rollview.live.core import Core
from rollview.live.interning import Words
from rollview.live.words import Flags, plain_array
from rollview.plan.reserved import DELETED, WEIGHT
from rollview.store.protocol import CHANGE_TYPE, DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE


class Envelope(str, Enum):
    """``weights``: each row once, with its weight ``__w``. ``changes``: a row for each copy, with ``_change_type``.
    ``upsert``: of each key, the row that there is now, or its key alone with ``__delete``."""

    WEIGHTS = "weights"
    CHANGES = "changes"
    UPSERT = "upsert"


def check(envelope: Envelope, key: Sequence[int] | None, title: str) -> None:
    """Raises an error if a view cannot be handed over so."""
    if envelope is Envelope.UPSERT and key is None:
        raise UserError(
            f"{title} has no key, by which rows could be replaced",
            why="no visible columns tell its rows apart",
            todo="take the envelope 'weights' or 'changes', or add the keys of the tables to the query's columns",
        )


def wrapped(
    core: Core, envelope: Envelope, key: Sequence[int] | None, rows: Words, weights: Words, names: Sequence[str]
) -> pa.Table:
    """Weighted rows as a table. Rows with the same key are in one call."""
    if envelope is Envelope.WEIGHTS:
        return _table(core, rows, names, WEIGHT.label, plain_array(weights, pa.int64()))
    if envelope is Envelope.CHANGES:
        return _changes(core, key, rows, weights, names)
    assert key is not None
    keys = core.layout.identities(rows, key)
    order, gone = _upserts(keys, weights)
    shown, deleted = rows[order], np.array(gone, dtype=np.bool_)
    for place in range(len(core.layout.kinds)):
        if place not in key:
            core.layout.words(shown, place)[deleted] = 0
            core.layout.set_null(shown, place, deleted)
    return _table(core, shown, names, DELETED.label, pa.array(deleted))


def _changes(core: Core, key: Sequence[int] | None, rows: Words, weights: Words, names: Sequence[str]) -> pa.Table:
    """Deleted and inserted rows, those of an update one after the other."""
    partner: dict[int, int] = {}
    if key is not None:
        gone: dict[bytes, int] = {}
        for at, (identity, weight) in enumerate(_keys(core.layout.identities(rows, key), weights)):
            if weight < 0:
                gone[identity] = at
            elif identity in gone:
                partner[gone.pop(identity)] = at
    order: list[int] = []
    kinds: list[str] = []
    paired = set(partner.values())
    for at, weight in enumerate(weights.tolist()):
        if at in partner:
            order += [at, partner[at]]
            kinds += [UPDATE_BEFORE, UPDATE_AFTER]
        elif at not in paired:
            order += [at] * abs(weight)
            kinds += [DELETE if weight < 0 else INSERT] * abs(weight)
    return _table(core, rows[order], names, CHANGE_TYPE, pa.array(kinds, pa.string()))


def _upserts(keys: Words, weights: Words) -> tuple[list[int], list[bool]]:
    """The rows to hand over, and which of them stand for a key that is gone."""
    last: dict[bytes, tuple[int, bool]] = {}
    for at, (identity, weight) in enumerate(_keys(keys, weights)):
        if weight > 0 or identity not in last:
            last[identity] = at, weight < 0
    return [at for at, _ in last.values()], [gone for _, gone in last.values()]


def _keys(keys: Words, weights: Words) -> list[tuple[bytes, int]]:
    found = np.ascontiguousarray(keys)
    return [(row.tobytes(), weight) for row, weight in zip(found, weights.tolist(), strict=True)]


def _table(core: Core, rows: Words, names: Sequence[str], last: str, values: pa.Array) -> pa.Table:
    arrays = core.layout.arrays(rows, core.interner)
    return pa.Table.from_arrays([*arrays, values], names=[*names, last])


def filtered(rows: Words, weights: Words, kept: Flags | None) -> tuple[Words, Words]:
    """The rows that are kept, with their weights."""
    return (rows, weights) if kept is None else (rows[kept], weights[kept])
