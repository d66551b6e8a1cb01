"""The tables and columns of a view as they are now, compared with those when the view was created."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace

from rollview.errors import ColumnNotFound, SchemaChanged, SqlError
from rollview.views.catalog import Catalog
from rollview.views.definition import View
from rollview.views.relation import relation


def over_tables_now(catalog: Catalog, view: View) -> View:
    """The view over tables that were replaced: with those of its columns that still exist, and the new keys."""
    bases = {}
    for table, base in view.bases.items():
        now = relation(catalog, table).base()
        kinds = {name.casefold(): kind for name, kind in now.columns}
        there = tuple((name, kinds[name.casefold()]) for name, _ in base.columns if name.casefold() in kinds)
        bases[table] = replace(now, columns=there)
    return replace(view, bases=bases)


@contextlib.contextmanager
def schema_errors(view: View) -> Iterator[None]:
    """Reports an error in a query that was valid when the view was created: a base table has another schema now."""
    try:
        yield
    except (SqlError, ColumnNotFound) as error:
        raise SchemaChanged(
            f"The query of {view.title} no longer fits its base tables: {error.what}",
            where=None if view.owner else error.where,
            why=error.why or "a base table was replaced by one with another schema; the view is as it was",
            todo="bring the column back, or redefine the view with CREATE OR REPLACE MATERIALIZED VIEW",
        ) from error


def check_same_columns(view: View, now: list[tuple[str, str]]) -> None:
    was = [(column.name, column.type) for column in view.columns]
    if now == was:
        return
    differing = [
        f"{a[0]} was {a[1].upper()} and is {b[1].upper()}" if a[0] == b[0] else f"{a[0]} is now {b[0]}"
        for a, b in zip(was, now, strict=False)
        if a != b
    ]
    if len(now) != len(was):
        differing.append(f"there were {len(was)} columns and there are {len(now)}")
    raise SchemaChanged(
        f"The columns of {view.title} would change: {'; '.join(differing)}",
        why="a base table was replaced by one with another schema; the view is as it was",
        todo="redefine the view with CREATE OR REPLACE MATERIALIZED VIEW",
    )
