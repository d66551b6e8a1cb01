"""What was committed to a table since a version that is known, as any store can find it.

| the newest version | the commits |
|---|---|
| comes after the known one | those after it |
| belongs to another table of the same name | all that the store still has |
| comes before the known one, or the known one is another commit by now: the log went back | the newest only |
"""

from __future__ import annotations

from rollview.store.protocol import Identity, Progress, Reading


def went_back(reading: Reading, table: str, known: Identity, newest: Identity) -> bool:
    """Whether a version is no longer part of the history of the newest one, although the table is the same. A log goes
    back if its newest entries are lost, or if the table is restored from a copy; the same versions may then be
    committed again, with other rows."""
    if known.table_id != newest.table_id or known.version is None or newest.version is None:
        return False
    if known.version > newest.version:
        return True
    mark = newest.mark if known.version == newest.version else reading.commit_mark(table, known.version)
    return None not in (mark, known.mark) and mark != known.mark


def progress_of(reading: Reading, table: str, known: Identity | None) -> Progress:
    """Implements ``Reading.progress`` by the other methods."""
    newest = reading.identity(table)
    if newest.version is None:
        return Progress(newest, ())
    follows = True
    if known is None or known.table_id != newest.table_id:
        follows, found = False, reading.history(table)
    elif went_back(reading, table, known, newest):
        follows, found = False, reading.history(table, 1)
    else:
        found = [] if known.version == newest.version else reading.history(table, after=known.version)
    return Progress(newest, tuple(c for c in reversed(found) if c.version <= newest.version), follows)
