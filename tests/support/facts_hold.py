"""Whether the key, the dependencies and the NOT NULL columns of an operator are true of its rows."""

from __future__ import annotations

from typing import Any

import duckdb

from rollview.codegen.printer import print_plan
from rollview.keys import facts_of
from rollview.plan.nodes import Node


def check(db: duckdb.DuckDBPyConnection, name: str, node: Node) -> None:
    facts = facts_of(node)
    if facts.key is None and not facts.dependencies and not facts.not_null:
        return
    names = [column.name for column in node.columns]
    rows = [
        dict(zip(names, map(repr, row), strict=True))
        for row in db.execute(print_plan(node, "duckdb", names)).fetchall()
    ]
    where = f"{name}: {node.title} {node.details}"

    def values(row: dict[str, Any], columns: frozenset[str]) -> tuple[Any, ...]:
        return tuple(row[column] for column in sorted(columns))

    if facts.key is not None:
        assert len({values(row, facts.key) for row in rows}) == len(rows), f"{where}: key {set(facts.key)}"
    for given, decided in facts.dependencies:
        pairs = {(values(row, given), row[decided]) for row in rows}
        assert len(pairs) == len({pair[0] for pair in pairs}), f"{where}: {set(given)} → {decided}"
    for column in facts.not_null:
        assert not any(row[column] == "None" for row in rows), f"{where}: {column} is NULL"
