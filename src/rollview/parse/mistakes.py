"""sqlglot's syntax errors, translated into errors of rollview."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

from sqlglot.errors import ParseError, SqlglotError, TokenError

from rollview.errors import Place, SqlSyntaxError

#: What opens a part of a text: the name of such a part, and what closes it.
_PARTS = {
    "'": ("string", "'"),
    '"': ("string", '"'),
    "`": ("name in backticks", "`"),
    "/*": ("comment", "*/"),
    "{#": ("comment", "#}"),
}

#: sqlglot's messages, and ours, which do not mention classes and tokens.
_SENTENCES = (
    (r"Required keyword: .*", "an expression is missing here"),
    (r"Invalid expression / Unexpected token", "this is not expected here"),
    (r"Unsupported pipe syntax operator: '(.*)'\.", r"a pipe has no step \1"),
    (r"Expect(?:ing|ed) (.*?) but got <Token .*text: SENTINEL, .*", r"expected \1, but the text ends here"),
    (r"Expect(?:ing|ed) (.*?) but got <Token .*?, text: (.*), line: .*", r"expected \1, found \2"),
    (r"Expect(?:ing|ed) (.*)", r"expected \1"),
)


@contextlib.contextmanager
def readable(sql: str, what: str = "This SQL cannot be read") -> Iterator[None]:
    """Turns errors that sqlglot raises about ``sql`` into an error that underlines the place."""
    try:
        yield
    except TokenError as error:
        raise _not_closed(sql, error) from error
    except ParseError as error:
        raise _not_parsed(sql, error, what) from error
    except (SqlglotError, AssertionError, AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        # sqlglot fails in these ways on some texts that are not SQL in any dialect
        raise SqlSyntaxError(what, where=Place(sql, 0, len(sql.split("\n")[0]))) from error


def _not_closed(sql: str, error: TokenError) -> SqlSyntaxError:
    """The error for a text that cannot be split into tokens: a string, name or comment is not closed."""
    said = re.fullmatch(r"Missing .+ from \d+:(\d+)", str(error.__cause__))
    begin = int(said[1]) if said else max(sql.rfind(mark) for mark in _PARTS)
    mark = next((mark for mark in _PARTS if sql.startswith(mark, begin)), None)
    if mark is None:
        numbered = re.search(r"from \d+:(\d+)$", str(error.__cause__))
        begin = int(numbered[1]) if numbered else 0
        return SqlSyntaxError("This text cannot be read as SQL", where=Place(sql, begin, _line_end(sql, begin)))
    part, end = _PARTS[mark]
    return SqlSyntaxError(
        f"A {part} is not closed", where=Place(sql, begin, _line_end(sql, begin)), todo=f"end it with {end}"
    )


def _line_end(sql: str, begin: int) -> int:
    end = sql.find("\n", begin)
    return len(sql) if end < 0 else end


def _not_parsed(sql: str, error: ParseError, what: str) -> SqlSyntaxError:
    place, why = Place(sql, 0, len(sql)), str(error).split("\n")[0]
    if error.errors:
        first = error.errors[0]
        line, col, highlight = first.get("line") or 1, first.get("col") or 1, first.get("highlight") or ""
        begin = sum(len(text) + 1 for text in sql.split("\n")[: line - 1])
        stop = min(begin + col, len(sql))
        place = Place(sql, max(0, stop - max(1, len(highlight))), stop)
        why = str(first.get("description") or why)
    return SqlSyntaxError(what, where=place, why=_sentence(why))


def _sentence(said: str) -> str:
    for pattern, ours in _SENTENCES:
        if match := re.fullmatch(pattern, said, re.DOTALL):
            return match.expand(ours)
    return said
