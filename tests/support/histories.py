"""Random histories of changes of the tables of ``generate``, as SQL that can be pasted into ``rollview sql``."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from generate import TABLES, WITH_FLOATS, Generator, random_value
from rollview.frontend.sql import BaseTable


@dataclass(frozen=True)
class History:
    """A view, the statements that make and fill its tables, and commits of statements after which it is refreshed."""

    view: str
    start: tuple[str, ...]
    commits: tuple[tuple[str, ...], ...]

    def script(self) -> str:
        """All of it as one script."""
        lines = [*self.start, f"CREATE MATERIALIZED VIEW v AS {self.view}"]
        for commit in self.commits:
            lines += [*commit, "REFRESH MATERIALIZED VIEW v"]
        return ";\n".join(lines) + ";"


def create_statements(tables: Mapping[str, BaseTable]) -> list[str]:
    made = []
    for table in tables.values():
        columns = ", ".join(f"{name} {kind.upper()}" for name, kind in table.columns)
        key = f", PRIMARY KEY ({', '.join(table.key)})" if table.key else ""
        made.append(f"CREATE TABLE {table.name} ({columns}{key})")
    return made


class Writer:
    """Writes statements that keep the declared keys, which it knows by following what it wrote."""

    def __init__(self, rng: random.Random, tables: Mapping[str, BaseTable] = TABLES) -> None:
        self.rng = rng
        self.tables = [table for table in tables.values() for _ in range(1 if table.name in TABLES else 4)]
        self.keys: dict[str, set[tuple[int, ...]]] = {name: set() for name in tables}

    def value(self, kind: str, null: bool) -> str:
        if null and self.rng.random() < 0.25:
            return "NULL"
        value = random_value(self.rng, kind)
        return f"'{value}'" if isinstance(value, str) else f"{value}D" if kind == "double" else str(value)

    def insert(self, table: BaseTable, rows: int) -> str | None:
        listed = []
        for _ in range(rows):
            row = {name: self.value(kind, name not in table.key) for name, kind in table.columns}
            key = tuple(int(row[name]) for name in table.key)
            if table.key and key in self.keys[table.name]:
                continue
            self.keys[table.name].add(key)
            listed.append(f"({', '.join(row.values())})")
        return f"INSERT INTO {table.name} VALUES {', '.join(listed)}" if listed else None

    def delete(self, table: BaseTable) -> str:
        if table.key and self.keys[table.name]:
            key = self.rng.choice(sorted(self.keys[table.name]))
            self.keys[table.name].discard(key)
            return f"DELETE FROM {table.name} WHERE " + " AND ".join(
                f"{c} = {v}" for c, v in zip(table.key, key, strict=True)
            )
        if table.key:
            return f"DELETE FROM {table.name} WHERE {table.key[0]} > 99"
        name, kind = self.rng.choice(table.columns)
        return f"DELETE FROM {table.name} WHERE {name} <=> {self.value(kind, True)}"

    def update(self, table: BaseTable) -> str:
        name, kind = self.rng.choice([c for c in table.columns if c[0] not in table.key])
        where, other = self.rng.choice(table.columns)
        operator = self.rng.choice(["<=>", "<", ">="])
        return f"UPDATE {table.name} SET {name} = {self.value(kind, True)} WHERE {where} {operator} {self.value(other, False)}"

    def statement(self) -> str | None:
        table = self.rng.choice(self.tables)
        form = self.rng.random()
        if form < 0.45:
            return self.insert(table, self.rng.randrange(1, 4))
        return self.delete(table) if form < 0.75 else self.update(table)


def history(seed: int, commits: int = 4, *, floats: bool = False) -> History:
    rng = random.Random(seed)
    tables = WITH_FLOATS if floats else TABLES
    writer = Writer(rng, tables)
    start = create_statements(tables)
    for table in tables.values():
        if (text := writer.insert(table, rng.randrange(8))) is not None:
            start.append(text)
    done = []
    for _ in range(commits):
        found = [writer.statement() for _ in range(rng.randrange(1, 4))]
        done.append(tuple(text for text in found if text is not None))
    return History(Generator(rng, floats).query(), tuple(start), tuple(done))


def shrunk(failing: History, fails: Callable[[History], bool]) -> History:
    """A shorter history that still fails: statements are left out one by one as long as it does."""
    best = failing
    shorter = True
    while shorter:
        shorter = False
        for candidate in _shorter(best):
            if fails(candidate):
                best, shorter = candidate, True
                break
    return best


def _shorter(history: History) -> list[History]:
    found = []
    for i in range(len(history.commits)):
        found.append(History(history.view, history.start, history.commits[:i] + history.commits[i + 1 :]))
    for i, commit in enumerate(history.commits):
        for j in range(len(commit)):
            less = (*history.commits[:i], commit[:j] + commit[j + 1 :], *history.commits[i + 1 :])
            found.append(History(history.view, history.start, less))
    for i, text in enumerate(history.start):
        if text.startswith("INSERT"):
            found.append(History(history.view, history.start[:i] + history.start[i + 1 :], history.commits))
    return found
