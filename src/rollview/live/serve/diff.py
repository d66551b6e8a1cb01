"""What a commit did to a view, as words that all subscribers share; and as the batches that are handed over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa

from rollview.live.core import Core, moved
from rollview.live.interning import Words
from rollview.live.net import Change
from rollview.live.serve.envelopes import Envelope, wrapped
from rollview.live.serve.token import Vector, token_of

#: As many rows as a diff in files counts for.
_MANY = 2**40


@dataclass(frozen=True)
class Batch:
    """A part of the diff of one commit, or of several that were merged, or of a snapshot.

    ``table`` has the view's columns in their order, then the weight ``__w`` (or what the envelope has instead).
    ``vector`` are the versions of the base tables that the view shows after it; ``complete`` says whether this is the
    last part. ``token`` is where a subscriber that stops here can resume: after the last complete diff, so the parts of
    an incomplete one are repeated. ``snapshot`` says whether the rows are all that there are, and not a change."""

    table: pa.Table
    vector: Mapping[str, int | None]
    token: str
    complete: bool
    time: datetime
    snapshot: bool = False

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def to_pylist(self) -> list[dict[str, Any]]:
        """The rows as dicts."""
        rows: list[dict[str, Any]] = self.table.to_pylist()
        return rows


@dataclass(frozen=True)
class Place:
    """Where a view stands: the vector, the number of the commit since the live view was made, and its time."""

    vector: Vector
    number: int
    time: datetime


class Diff:
    """A consolidated change of a view, in memory or in files, from one place to another."""

    def __init__(self, core: Core, change: Change, before: Place, after: Place, *, snapshot: bool = False) -> None:
        self.core, self.change = core, change
        self.before, self.after, self.snapshot = before, after, snapshot
        self._made: dict[tuple[Envelope, int], list[pa.Table]] = {}

    @property
    def rows(self) -> int:
        """The number of rows; those in files are counted."""
        return sum(len(weights) for _, weights in self.change.pieces(100_000))

    def __len__(self) -> int:
        """The same for a diff in memory; of one in files, more than a queue holds."""
        return len(self.change) if self.change.in_memory else _MANY

    @property
    def in_memory(self) -> bool:
        return self.change.in_memory

    def tables(self, form: Form) -> Iterator[pa.Table]:
        """The diff as tables of bounded size. Those of a diff in memory are made once for all who ask for them."""
        if not self.in_memory or len(self) > form.most:
            return self._converted(form)
        asked = (form.envelope, form.most)
        if asked not in self._made:
            self._made[asked] = list(self._converted(form))
        return iter(self._made[asked])

    def _converted(self, form: Form) -> Iterator[pa.Table]:
        for rows, weights in self.change.pieces(form.most):
            with self.core.lock:
                table = wrapped(self.core, form.envelope, form.key, rows, weights, form.names)
            yield table

    def numbers(self) -> set[int]:
        """The numbers of interned values that the rows have."""
        layout, rows = self.core.layout, self.change.rows
        places = [at for at, kind in zip(layout.places, layout.kinds, strict=False) if kind.interned]
        return set(np.unique(rows[:, places]).tolist()) if places else set()


@dataclass(frozen=True)
class Form:
    """How a subscriber gets its batches: the envelope, the key and names of the columns, the rows of a batch, and the
    fingerprint of the view, which tokens name."""

    envelope: Envelope
    key: tuple[int, ...] | None
    names: Sequence[str]
    most: int
    fingerprint: str

    def batches(self, diff: Diff, before: str) -> Iterator[Batch]:
        """A diff as batches; the last one is complete, and an empty diff is one batch. ``before`` is the token of the
        last complete diff."""
        vector = {table: identity.version for table, identity in diff.after.vector.items()}
        token = token_of(diff.after.vector, self.fingerprint)
        waiting: pa.Table | None = None
        for table in diff.tables(self):
            if not table.num_rows:
                continue
            if waiting is not None:
                yield Batch(waiting, vector, before, False, diff.after.time, diff.snapshot)
            waiting = table
        if waiting is None:
            nothing = np.zeros((0, diff.core.layout.width), dtype=np.int64)
            waiting = wrapped(diff.core, self.envelope, self.key, nothing, np.zeros(0, dtype=np.int64), self.names)
        yield Batch(waiting, vector, token, True, diff.after.time, diff.snapshot)


def merged(diffs: Sequence[Diff]) -> Diff:
    """Several diffs, one after the other, as one."""
    first, last = diffs[0], diffs[-1]
    core = last.core
    net = core.net()
    for diff in diffs:
        for rows, weights in diff.change.pieces(100_000):
            with diff.core.lock, core.lock:
                net.add(rows if diff.core is core else moved(diff.core, rows, core), weights)
    return Diff(core, net.done(), first.before, last.after, snapshot=first.snapshot)


def selected(diff: Diff, pieces: Iterator[tuple[Words, Words]]) -> Diff:
    """The part of a diff that some rows are."""
    net = diff.core.net()
    for rows, weights in pieces:
        net.add(rows, weights)
    return Diff(diff.core, net.done(), diff.before, diff.after, snapshot=diff.snapshot)
