"""Names of tables and views: parsed from a user's text, and quoted for SQL."""

from __future__ import annotations

from rollview.errors import SqlSyntaxError
from rollview.parse.tokens import Cursor, SqlTokens

Name = tuple[str, ...]


def quote(part: str) -> str:
    """One identifier in backticks."""
    return "`" + part.replace("`", "``") + "`"


def quote_name(name: Name) -> str:
    """A dotted name, each part in backticks."""
    return ".".join(quote(part) for part in name)


def parse_name(text: str) -> Name:
    """The parts of a name that is an argument of an API call: ``v``, ``db.v``, ```my view```, or just ``my view``."""
    try:
        cursor = Cursor(SqlTokens.of(text))
        name = cursor.name("a name")
    except SqlSyntaxError:
        return (text.strip(),)
    return name if cursor.done else (text.strip(),)
