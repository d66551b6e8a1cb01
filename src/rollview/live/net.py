"""Weighted rows added up, in bounded memory: beyond a number of rows they are written to a file, by their hash."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from rollview.live.consolidate import consolidated
from rollview.live.interning import Words

#: Into how many parts of a file rows are spread; each is added up on its own.
_PARTS = 64

#: An odd number whose multiples are spread evenly.
_SPREAD = np.int64(-7046029254386353131)


class Net:
    """Rows that are added up. ``most`` is how many are kept in memory, ``key`` are the words of the rows' key."""

    def __init__(self, width: int, most: int, key: Sequence[int] | None = None) -> None:
        self._width, self._most, self._key = width, most, key
        self._rows = [np.zeros((0, width), dtype=np.int64)]
        self._weights = [np.zeros(0, dtype=np.int64)]
        self._held = 0
        self._file: _File | None = None

    def add(self, rows: Words, weights: Words) -> None:
        if len(weights):
            self._rows.append(rows)
            self._weights.append(weights)
            self._held += len(weights)
            if self._held > self._most:
                self._shrink()

    def _shrink(self) -> None:
        """Adds up what is in memory; writes it to a file if it still is too much."""
        rows, weights = consolidated(np.concatenate(self._rows), np.concatenate(self._weights))
        if len(weights) > self._most // 2 and self._width:
            self._spill(rows, weights)
            rows, weights = rows[:0], weights[:0]
        self._rows, self._weights, self._held = [rows], [weights], len(weights)

    def _spill(self, rows: Words, weights: Words) -> None:
        if self._file is None:
            self._file = _File()
        hashes = np.zeros(len(rows), dtype=np.int64)
        for i in range(rows.shape[1]) if self._key is None else self._key:
            hashes = (hashes ^ rows[:, i]) * _SPREAD
            hashes ^= hashes >> 32
        self._file.write(np.concatenate([rows, weights[:, None]], axis=1), (hashes >> 8) % _PARTS)

    def done(self, *, distinct: bool = False) -> Change:
        """What the rows amount to. ``distinct`` says that all of them differ, and that the deleted ones come first."""
        if distinct and self._file is None and (self._key is None or self._of_one_sign()):
            pieces = list(zip(self._rows, self._weights, strict=True))
            return Change(pieces[1:] or pieces, self._key)
        rows, weights = (each[1] if len(each) == 2 else np.concatenate(each) for each in (self._rows, self._weights))
        if self._file is None:
            return Change([consolidated(rows, weights, self._key)], self._key)
        self._spill(rows, weights)
        return Change([(rows[:0], weights[:0])], self._key, self._file)

    def _of_one_sign(self) -> bool:
        """Whether rows are only inserted or only deleted: then no two have the same key."""
        kept = [each for each in self._weights if len(each)]
        return all(each.min() > 0 for each in kept) or all(each.max() < 0 for each in kept)


class _File:
    """Rows in one file without a name, of which each part is read on its own. There is one for each change that is too
    large, so a process may have many."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115
        self._pieces: list[list[tuple[int, int]]] = [[] for _ in range(_PARTS)]  # where each begins, and its bytes
        self._end = 0
        self._using = threading.Lock()  # several subscribers may read the same file

    def write(self, rows: Words, parts: Words) -> None:
        """Adds rows, each to its part."""
        for part in range(_PARTS):
            text = np.ascontiguousarray(rows[parts == part]).tobytes()
            if text:
                self._file.write(text)
                self._pieces[part].append((self._end, len(text)))
                self._end += len(text)

    def parts(self) -> Iterator[Words]:
        """The words of each part."""
        for pieces in self._pieces:
            with self._using:
                text = b"".join(self._read(*piece) for piece in pieces)
            yield np.frombuffer(text, dtype=np.int64)

    def _read(self, at: int, size: int) -> bytes:
        self._file.seek(at)
        return self._file.read(size)


class Change:
    """Consolidated weighted rows: in memory, or in a file."""

    def __init__(
        self,
        kept: Sequence[tuple[Words, Words]],
        key: Sequence[int] | None = None,
        file: _File | None = None,
    ) -> None:
        self._kept, self.key, self._file = kept, key, file

    def __len__(self) -> int:
        if self._file is None:
            return sum(len(weights) for _, weights in self._kept)
        return len(self.weights)

    @property
    def in_memory(self) -> bool:
        return self._file is None

    @property
    def rows(self) -> Words:
        return self._all[0]

    @property
    def weights(self) -> Words:
        return self._all[1]

    def pieces(self, most: int) -> Iterator[tuple[Words, Words]]:
        """The rows and their weights, up to so many at a time, and those that have the key of the last one."""
        for rows, weights in self._parts():
            start = 0
            while start < len(weights):
                stop = min(start + most, len(weights))
                if self.key is not None:
                    while stop < len(weights) and (rows[stop, self.key] == rows[stop - 1, self.key]).all():
                        stop += 1
                yield rows[start:stop], weights[start:stop]
                start = stop

    def _parts(self) -> Iterator[tuple[Words, Words]]:
        yield from self._kept
        width = self._kept[0][0].shape[1]
        for words in self._file.parts() if self._file is not None else ():
            both = words.reshape(-1, width + 1)
            yield consolidated(both[:, :-1], both[:, -1], self.key)

    @cached_property
    def _all(self) -> tuple[Words, Words]:
        if self._file is None and len(self._kept) == 1:
            return self._kept[0]
        rows, weights = zip(*self._parts(), strict=True)
        return np.concatenate(rows), np.concatenate(weights)
