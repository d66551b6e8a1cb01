"""The cases of the delta rules: small tables, a view, a change, and the rows that it adds to the view and takes from it.

    # what the file is about

    table t: id int key, g string, x int
    1 | a    | 10
    2 | NULL | 20

    view: SELECT g, sum(x) AS s FROM t GROUP BY g
    given: INSERT INTO t VALUES (3, 'a', 5)

    == a group grows
    INSERT INTO t VALUES (4, 'a', 1)
    -> aggregate_merge
    g | s  | weight
    a | 15 | -1
    a | 16 | 1

The tables are the same for all cases of a file; a view and what else is ``given`` are for the cases up to the next view.
The last part of a case is the strategy of the refresh and the weighted rows; ``pytest tests/cases --bless`` writes it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rollview.frontend.sql import BaseTable
from rollview.parse.tokens import split_script

FOLDER = Path(__file__).parents[1] / "cases"

#: Rows with weights, as they are written.
Weighted = Counter[tuple[str, ...]]


@dataclass(frozen=True)
class Case:
    file: str
    title: str
    tables: dict[str, BaseTable]
    start: tuple[str, ...]
    view: str = ""
    change: tuple[str, ...] = ()
    expected: str = ""

    @property
    def rows(self) -> Weighted:
        """The expected rows with their weights."""
        split = ([value.strip() for value in line.split("|")] for line in self.expected.splitlines()[2:])
        return Counter({tuple(row): int(weight) for *row, weight in split})

    def __str__(self) -> str:
        return f"{self.file}: {self.title}"


@dataclass
class _Reader:
    """Reads one file, line by line."""

    file: str
    tables: dict[str, BaseTable] = field(default_factory=dict)
    start: list[str] = field(default_factory=list)
    given: list[str] = field(default_factory=list)
    view: str = ""
    table: str | None = None

    def block(self, lines: Sequence[str]) -> Case | None:
        first, rest = lines[0], lines[1:]
        if first.startswith("== "):
            at = next((i for i, line in enumerate(rest) if line.startswith("-> ")), len(rest))
            change = tuple(split_script("\n".join(rest[:at])))
            start = (*self.start, *self.given)
            title = first.removeprefix("== ")
            return Case(self.file, title, self.tables, start, self.view, change, "\n".join(rest[at:]))
        if first.startswith("table "):
            self._table(first, rest)
        elif first.startswith("view: "):
            text = "\n".join(lines)
            view, _, given = text.partition("\ngiven: ")
            self.view, self.given = view.removeprefix("view: "), split_script(given)
        else:
            assert first.startswith("#"), f"{self.file}: {first}"
        return None

    def _table(self, first: str, rows: Sequence[str]) -> None:
        name, _, listed = first.removeprefix("table ").partition(": ")
        parts = [part.split() for part in listed.split(", ")]
        columns = tuple((part[0], part[1]) for part in parts)
        key = tuple(part[0] for part in parts if part[2:] == ["key"])
        self.tables[name] = BaseTable(name, columns, key)
        tail = f", PRIMARY KEY ({', '.join(key)})" if key else ""
        self.start.append(f"CREATE TABLE {name} ({', '.join(f'{n} {kind.upper()}' for n, kind in columns)}{tail})")
        if rows:
            kinds = [kind for _, kind in columns]
            values = (map(_literal, row.split("|"), kinds) for row in rows)
            self.start.append(f"INSERT INTO {name} VALUES {', '.join(f'({each})' for each in map(', '.join, values))}")


def _literal(text: str, kind: str) -> str:
    text = text.strip()
    return f"'{text}'" if kind == "string" and text != "NULL" else f"DATE'{text}'" if kind == "date" else text


def cases() -> Iterator[Case]:
    """All cases of all files."""
    for path in sorted(FOLDER.glob("*.case")):
        reader = _Reader(path.stem)
        for _, lines in _blocks(path.read_text(encoding="utf-8")):
            found = reader.block(lines)
            if found is not None:
                yield found


def bless(case: Case, expected: str) -> None:
    """Writes what is expected of a case into its file."""
    path = FOLDER / f"{case.file}.case"
    lines = path.read_text(encoding="utf-8").splitlines()
    at = next(start for start, block in _blocks("\n".join(lines)) if block[0] == f"== {case.title}")
    stop = next((i for i in range(at, len(lines)) if not lines[i]), len(lines))
    begin = next((i for i in range(at, stop) if lines[i].startswith("-> ")), stop)
    path.write_text("\n".join([*lines[:begin], *expected.splitlines(), *lines[stop:]]) + "\n", encoding="utf-8")


def _blocks(text: str) -> Iterator[tuple[int, list[str]]]:
    """The parts between empty lines, each with the number of its first line."""
    found: list[str] = []
    for number, line in enumerate([*text.splitlines(), ""]):
        if line:
            found.append(line)
        elif found:
            yield number - len(found), found
            found = []


def written(strategy: str, columns: Sequence[str], rows: Weighted) -> str:
    """A strategy and weighted rows as a file has them."""
    lines = [(*columns, "weight"), *sorted((*row, str(weight)) for row, weight in rows.items())]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    padded = (" | ".join(value.ljust(width) for value, width in zip(line, widths, strict=True)) for line in lines)
    return "\n".join([f"-> {strategy}", *(line.rstrip() for line in padded)])


def texts(rows: Counter[Any]) -> Weighted:
    """Rows with their values as texts."""
    found: Weighted = Counter()
    for row, weight in rows.items():
        found[tuple(map(_text, row))] += weight
    return found


def _text(value: object) -> str:
    if value is None or isinstance(value, bool):
        return {None: "NULL", True: "true", False: "false"}[value]
    return str(value)


def difference(after: Counter[Any], before: Counter[Any]) -> Weighted:
    """What leads from one bag to another."""
    found = texts(after)
    found.subtract(texts(before))
    return Counter({row: weight for row, weight in found.items() if weight})
