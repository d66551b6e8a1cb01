"""The classes of errors, and how they are shown.

Every error says what is wrong, where (the SQL, underlined), why, and what to do. There are three kinds:

- ``UserError``: a mistake that the caller can correct; nothing was changed.
- ``NotIncremental``: a view that cannot be maintained incrementally; a full refresh still works.
- ``InternalError``: a bug of rollview.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """A piece of SQL text: characters ``start`` up to, not including, ``stop``."""

    sql: str
    start: int
    stop: int

    @staticmethod
    def find(sql: str, fragment: str) -> Place | None:
        """The first place of ``fragment`` in ``sql`` as a whole word, in any case."""
        found = re.search(rf"(?<!\w){re.escape(fragment)}(?!\w)", sql, re.IGNORECASE) if fragment else None
        return Place(sql, found.start(), found.end()) if found else None

    @staticmethod
    def call(sql: str, name: str) -> Place | None:
        """The first place that calls a function of this name."""
        found = re.search(rf"(?<!\w){re.escape(name)}(?=`?\s*\()", sql, re.IGNORECASE) if name else None
        return Place(sql, found.start(), found.end()) if found else Place.find(sql, name)

    @staticmethod
    def only(sql: str, fragment: str) -> Place | None:
        """The place of ``fragment`` in ``sql``, if there is exactly one."""
        places = list(re.finditer(re.escape(fragment), sql, re.IGNORECASE)) if fragment else []
        return Place(sql, places[0].start(), places[0].end()) if len(places) == 1 else None

    @property
    def text(self) -> str:
        """The piece itself."""
        return self.sql[self.start : self.stop]

    def within(self, sql: str) -> Place:
        """The same place in the statement that the text is a part of."""
        at = sql.find(self.sql)
        return Place(sql, at + self.start, at + self.stop) if at > 0 else self

    def underlined(self) -> str:
        """The line (or lines) that hold the place, with carets under it."""
        out: list[str] = []
        begin = 0
        for number, line in enumerate(self.sql.split("\n"), 1):
            end = begin + len(line)
            low, high = max(self.start, begin), min(self.stop, end)
            if low < high or begin <= self.start == self.stop <= end:
                cut = max(0, low - begin - 60) if len(line) > 110 else 0
                shown = line[cut : cut + 110]
                out.append(f"{number:>4} | {shown}")
                shift = low - begin - cut
                out.append("     | " + " " * shift + "^" * max(1, min(high - low, len(shown) - shift)))
            begin = end + 1
        return "\n".join(out)


class RollviewError(Exception):
    """Root of all errors that rollview raises on purpose."""

    code = "error"

    def __init__(self, what: str, *, where: Place | None = None, why: str = "", todo: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.why = why
        self.todo = todo

    def __str__(self) -> str:
        parts = [self.what]
        if self.where is not None and (lines := self.where.underlined()):
            parts.append(lines)
        if self.why:
            parts.append(f"Why: {self.why}")
        if self.todo:
            parts.append(f"What to do: {self.todo}")
        return "\n".join(parts)


class UserError(RollviewError):
    """The caller's mistake; nothing was changed."""

    code = "user_error"


class SqlSyntaxError(UserError):
    """The text is not SQL that rollview or Spark understands."""

    code = "syntax"


class SqlError(UserError):
    """Spark refused the statement."""

    code = "sql"


class NotDeterministic(SqlError):
    """The query may return different rows each time it runs, so no view could equal it."""

    code = "not_deterministic"


class TableNotFound(UserError):
    """No table or view has this name. ``name`` is the name as the statement writes it."""

    code = "table_not_found"

    def __init__(
        self, what: str, *, where: Place | None = None, why: str = "", todo: str = "", name: str | None = None
    ) -> None:
        super().__init__(what, where=where, why=why, todo=todo)
        self.name = name


class ColumnNotFound(UserError):
    """No column has this name."""

    code = "column_not_found"


class ViewNotFound(UserError):
    """No materialized view has this name."""

    code = "view_not_found"


class NameTaken(UserError):
    """The name belongs to another table or view."""

    code = "name_taken"


class BadName(UserError):
    """The name cannot be used for a table, view or column here."""

    code = "bad_name"


class InUse(UserError):
    """Another view reads this one."""

    code = "in_use"


class NotAWarehouse(UserError):
    """The folder is not a warehouse."""

    code = "not_a_warehouse"


class SchemaChanged(UserError):
    """A base table no longer has the schema for which the view was created."""

    code = "schema_changed"


class VersionGone(UserError):
    """The store no longer has the requested version."""

    code = "version_gone"


class Damaged(UserError):
    """Files of a table or view are missing, or cannot be read."""

    code = "damaged"


class StorageFailed(UserError):
    """The file system does not allow files to be written or removed."""

    code = "storage"


class KeyViolated(UserError):
    """The rows break the table's declared key or a NOT NULL column."""

    code = "key_violated"


class AmbiguousMerge(UserError):
    """Several source rows of a MERGE match the same target row."""

    code = "ambiguous_merge"


class Conflict(UserError):
    """Other writers kept changing the table while this write was prepared."""

    code = "conflict"


class Unsupported(UserError):
    """A known limit of this version."""

    code = "unsupported"


class JavaMissing(UserError):
    """Spark needs a Java runtime, and none was found."""

    code = "java_missing"


class NotIncremental(RollviewError):
    """The view cannot be maintained incrementally; a full refresh still works."""

    code = "not_incremental"


class InternalError(RollviewError):
    """A bug of rollview."""

    code = "internal"


class TooLargeToSend(InternalError):
    """Spark cannot broadcast the rows of a join because there are too many: the join must run without a broadcast."""

    code = "too_large_to_send"


def nearest(name: str, names: Iterable[str]) -> str:
    """A sentence that suggests the names closest to ``name``, or the empty string."""
    by_fold = {candidate.casefold(): candidate for candidate in names}
    close = difflib.get_close_matches(name.casefold(), by_fold, n=3, cutoff=0.6)
    return f"did you mean {' or '.join(f'`{by_fold[c]}`' for c in close)}?" if close else ""


def named_error(what: str, error: Exception) -> RollviewError:
    """The error itself; any that rollview does not raise on purpose becomes an InternalError with its cause."""
    if isinstance(error, RollviewError):
        return error
    said = str(error).partition("\n")[0]
    bug = InternalError(f"{what}: {type(error).__name__}: {said}", todo="please report it, with the view's query")
    bug.__cause__ = error
    return bug
