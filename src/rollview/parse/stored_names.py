"""The names of the tables that store views, and what users call them."""

from __future__ import annotations

import re

from rollview.errors import Damaged
from rollview.parse.names import quote

#: The name of a view's state table is the view's name after this.
STATE_PREFIX = "__rollview__"

#: The name of a helper is the view's name after this and a number of its own.
HELPER_PREFIX = "__rollview_helper_"

_HELPER = re.compile(rf"{HELPER_PREFIX}[0-9a-f]{{8}}_")


def view_of(table: str) -> str | None:
    """The view whose rows a table stores; of a helper, the view that it helps; None if it is a user's table."""
    *space, last = [table] if table.startswith(STATE_PREFIX) else table.rsplit(".", 1)
    if not last.startswith(STATE_PREFIX):
        return None
    name = last.removeprefix(STATE_PREFIX)
    while found := _HELPER.match(name):
        name = name[found.end() :]
    return ".".join([*space, name])


def written(name: str) -> str:
    """A table's or view's name as it can stand in a statement."""
    plain = re.fullmatch(r"\w+(\.\w+)*", name, re.ASCII) or name.endswith("`")  # by its path, it is quoted already
    return name if plain else quote(name)


def damaged(table: str, why: str) -> Damaged:
    """The error for a table whose newest version cannot be read; of a view, if the table stores one."""
    view = view_of(table)
    if view is None:
        return Damaged(
            f"The table {table} is damaged",
            why=why,
            todo=f"bring the file back from a copy, or DROP TABLE {written(table)} and load it again",
        )
    return Damaged(
        f"The materialized view {view} is damaged",
        why=why,
        todo=f"REFRESH MATERIALIZED VIEW {written(view)} FULL recomputes it from its base tables; if its definition "
        "is lost, too, CREATE OR REPLACE MATERIALIZED VIEW defines it again",
    )
