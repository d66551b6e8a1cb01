"""Random histories of edits: after each commit, the table and its changes are compared with the interpreter."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rollview.engine.protocol import Frame
from rollview.errors import AmbiguousMerge
from rollview.store.conformance.bench import Bench, bag
from rollview.store.conformance.interpreter import Meaning, Row, applied
from rollview.store.edits import Append, DeleteMatching, RowEdit, TakeCopies, UpdateMatching, Upsert
from rollview.store.protocol import NO_STAMP, Stamp

COLUMNS = ("k", "g", "n")

#: New values of ``k``, of ``n``, and conditions on which rows go.
_KEYS = ("s.k", "t.k + 1", "NULL")
_NUMBERS = ("s.n", "t.n + s.n", "t.n + 1", "t.n")
_GONE = ("t.n + s.n = 0", "s.n > 3")

MEANING: Meaning = {
    "s.k": lambda t, s: s["k"],
    "t.k + 1": lambda t, s: None if t["k"] is None else t["k"] + 1,
    "NULL": lambda t, s: None,
    "s.n": lambda t, s: s["n"],
    "t.n": lambda t, s: t["n"],
    "t.n + 1": lambda t, s: t["n"] + 1,
    "t.n + s.n": lambda t, s: t["n"] + s["n"],
    "t.n + s.n = 0": lambda t, s: t["n"] is not None and t["n"] + s["n"] == 0,
    "s.n > 3": lambda t, s: s["n"] > 3,
}


def follow(bench: Bench, seed: int, commits: int = 6) -> int:
    """Follows one history, and returns how many of its commits were refused as ambiguous."""
    chance, refused = random.Random(seed), 0
    rows: list[Row] = [_row(chance) for _ in range(chance.randrange(8))]
    bench.store.create("t", _frame(bench, rows, COLUMNS))
    for number in range(1, commits + 1):
        edits = [_edit(chance) for _ in range(chance.choice((1, 1, 2, 3)))]
        stamp = Stamp({"number": number}, "history", number) if chance.random() < 0.3 else NO_STAMP
        given = [replace(edit, rows=_frame(bench, edit.rows, _names(edit))) for edit in edits]
        before, label = bench.store.version("t"), f"seed {seed}, commit {number}: {edits} on {rows}"
        try:
            expected = applied(rows, edits, MEANING, COLUMNS)
        except AmbiguousMerge:
            refused += 1
            _check_refused(bench, given, stamp, label)
            assert bench.store.version("t") == before, label
            continue
        commit = bench.store.commit("t", given, stamp)
        wanted = bag([tuple(row[c] for c in COLUMNS) for row in expected])
        assert bag(bench.held()) == wanted, label
        assert bench.replayed(before, commit.version) == wanted, label
        assert commit.metadata == stamp.metadata or commit.version == before, label
        assert commit.version > before if stamp != NO_STAMP else True, label
        if commit.version > before and commit.inserted is not None and commit.deleted is not None:
            assert commit.inserted - commit.deleted == len(expected) - len(rows), label
        rows = expected
    bench.store.drop("t")
    return refused


def _check_refused(bench: Bench, edits: Sequence[RowEdit], stamp: Stamp, label: str) -> None:
    try:
        bench.store.commit("t", edits, stamp)
    except AmbiguousMerge:
        return
    raise AssertionError(f"not refused as ambiguous: {label}")


def _row(chance: random.Random) -> dict[str, Any]:
    return {"k": chance.choice((None, 1, 2, 3)), "g": chance.choice((None, "a", "b")), "n": chance.randint(1, 4)}


def _edit(chance: random.Random) -> RowEdit:
    rows = [_row(chance) for _ in range(chance.randrange(4))]
    kind = chance.randrange(6)
    if kind == 0:
        return Append(rows)
    if kind == 1:
        unique = list({(row["k"], row["g"]): row for row in rows}.values())
        return TakeCopies([{**row, "n": row["n"] * chance.choice((1, -1, -2))} for row in unique], ("k", "g"), "n")
    on = chance.choice((("k",), ("g",), ("k", "g")))
    if chance.random() < 0.8:  # else two rows may address the same stored row
        rows = list({tuple(row[c] for c in on): row for row in rows}.values())
    if kind == 2:
        return DeleteMatching([{c: row[c] for c in on} for row in rows], on)
    values = {"n": chance.choice(_NUMBERS)} | ({"k": chance.choice(_KEYS)} if chance.random() < 0.3 else {})
    if kind == 3:
        return UpdateMatching(rows, on, values)
    if chance.random() < 0.5:
        rows = [{**row, "__delete": chance.random() < 0.4} for row in rows]
    values = values if chance.random() < 0.5 else {}
    return Upsert(rows, on, values, chance.choice(_GONE) if chance.random() < 0.3 else None)


def _names(edit: RowEdit) -> tuple[str, ...]:
    if isinstance(edit, DeleteMatching):
        return tuple(edit.on)
    flagged = any("__delete" in row for row in edit.rows)
    return (*COLUMNS, "__delete") if flagged else COLUMNS


_TYPES: Mapping[str, str] = {"k": "INT", "g": "STRING", "n": "INT", "__delete": "BOOLEAN"}


def _frame(bench: Bench, rows: Sequence[Row], names: Sequence[str]) -> Frame:
    def literal(row: Row, name: str) -> str:
        value = row[name]
        text = "NULL" if value is None else f"'{value}'" if isinstance(value, str) else str(value)
        return f"CAST({text} AS {_TYPES[name]})"

    listed = [f"({', '.join(literal(row, name) for name in names)})" for row in rows]
    if listed:
        return bench.rows(", ".join(listed), ", ".join(names))
    return bench.nothing(f"({', '.join(f'CAST(NULL AS {_TYPES[name]})' for name in names)})", ", ".join(names))
