"""The tables that a statement names in its text: they must be readable before it runs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from rollview.errors import RollviewError
from rollview.parse.names import Name
from rollview.parse.references import references
from rollview.parse.tables import (
    CreateTable,
    Delete,
    DropPlainView,
    DropTable,
    Insert,
    Merge,
    ShowTables,
    TableStatement,
    Update,
)


def tables_in(statement: TableStatement | DropPlainView | ShowTables | None, sql: str) -> frozenset[Name] | None:
    """The tables whose rows a statement reads or changes, without those that it creates or drops. None if they are not
    known: for a statement that only the engine understands and that is not a query."""
    if isinstance(statement, DropTable | DropPlainView | ShowTables):
        return frozenset()
    if statement is None:
        return _named([sql])
    found = _named(_queries(statement))
    if found is None or isinstance(statement, CreateTable):
        return found
    return found | {statement.table}


def _queries(statement: TableStatement) -> Iterator[str]:
    """The parts of a statement that read tables, each as a query."""
    if isinstance(statement, Insert | CreateTable):
        if statement.query is not None and not re.match(r"\s*VALUES\b", statement.query, re.IGNORECASE):
            yield statement.query  # VALUES may have very many rows, and names no table
        return
    conditions: list[str | None] = []
    values = []
    if isinstance(statement, Merge):
        yield f"SELECT * FROM {statement.source}"
        conditions = [statement.condition, *(clause.condition for clause in statement.clauses)]
        values = [value for clause in statement.clauses for _, value in clause.assignments or ()]
    elif isinstance(statement, Update | Delete):
        conditions = [statement.where]
        values = [value for _, value in statement.assignments] if isinstance(statement, Update) else []
    for part in (*conditions, *values):
        if part is not None and re.search(r"\bFROM\b", part, re.IGNORECASE):  # a subquery
            yield f"SELECT {part}"


def _named(queries: Iterable[str]) -> frozenset[Name] | None:
    try:
        return frozenset(reference.name for query in queries for reference in references(query))
    except (RollviewError, RecursionError):
        return None
