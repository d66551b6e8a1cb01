"""Translates Spark's errors: what is wrong, where in the statement, and which name may have been meant."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pyspark.errors import PySparkException

from rollview.errors import (
    ColumnNotFound,
    Damaged,
    InternalError,
    Place,
    RollviewError,
    SqlError,
    SqlSyntaxError,
    TableNotFound,
    TooLargeToSend,
    nearest,
)
from rollview.parse.names import parse_name, quote
from rollview.parse.stored_names import damaged

#: Spark's messages if it cannot broadcast rows: too many, too large for the driver, or too large a result.
_TOO_LARGE = (
    "Cannot broadcast the table",
    "Not enough memory to build and broadcast",
    "Could not execute broadcast in",
    "is bigger than spark.driver.maxResultSize",
)


#: An error about a statement inside a Java exception: Spark's message and the SQLSTATE.
_REFUSED = re.compile(r"\[[A-Z_.0-9]+\] (.*)SQLSTATE: (\w+)", re.DOTALL)


@contextlib.contextmanager
def spark_errors(sql: str, names: Callable[[], Iterable[str]] = tuple) -> Iterator[None]:
    """Translates Spark's errors about ``sql``; ``names`` lists the tables that are suggested for a misspelled name."""
    try:
        yield
    except PySparkException as error:
        if _is_too_large(str(error)):
            raise TooLargeToSend("Spark cannot broadcast the rows of a join", why=_sentence(error)) from error
        raise damage_in(error) or translate(error, sql, names()) from error
    except Exception as error:
        java = getattr(error, "java_exception", None)  # only on classic sessions
        if java is None:
            raise
        if found := damage_in(error):
            raise found from error
        cause = _first_cause(java)
        if (refused := _REFUSED.search(cause)) and not refused[2].startswith("XX"):  # internal errors of Spark
            raise SqlError("Spark refuses this statement", why=refused[1].strip()) from error
        kind = TooLargeToSend if _is_too_large(cause) else InternalError
        raise kind("Spark failed while it planned or ran a statement", why=cause) from error


#: Messages of Spark and Delta about missing and unreadable files: data files, and files of a log.
_LOST_DATA = re.compile(
    r"(?:FILE_NOT_EXIST\].*?reading file|DELTA_FILE_NOT_FOUND_DETAILED\] File|FileNotFoundException: File) "
    r"(?P<folder>\S+)/(?P<file>[^/\s]+?)(?:\.\s|\s|$)"
)
_BAD_DATA = re.compile(r"(?P<folder>\S+)/(?P<file>[^/\s]+) is not a Parquet file")
_BAD_LOG = re.compile(r"(?P<folder>[^\s`'\"]*)/_delta_log/(?P<file>[\w.-]*\w)")
_LOG_TROUBLE = re.compile(
    r"FAILED_READ_FILE|ChecksumException|DELTA_TRUNCATED_TRANSACTION_LOG|DELTA_LOG_FILE_NOT_FOUND|"
    r"DELTA_STATE_RECOVER_ERROR|DELTA_VERSIONS_NOT_CONTIGUOUS|JsonParseException|MalformedInput"
)

_GAP = re.compile(r"gap in the delta log between versions (?P<after>\d+) and \d+")
_LOST_LOG = {
    "DELTA_TRUNCATED_TRANSACTION_LOG": "the first entries of its log are missing",
    "DELTA_STATE_RECOVER_ERROR": "no entry of its log says what columns it has: the entry that did is missing",
}


def damage_in(error: BaseException, table: str | None = None) -> Damaged | None:
    """The damage that Spark's error is about: a missing or unreadable file of a table; None if it is about something
    else. Without ``table``, the table's name is taken from its folder."""
    said = str(error)
    if gap := _GAP.search(said):
        entry = f"{int(gap['after']) + 1:020}.json"
        why = f"its log entry {entry} is missing"
        return Damaged("A table is damaged", why=why) if table is None else damaged(table, why)
    if trouble := _LOG_TROUBLE.search(said):
        if found := _BAD_LOG.search(said):
            return damaged(table or _of_folder(found["folder"]), f"its log entry {found['file']} cannot be read")
        if trouble[0].startswith("DELTA_"):
            why = _LOST_LOG.get(trouble[0], "entries of its log are missing")
            return Damaged("A table is damaged", why=why) if table is None else damaged(table, why)
    if found := _LOST_DATA.search(said):
        why = f"its data file {found['file']} is missing in {found['folder']}"
        return damaged(table or _of_folder(found["folder"]), why)
    if found := _BAD_DATA.search(said):
        why = f"its data file {found['file']} in {found['folder']} is not a Parquet file"
        return damaged(table or _of_folder(found["folder"]), why)
    return None


def _of_folder(path: str) -> str:
    """The table whose file is in a folder, which may be a folder of a partition or of the change feed."""
    parts = [part for part in path.split("/") if part and "=" not in part and part != "_change_data"]
    return re.sub(rb"~([0-9a-f]{2})", lambda m: bytes([int(m[1], 16)]), parts[-1].encode()).decode(errors="replace")


def _is_too_large(said: str) -> bool:
    return any(text in said for text in _TOO_LARGE)


#: The prefix of the columns that rollview adds to a table's own while it edits the table.
_OWN = "__rv_"


def translate(error: PySparkException, sql: str, names: Iterable[str] = ()) -> RollviewError:
    """Spark's error as one of rollview's: what is wrong, where in ``sql``, and which name may have been meant."""
    condition = error.getCondition() or ""
    parameters = error.getMessageParameters() or {}
    place = _place(error, sql)
    if condition.startswith("TABLE_OR_VIEW_NOT_FOUND"):
        shown = parameters.get("relationName", "")
        name = ".".join(parse_name(shown))
        return TableNotFound(
            f"There is no table or view named {shown}",
            where=place or Place.find(sql, name),
            todo=nearest(name, names) or _listing(names),
            name=shown,
        )
    if condition.startswith("UNRESOLVED_COLUMN"):
        shown = parameters.get("objectName", "")
        name = ".".join(parse_name(shown))
        offers = parameters.get("proposal", "")
        columns = [parse_name(offer.strip())[-1] for offer in offers.split(",")] if offers else []
        columns = [column for column in columns if not column.startswith(_OWN)]
        hint = nearest(name.split(".")[-1], columns)
        return ColumnNotFound(
            f"There is no column named {shown}",
            where=place or Place.find(sql, name),
            todo=hint or (f"the columns here are {', '.join(quote(c) for c in columns)}" if columns else ""),
        )
    message = _sentence(error)
    if condition.startswith(("PARSE_", "INVALID_IDENTIFIER")) or "ParseException" in type(error).__name__:
        todo = "put the name into backticks" if "IDENTIFIER" in condition else ""
        return SqlSyntaxError("Spark cannot read this SQL", where=place, why=message, todo=todo)
    return SqlError("Spark refuses this statement", where=place, why=message)


def _first_cause(thrown: Any) -> str:
    """The message of the first cause of a Java exception."""
    while thrown.getCause() is not None:
        thrown = thrown.getCause()
    return str(thrown.toString()).split("\n")[0]


def _listing(names: Iterable[str]) -> str:
    known = sorted(names)
    if not known:
        return "there are no tables yet; make one with CREATE TABLE"
    more = f" and {len(known) - 8} more" if len(known) > 8 else ""
    return f"the tables here are {', '.join(quote(n) for n in known[:8])}{more}"


def _place(error: PySparkException, sql: str) -> Place | None:
    for context in error.getQueryContext() or []:
        try:
            fragment = context.fragment()
            start = context.startIndex()
        except Exception:  # contexts of DataFrame calls have no text
            continue
        if fragment and sql[start : start + len(fragment)] == fragment:
            return Place(sql, start, start + len(fragment))
        if found := Place.find(sql, fragment):
            return found
    if match := re.search(r"\(line (\d+), pos (\d+)\)", str(error)):
        begin = sum(len(line) + 1 for line in sql.split("\n")[: int(match[1]) - 1]) + int(match[2])
        word = re.match(r"\w+|.?", sql[begin:])
        if begin < len(sql) and word:
            return Place(sql, begin, begin + max(1, len(word[0])))
    return None


def _sentence(error: PySparkException) -> str:
    """Spark's message without its error class, plan, SQL echo and stack."""
    try:
        text = error.getMessage() or str(error)
    except Exception:  # PySpark looks up every message in its own list, which lacks Delta's
        text = str(error)
    text = re.split(r"\n\s*\n|\n==|;\s*line \d+ pos \d+|\(line \d+, pos \d+\)|SQLSTATE: \w+", text.strip())[0]
    return re.sub(r"^\[[A-Z_.0-9]+\]\s*", "", text).strip()
