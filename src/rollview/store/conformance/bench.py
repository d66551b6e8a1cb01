"""The store under test, with an engine that creates rows for it and reads the rows that it returns."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rollview.engine.protocol import Engine, Frame
from rollview.errors import RollviewError
from rollview.store.edits import Edit
from rollview.store.protocol import (
    CHANGE_TYPE,
    COMMIT_TIME,
    COMMIT_VERSION,
    INSERT,
    NO_STAMP,
    UPDATE_AFTER,
    Commit,
    Stamp,
    Store,
)

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Bench:
    """``store`` must be empty; ``engine`` is the engine whose frames the store reads and returns."""

    store: Store
    engine: Engine

    def rows(self, text: str, columns: str = "id, v") -> Frame:
        """A frame of rows, written as in VALUES of Spark SQL."""
        return self.engine.query(f"SELECT * FROM VALUES {text} AS t({columns})", {})

    def nothing(self, text: str, columns: str = "id, v") -> Frame:
        """A frame without rows, with the types of these rows."""
        return self.engine.nothing(self.rows(text, columns))

    def made(self, text: str = "(1, 'a'), (2, 'b'), (3, NULL)", columns: str = "id, v", **options: Any) -> Commit:
        """Creates the table ``t``."""
        return self.store.create("t", self.rows(text, columns), **options)

    def commit(self, *edits: Edit, stamp: Stamp = NO_STAMP) -> Commit:
        """Commits edits of ``t`` in one commit."""
        return self.store.commit("t", edits, stamp)

    def fetched(self, frame: Frame) -> list[Row]:
        """The rows of a frame, in a fixed order."""
        shown = self.engine.output(frame)
        found = shown.collect() if hasattr(shown, "collect") else shown.fetchall()
        return sorted((tuple(row) for row in found), key=repr)

    def held(self, version: int | None = None, table: str = "t") -> list[Row]:
        """The rows of a version of ``t``."""
        return self.fetched(self.store.read(table, version))

    def changed(self, after: int, upto: int | None = None, table: str = "t") -> list[Row]:
        """The changed rows of ``t``, each with its kind last."""
        upto = self.store.version(table) if upto is None else upto
        width = len(self.store.columns(table, upto))
        return sorted((row[: width + 1] for row in self.feed(after, upto, table)), key=repr)

    def feed(self, after: int, upto: int, table: str = "t") -> list[Row]:
        """The same with version and time of the commit, in this order of columns."""
        names = [name for name, _ in self.store.columns(table, upto)]
        frame = self.store.changes(table, after, upto)
        there = [name for name, _ in self.engine.columns(frame)]
        wanted = [there.index(name) for name in (*names, CHANGE_TYPE, COMMIT_VERSION, COMMIT_TIME)]
        return [tuple(row[place] for place in wanted) for row in self.fetched(frame)]

    def replayed(self, after: int, upto: int, table: str = "t") -> Counter[str]:
        """The rows of a version, and the changes up to another one applied to them."""
        state = bag(self.held(after, table))
        for row in self.changed(after, upto, table):
            state[repr(row[:-1])] += 1 if row[-1] in (INSERT, UPDATE_AFTER) else -1
        return Counter({row: copies for row, copies in state.items() if copies})


def bag(rows: Sequence[Row]) -> Counter[str]:
    """Rows with the number of copies of each."""
    return Counter(map(repr, rows))


@contextlib.contextmanager
def raises(kind: type[RollviewError], text: str = "") -> Iterator[None]:
    """Fails unless the block raises an error of this kind whose message contains a text."""
    said = None
    try:
        yield
    except kind as error:
        said = str(error)
    assert said is not None, f"no {kind.__name__} was raised"
    assert re.search(text, said), f"{said} does not say {text}"
