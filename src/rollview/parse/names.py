"""Names of tables and views: written by a user, or to be written into SQL."""

from __future__ import annotations

from rollview.parse.tokens import Cursor, SqlTokens

Name = tuple[str, ...]


def quote(part: str) -> str:
    """One identifier in backticks."""
    return "`" + part.replace("`", "``") + "`"


def quote_name(name: Name) -> str:
    """A dotted name, each part in backticks."""
    return ".".join(quote(part) for part in name)


def parse_name(text: str) -> Name:
    """The parts of a name as an API call gives it: ``v``, ``db.v``, ```my view```, or simply ``my view``."""
    tokens = SqlTokens.of(text)
    cursor = Cursor(tokens)
    if cursor.done:
        return (text,)
    try:
        name = cursor.name("a name")
    except Exception:
        return (text.strip(),)
    return name if cursor.done else (text.strip(),)
