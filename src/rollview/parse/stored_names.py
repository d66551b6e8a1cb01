"""The names of rollview's own tables, and the views that they belong to."""

from __future__ import annotations

import re

from rollview.errors import Damaged
from rollview.parse.names import quote

#: Tables with names that begin so are rollview's own.
RESERVED = "__rollview_"

#: The table that stores the commit clock.
CLOCK = "__rollview_clock"

#: The name of a view's state table is this prefix and the view's name.
STATE_PREFIX = "__rollview__"

#: The name of the table with a view's timed delta is this prefix and the view's name.
DELTA_PREFIX = "__rollview_delta_"

#: The name of a helper is this prefix, a number and the view's name.
HELPER_PREFIX = "__rollview_helper_"

_HELPER = re.compile(rf"{HELPER_PREFIX}[0-9a-f]{{8}}_")


def is_reserved(table: str) -> bool:
    """Whether a table is rollview's own: the state of a view, or the commit clock."""
    return table.startswith(RESERVED) or table.rsplit(".", 1)[-1].startswith(RESERVED)


def view_of(table: str) -> str | None:
    """The view whose rows a table stores (for a helper, the view that reads it); None if it is a user's table."""
    *space, last = [table] if table.startswith(STATE_PREFIX) else table.rsplit(".", 1)
    if not last.startswith(STATE_PREFIX):
        return None
    name = last.removeprefix(STATE_PREFIX)
    while found := _HELPER.match(name):
        name = name[found.end() :]
    return ".".join([*space, name])


def written(name: str) -> str:
    """The name of a table or view, quoted for a statement if it has to be."""
    plain = re.fullmatch(r"\w+(\.\w+)*", name, re.ASCII) or name.endswith("`")  # a path is quoted already
    return name if plain else quote(name)


def damaged(table: str, why: str) -> Damaged:
    """The error for a table whose newest version cannot be read. It names the view if the table stores one."""
    view = view_of(table)
    if table == CLOCK:
        return Damaged(
            "The commit clock is damaged",
            why=why,
            todo=f"restore the table {CLOCK} of the warehouse from a backup; if there is none, remove it: then "
            "commits get new positions",
        )
    if view is None:
        return Damaged(
            f"The table {table} is damaged",
            why=why,
            todo=f"restore the file from a backup, or DROP TABLE {written(table)} and load it again",
        )
    return Damaged(
        f"The materialized view {view} is damaged",
        why=why,
        todo=f"REFRESH MATERIALIZED VIEW {written(view)} FULL recomputes it from its base tables; if its definition "
        "is lost, too, CREATE OR REPLACE MATERIALIZED VIEW defines it again",
    )
