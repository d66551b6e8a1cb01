"""Edits: what a commit does to the rows of a table.

| edit | what it does |
|---|---|
| ``Append`` | inserts the given rows |
| ``Upsert`` | updates or deletes the rows that match a given row, and inserts the given rows that match none |
| ``UpdateMatching`` | sets some columns of the rows that match a given row |
| ``DeleteMatching`` | deletes the rows that match a given row |
| ``TakeCopies`` | adds copies of rows to a table that stores a number with each, or takes copies away |
| ``Replace`` | replaces all rows by the given rows |

A stored row matches a given one if they are equal on the columns ``on``; NULL equals NULL. ``on`` need not be a key: a
given row may match many stored rows. New values are SQL over ``t``, the stored row, and ``s``, the given row.

The edits of a commit apply in order, each to the result of the previous one. It is an error if two given rows of one
edit would change the same stored row, unless both delete it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from rollview.engine.protocol import Frame
from rollview.errors import AmbiguousMerge, InternalError


@dataclass(frozen=True)
class Append:
    """Inserts ``rows``. Columns that they lack are NULL. Few rows that are in this process may be an Arrow table: the
    embedded store then needs no Spark to write them. The appends of one commit are all of one kind."""

    rows: Frame | pa.Table


@dataclass(frozen=True)
class Upsert:
    """Updates the stored rows that match one of ``rows``, and inserts those of ``rows`` that match none.

    An updated row takes the values of the given row, and of ``set`` in the columns that it names. A matched row is
    deleted if the given row's column ``__delete`` is true, or if the condition ``gone`` over the two is; a given row
    that matches none is not inserted if ``__delete`` is true, or if ``gone`` is true of it and of a row of NULLs.
    """

    rows: Frame
    on: Sequence[str]
    set: Mapping[str, str] = field(default_factory=dict)
    gone: str | None = None


@dataclass(frozen=True)
class UpdateMatching:
    """Sets the columns in ``set`` in every stored row that matches one of ``rows``; its other columns stay as they are.
    Given rows that match none are ignored. ``rows`` need only the columns that ``on`` and ``set`` name."""

    rows: Frame
    on: Sequence[str]
    set: Mapping[str, str]


@dataclass(frozen=True)
class DeleteMatching:
    """Deletes every stored row that matches one of ``rows``, which need only the columns ``on``."""

    rows: Frame
    on: Sequence[str]


@dataclass(frozen=True)
class TakeCopies:
    """Adds copies of rows, or removes some.

    The column ``count`` says how many equal rows a stored or given row stands for, and ``on`` are all other columns; no
    two of ``rows`` are equal on them. A given row is inserted beside those it matches. One with a negative count takes
    this many copies from the rows that it matches instead: of these, one is left with the rest, or none.
    """

    rows: Frame
    on: Sequence[str]
    count: str


@dataclass(frozen=True)
class Replace:
    """Replaces all rows and the schema by those of ``rows``; a schema alone stands for no rows. If ``key`` or
    ``properties`` are None, they stay as they are. A Replace must be the only edit of its commit."""

    rows: Frame
    key: Sequence[str] | None = None
    properties: Mapping[str, str] | None = None


#: Edits that change the rows that match a given row, or insert rows.
RowEdit = Append | Upsert | UpdateMatching | DeleteMatching | TakeCopies

Edit = RowEdit | Replace


def replaced(edits: Sequence[Edit]) -> Replace | None:
    """The edit that replaces all rows, if there is one: it must be the only one."""
    found = next((edit for edit in edits if isinstance(edit, Replace)), None)
    if found is not None and len(edits) > 1:
        raise InternalError("A commit that replaces all rows of a table has other edits, too")
    return found


def row_edits(edits: Sequence[Edit]) -> list[RowEdit]:
    """The edits of a commit that replaces nothing."""
    return [edit for edit in edits if not isinstance(edit, Replace)]


def ambiguous(table: str) -> AmbiguousMerge:
    return AmbiguousMerge(
        f"More than one source row would change the same row of {table}",
        why="the result would depend on the order in which they are applied",
        todo="make the source unique on the columns of the ON condition",
    )


@dataclass(frozen=True)
class Matching:
    """An edit that matches rows, as SQL over ``t``, a stored row, and ``s``, a given one.

    ``values`` are new values of matched rows; without a value, a column takes the given row's if the edit ``inserts``
    the given rows that match none, and stays otherwise. ``gone`` is the condition on which a matched row is deleted,
    and a given row that matches none not inserted."""

    condition: str
    values: Mapping[str, str]
    gone: str
    inserts: bool


def matching(
    edit: Upsert | UpdateMatching | DeleteMatching | TakeCopies,
    quoted: Callable[[str], str],
    place: Sequence[str],
    *,
    flagged: bool,
) -> Matching:
    """``quoted`` writes a column's name as SQL does. ``place`` are columns that identify the stored rows; the last one
    is NULL only if there is no row. ``flagged`` says whether the given rows have a column ``__delete``."""
    same = " AND ".join(equal(f"t.{quoted(c)}", f"s.{quoted(c)}") for c in edit.on) or "true"
    if isinstance(edit, UpdateMatching):
        return Matching(same, edit.set, "false", inserts=False)
    if isinstance(edit, DeleteMatching):
        return Matching(same, {}, "true", inserts=False)
    if isinstance(edit, Upsert):
        goes = [*(["s.__delete"] if flagged else []), *([f"({edit.gone})"] if edit.gone else [])]
        return Matching(same, edit.set, f"({' OR '.join(goes)})" if goes else "false", inserts=True)
    number, given = quoted(edit.count), ", ".join(f"s.{quoted(c)}" for c in edit.on)
    left = f"(sum(t.{number}) OVER (PARTITION BY {given}) + s.{number})"
    first = f"row_number() OVER (PARTITION BY {given} ORDER BY {', '.join(f't.{c}' for c in place)}) = 1"
    gone = f"CASE WHEN t.{place[-1]} IS NULL THEN s.{number} < 0 ELSE NOT ({first} AND {left} > 0) END"
    return Matching(f"{same} AND s.{number} < 0", {edit.count: left}, gone, inserts=True)


def equal(one: str, other: str) -> str:
    """Whether two values are equal, NULL to NULL, as both Spark and DuckDB write it."""
    return f"{one} IS NOT DISTINCT FROM {other}"
