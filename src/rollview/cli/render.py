"""Output of the command line: tables and colours on a terminal, plain text in a pipe, JSON for programs."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import decimal
import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, Row
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from rollview.engine.protocol import Answer
from rollview.errors import InternalError, NotIncremental, RollviewError

#: Exit codes, which stay the same between versions.
OK, MISTAKE, USAGE, DIFFERENT, NOT_INCREMENTAL, BUG = 0, 1, 2, 3, 4, 70

_LONGEST = 1000

#: Words up to this length are not cut to make room for a table.
_WORD = 16

#: What takes longer than this many seconds shows its progress.
_QUIET = 2.0


def exit_code(error: RollviewError) -> int:
    if isinstance(error, InternalError):
        return BUG
    return NOT_INCREMENTAL if isinstance(error, NotIncremental) else MISTAKE


class Screen:
    """Where a command writes: results to stdout, progress and errors to stderr."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self.out = _console(sys.stdout)
        self.err = _console(sys.stderr)

    def emit(self, value: Any) -> None:
        """One JSON document on stdout."""
        print(json.dumps(_plain(value), ensure_ascii=False))

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[Any]], title: str | None = None) -> None:
        """Rows below each other under the names of their columns; if the screen is too narrow for that, each row by
        itself, a value on each line."""
        least = _least_widths(columns, rows)
        if sum(least) + 3 * len(columns) > self.out.width:
            self._records(columns, rows, title)
            return
        table = Table(box=SIMPLE_HEAD, title=title, title_justify="left", header_style="bold", pad_edge=False)
        numeric = [
            all(row[i] == "" or isinstance(row[i], int | float | decimal.Decimal | None) for row in rows) and bool(rows)
            for i in range(len(columns))
        ]
        for name, right, width in zip(columns, numeric, least, strict=True):
            table.add_column(Text(name), justify="right" if right else "left", overflow="fold", min_width=width)
        for row in rows:
            table.add_row(*[Text(_cell(value)) if not isinstance(value, Text) else value for value in row])
        self.out.print(table)

    def _records(self, columns: Sequence[str], rows: Sequence[Sequence[Any]], title: str | None) -> None:
        for row in rows:
            record = Table(box=None, show_header=False, title=title, title_justify="left", pad_edge=False)
            record.add_column(style="bold", no_wrap=True)
            record.add_column(overflow="fold")
            for name, value in zip(columns, row, strict=True):
                record.add_row(Text(name), Text(_cell(value)))
            self.out.print(record)
            self.out.print()
            title = None

    def result(self, result: Answer | DataFrame, limit: int) -> None:
        """Shows the rows of a statement, up to a limit, and whether there are more."""
        columns = list(result.columns)
        rows: Sequence[Sequence[Any]]
        if isinstance(result, Answer):
            rows = result.rows[: limit + 1]
        else:
            rows = result.limit(limit + 1).collect() if columns else []
        cut = len(rows) > limit
        if self.as_json:
            names = _unique(columns)
            values = [dict(zip(names, row, strict=True)) for row in rows[:limit]]
            self.emit({"columns": names, "rows": values, "truncated": cut})
            return
        if columns == ["plan"] and len(rows) == 1 and isinstance(rows[0][0], str):
            self.out.print(Text(rows[0][0]))
            return
        if columns:
            self.table(columns, [tuple(row) for row in rows[:limit]])
            self.out.print(
                f"{limit} rows shown, there are more (--limit)"
                if cut
                else f"{len(rows)} row{'' if len(rows) == 1 else 's'}",
                style="dim",
                highlight=False,
            )

    def error(self, error: RollviewError, view: str | None = None) -> None:
        """Shows an error, with the name of its view if it has one."""
        if self.as_json:
            self.emit(error_document(error))
            return
        kind = {BUG: "bug in rollview", NOT_INCREMENTAL: "not incremental"}.get(exit_code(error), "error")
        text = Text.assemble((f"{kind}: ", "bold red"), f"{view}: " if view else "", error.what)
        if error.where is not None and (lines := error.where.underlined()):
            text.append("\n" + lines, style="cyan")
        if error.why:
            text.append(f"\nWhy: {error.why}")
        if error.todo:
            text.append(f"\nWhat to do: {error.todo}", style="green")
        self.err.print(text, soft_wrap=True)

    @contextlib.contextmanager
    def busy(self, what: str) -> Iterator[Callable[[str], None]]:
        """Shows progress: a spinner on a terminal; in a pipe, a line after work that took over 2 seconds. What is said
        meanwhile is shown beside the spinner, or as a line if none has been shown for 2 seconds."""
        begin = last = time.monotonic()
        if self.err.is_terminal and not self.as_json:
            with self.err.status(f"{what} …") as status:
                yield lambda told: status.update(f"{what} … {escape(told)}")
            return

        def say(told: str) -> None:
            nonlocal last
            if time.monotonic() - last > _QUIET and not self.as_json:
                self.err.print(told, highlight=False, markup=False)
                last = time.monotonic()

        yield say
        if (spent := time.monotonic() - begin) > _QUIET and not self.as_json:
            self.err.print(f"{what}: {spent:.1f} s", highlight=False)


def error_document(error: RollviewError) -> dict[str, Any]:
    """An error as JSON."""
    return {
        "error": error.code,
        "what": error.what,
        "why": error.why,
        "todo": error.todo,
        "sql": error.where.sql if error.where else None,
        "span": [error.where.start, error.where.stop] if error.where else None,
    }


def _console(stream: Any) -> Console:
    """A rich console; in a pipe, it has no colours and no line width."""
    if stream.isatty():
        return Console(file=stream)
    width = int(os.environ.get("COLUMNS", "0")) or 10_000
    return Console(file=stream, width=width, color_system=None, force_terminal=False)


def _least_widths(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[int]:
    """How narrow each column can be without a name or number that is cut, or many words that are."""
    widths = []
    for i, name in enumerate(columns):
        words = [word for row in rows for word in _cell(row[i]).split()]
        widths.append(max([len(name), *(min(len(word), _WORD) for word in words)]))
    return widths


def _cell(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{k}: {v}" for k, v in value.items())
    text = str(value)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


def _plain(value: Any) -> Any:
    """The value as JSON: dates, decimals and numbers such as NaN become text."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _plain(dataclasses.asdict(value))
    if isinstance(value, Row):
        return _plain(value.asDict())
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else str(_plain(key)): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, bytes | bytearray):
        return value.hex()
    return value.isoformat() if isinstance(value, datetime.datetime | datetime.date) else str(value)


def _unique(names: Sequence[str]) -> list[str]:
    """The names; a repeated name gets a number."""
    seen: dict[str, int] = {}
    found = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return found
