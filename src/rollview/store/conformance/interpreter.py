"""The meaning of edits, over lists of rows.

A row is a dictionary. The ``rows`` of an edit are a list of them, and its SQL is looked up in a dictionary that says
what each expression returns for a stored row ``t`` and a given row ``s``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rollview.store.edits import Append, DeleteMatching, RowEdit, TakeCopies, UpdateMatching, Upsert, ambiguous

Row = Mapping[str, Any]

#: SQL over ``t`` and ``s``, and what it returns.
Meaning = Mapping[str, Callable[[Row, Row], Any]]


def applied(rows: Sequence[Row], edits: Iterable[RowEdit], meaning: Meaning, columns: Sequence[str]) -> list[Row]:
    """The rows after some edits, each applied to what those before it left. Raises AmbiguousMerge."""
    found = list(rows)
    for edit in edits:
        if isinstance(edit, Append):
            found += [{c: row.get(c) for c in columns} for row in edit.rows]
        elif isinstance(edit, TakeCopies):
            found = _taken(found, edit)
        else:
            found = _matched(found, edit, meaning, columns)
    return found


def _matched(
    rows: Sequence[Row], edit: Upsert | UpdateMatching | DeleteMatching, meaning: Meaning, columns: Sequence[str]
) -> list[Row]:
    found: list[Row] = []
    for t in rows:
        results = [_result(t, s, edit, meaning, columns) for s in edit.rows if _equal(t, s, edit.on)]
        changes = [result for result in results if result != t]
        if len(changes) > 1 and any(change is not None for change in changes):
            raise ambiguous("t")
        left = changes[0] if changes else t
        found += [] if left is None else [left]
    if isinstance(edit, Upsert):
        nulls = dict.fromkeys(columns)
        new = [s for s in edit.rows if not any(_equal(t, s, edit.on) for t in rows)]
        found += [{c: s[c] for c in columns} for s in new if not _goes(nulls, s, edit, meaning)]
    return found


def _equal(t: Row, s: Row, on: Sequence[str]) -> bool:
    return all(t[c] == s[c] for c in on)


def _goes(t: Row, s: Row, edit: Upsert, meaning: Meaning) -> bool:
    return bool(s.get("__delete")) or (edit.gone is not None and meaning[edit.gone](t, s) is True)


def _result(
    t: Row, s: Row, edit: Upsert | UpdateMatching | DeleteMatching, meaning: Meaning, columns: Sequence[str]
) -> Row | None:
    """The result of a stored row and a given row that matches it; None if the stored row is deleted."""
    if isinstance(edit, DeleteMatching) or (isinstance(edit, Upsert) and _goes(t, s, edit, meaning)):
        return None
    base = s if isinstance(edit, Upsert) else t
    return {c: meaning[edit.set[c]](t, s) if c in edit.set else base[c] for c in columns}


def _taken(rows: Sequence[Row], edit: TakeCopies) -> list[Row]:
    found = list(rows)
    for s in edit.rows:
        if s[edit.count] >= 0:
            continue
        matched = [t for t in rows if _equal(t, s, edit.on)]
        left = sum(t[edit.count] for t in matched) + s[edit.count]
        found = [t for t in found if not _equal(t, s, edit.on)]
        if matched and left > 0:
            found.append({**matched[0], edit.count: left})
    return [*found, *(s for s in edit.rows if s[edit.count] >= 0)]
