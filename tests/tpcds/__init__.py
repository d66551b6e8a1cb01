"""TPC-DS in small: its schema, seeded rows and rounds of changes, and 99 queries of our own in the shapes of its queries.

Names, types and keys are those of the benchmark, so that its own queries run on these tables, too."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from rollview.parse.tokens import split_script

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Table:
    name: str
    columns: tuple[tuple[str, str], ...]
    key: tuple[str, ...]
    create: str


@dataclass(frozen=True)
class Query:
    name: str
    sql: str


def tables() -> dict[str, Table]:
    """The tables, read off the schema."""
    found = {}
    for text in split_script((FOLDER / "schema.sql").read_text(encoding="utf-8")):
        match = re.search(r"CREATE TABLE (\w+) \((.*), PRIMARY KEY \(([^)]*)\)\)$", " ".join(text.split()))
        assert match, text
        parts = [part.strip().split(" ") for part in re.split(r",(?![^(]*\))", match[2])]
        columns = tuple((name, kind) for name, kind in parts)
        found[match[1]] = Table(match[1], columns, tuple(match[3].split(", ")), match[0])
    return found


def queries() -> list[Query]:
    """The queries, in order; each begins with a line `-- query: name` and ends with a semicolon."""
    text = (FOLDER / "queries.sql").read_text(encoding="utf-8")
    parts = re.split(r"^-- query: (\w+)\b.*$", text, flags=re.MULTILINE)[1:]
    return [Query(name, body.strip().rstrip(";")) for name, body in zip(parts[::2], parts[1::2], strict=True)]
