"""Values that a caller gives, checked before anything is done with them."""

from __future__ import annotations

import re

from rollview.errors import UserError

NAME, NAME_TODO = "A name", "give the name of the view or table as a string: 'v', 'schema.v'"
POSITION_TODO = "rv.position(as_of='2026-11-18 17:00') is the position of a time"
SQL, SQL_TODO = "SQL", "give the text of the statement as a string"


def article(value: object) -> str:
    """What kind of value something is, for messages."""
    kind = type(value).__name__
    return "None" if value is None else f"{'an' if kind[:1] in 'aeiouAEIOU' else 'a'} {kind}"


def check_text(value: object, what: str, todo: str) -> None:
    if not isinstance(value, str):
        raise UserError(f"{what} is a string, not {article(value)}", todo=todo)
    if lone := re.search("[\ud800-\udfff]", value):
        raise UserError(f"{what} is no Unicode text", why=f"it has half of a character, {lone[0]!r}", todo=todo)
