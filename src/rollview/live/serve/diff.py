"""What a commit did to a view, as words that all subscribers share; and as the batches that are handed over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa

from rollview.live.core import Core, moved
from rollview.live.interning import Words
from rollview.live.net import Change
from rollview.live.serve.envelopes import Envelope, wrapped
from rollview.live.serve.token import Place

#: As many rows as a diff in files counts for.
_MANY = 2**40

#: The rows of a diff that are looked at together.
PIECE = 100_000


class Batch:
    """A part of the diff of one commit, or of several that were merged, or of a snapshot.

    ``table`` has the view's columns in their order, then the weight ``__w`` (or what the envelope has instead).
    ``complete`` says whether this is the last part, ``snapshot`` whether the rows are all that there are, and not a
    change; ``time`` is that of the commit."""

    __slots__ = ("_fingerprint", "_place", "_stands", "complete", "snapshot", "table")

    def __init__(
        self, table: pa.Table, place: Place, stands: Place, fingerprint: str, *, complete: bool, snapshot: bool
    ) -> None:
        """``place`` is where the diff leads to, ``stands`` where the subscriber can resume after this part of it."""
        self.table, self.complete, self.snapshot = table, complete, snapshot
        self._place, self._stands, self._fingerprint = place, stands, fingerprint

    @property
    def vector(self) -> dict[str, int | None]:
        """The versions of the base tables that the view shows after the diff."""
        return {table: identity.version for table, identity in self._place.vector.items()}

    @property
    def token(self) -> str:
        """Where a subscriber that stops here can resume: after the last complete diff, so that the parts of an
        incomplete one are repeated."""
        return self._stands.token(self._fingerprint)

    @property
    def time(self) -> datetime:
        return self._place.time

    @property
    def stands(self) -> Place:
        return self._stands

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def to_pylist(self) -> list[dict[str, Any]]:
        """The rows as dicts."""
        rows: list[dict[str, Any]] = self.table.to_pylist()
        return rows

    def __repr__(self) -> str:
        kind = "snapshot" if self.snapshot else "diff"
        return f"<{'' if self.complete else 'part of a '}{kind} of {len(self)} rows at {self.vector}>"


class Diff:
    """A consolidated change of a view, in memory or in files, from one place to another."""

    def __init__(self, core: Core, change: Change, before: Place, after: Place, *, snapshot: bool = False) -> None:
        self.core, self.change = core, change
        self.before, self.after, self.snapshot = before, after, snapshot
        self.in_memory = change.in_memory
        self.held = len(change) if self.in_memory else _MANY  # in files, more than a queue holds
        self._made: dict[tuple[Envelope, int], pa.Table] = {}

    @property
    def empty(self) -> bool:
        return not self.held

    @property
    def rows(self) -> int:
        """The number of rows; those in files are counted."""
        if self.in_memory:
            return self.held
        return sum(len(weights) for _, weights in self.change.pieces(PIECE))

    def tables(self, form: Form) -> Iterator[pa.Table]:
        """The diff as tables of bounded size. Those of a small diff are made once for all who ask for them."""
        if self.held > form.most:
            for rows, weights in self.change.pieces(form.most):
                yield self._table(form, rows, weights)
            return
        asked = (form.envelope, form.most)
        found = self._made.get(asked)
        if found is None:
            found = self._made[asked] = self._table(form, self.change.rows, self.change.weights)
        yield found

    def _table(self, form: Form, rows: Words, weights: Words) -> pa.Table:
        with self.core.lock:
            return wrapped(self.core, form.envelope, form.key, rows, weights, form.names)

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

    def batches(self, diff: Diff, stands: Place) -> Iterator[Batch]:
        """A diff as batches; the last one is complete, and an empty diff is one batch. ``stands`` is where the
        subscriber stands before."""
        waiting: pa.Table | None = None
        for table in diff.tables(self):
            if waiting is not None:
                yield self._batch(diff, waiting, stands, complete=False)
            waiting = table
        if waiting is None:  # of a diff in files nothing was left
            nothing = np.zeros((0, diff.core.layout.width), dtype=np.int64)
            waiting = wrapped(diff.core, self.envelope, self.key, nothing, np.zeros(0, dtype=np.int64), self.names)
        yield self._batch(diff, waiting, diff.after, complete=True)

    def _batch(self, diff: Diff, table: pa.Table, stands: Place, *, complete: bool) -> Batch:
        return Batch(table, diff.after, stands, self.fingerprint, complete=complete, snapshot=diff.snapshot)


def merged(diffs: Sequence[Diff]) -> Diff:
    """Several diffs, one after the other, as one."""
    first, last = diffs[0], diffs[-1]
    core = last.core
    net = core.net()
    for diff in diffs:
        for rows, weights in diff.change.pieces(PIECE):
            with diff.core.lock, core.lock:
                net.add(rows if diff.core is core else moved(diff.core, rows, core), weights)
    return Diff(core, net.done(), first.before, last.after, snapshot=first.snapshot)


def selected(diff: Diff, pieces: Iterator[tuple[Words, Words]]) -> Diff:
    """The part of a diff that some rows are."""
    net = diff.core.net()
    for rows, weights in pieces:
        net.add(rows, weights)
    return Diff(diff.core, net.done(), diff.before, diff.after, snapshot=diff.snapshot)
