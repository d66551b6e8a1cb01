"""A cursor over the tokens of a statement, which can return the original text between two tokens.

Spark evaluates the expressions of INSERT, UPDATE, DELETE and MERGE, so it gets them as the user wrote them: the tokens
only show where a clause begins and ends.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from sqlglot import TokenType
from sqlglot.dialects.spark import Spark

from rollview.errors import Place, SqlSyntaxError
from rollview.parse.mistakes import readable

_STRINGS = {kind for kind in TokenType if kind.name.endswith("STRING")}


class _Tokenizer(Spark.Tokenizer):
    """Spark's tokens, even for statements that sqlglot would keep as plain text."""

    COMMANDS: ClassVar[set[TokenType]] = set()


@dataclass(frozen=True)
class Word:
    """One token: its text without quotes, and its characters in the statement, ``start`` up to ``stop``."""

    text: str
    start: int
    stop: int
    kind: TokenType

    @property
    def quoted(self) -> bool:
        return self.kind is TokenType.IDENTIFIER

    @property
    def plain(self) -> bool:
        """Whether this is a word or a symbol, not a quoted name or a string."""
        return self.kind is not TokenType.IDENTIFIER and self.kind not in _STRINGS

    @property
    def nameable(self) -> bool:
        return self.quoted or (self.plain and self.text.isidentifier())


@dataclass(frozen=True)
class SqlTokens:
    """A text and its tokens in Spark's dialect; a keyword of several words is several tokens."""

    sql: str
    tokens: Sequence[Word]

    @staticmethod
    def of(sql: str) -> SqlTokens:
        with readable(sql):
            found = _Tokenizer(dialect="spark").tokenize(sql)
        words: list[Word] = []
        for token in found:
            whole = Word(token.text, token.start, token.end + 1, token.token_type)
            if whole.plain and re.search(r"\w\s+\w", token.text):
                words += [
                    Word(m[0], token.start + m.start(), token.start + m.end(), TokenType.VAR)
                    for m in re.finditer(r"\w+", sql[token.start : token.end + 1])
                ]
            else:
                words.append(whole)
        return SqlTokens(sql, words)

    def words(self) -> set[str]:
        """Everything in the text that could be a name, in lower case."""
        quoted = {token.text.replace("``", "`").lower() for token in self.tokens if token.quoted}
        return quoted | {word.lower() for word in re.findall(r"\w+", self.sql)}


#: Steps of a pipe for which sqlglot begins a new SELECT, and others that it adds to the previous SELECT.
_NEW_SELECT = {"SELECT", "AGGREGATE", "EXTEND", "AS", "UNION", "EXCEPT", "INTERSECT"}
_SAME_SELECT = {"WHERE", "ORDER", "JOIN", "INNER", "LEFT", "CROSS", "LIMIT"}
_OUTER = {"RIGHT", "FULL", "NATURAL"}


def misread_pipe(sql: str) -> Place | None:
    """The first step of a pipe (``FROM t |> WHERE … |> LIMIT …``) that sqlglot misreads: it adds a step to the SELECT
    of the steps before it even if SQL evaluates that clause before them."""
    if "|>" not in sql:
        return None
    tokens = SqlTokens.of(sql).tokens
    limited, filtered = [False], [False]  # the pipe so far; one for each level of parentheses
    for token, after in pairwise(tokens):
        if token.plain and token.text == "(":
            limited.append(False)
            filtered.append(False)
        elif token.plain and token.text == ")" and len(limited) > 1:
            limited.pop()
            filtered.pop()
        elif token.kind is TokenType.PIPE_GT:
            step = after.text.upper()
            known = step in _NEW_SELECT | _SAME_SELECT or (step in _OUTER and not filtered[-1])
            if limited[-1] or not known:
                return Place(sql, token.start, after.stop)
            limited[-1] = step == "LIMIT"
            filtered[-1] = step not in _NEW_SELECT and (step == "WHERE" or filtered[-1])
    return None


def split_script(script: str) -> list[str]:
    """The statements of a script, without their semicolons; comments stay with the statement that follows them."""
    found: list[str] = []
    begin = 0
    tokens = SqlTokens.of(script).tokens
    pending = False
    for token in tokens:
        if token.kind is TokenType.SEMICOLON:
            if pending:
                found.append(script[begin : token.start].strip())
            begin, pending = token.stop, False
        else:
            pending = True
    if pending:
        found.append(script[begin:].strip())
    return found


class Cursor:
    """Reads tokens from left to right."""

    def __init__(self, source: SqlTokens) -> None:
        self.sql = source.sql
        self.tokens = source.tokens
        self.at = 0

    @property
    def done(self) -> bool:
        return self.at >= len(self.tokens)

    @property
    def position(self) -> int:
        """Where the next token begins in the text."""
        return len(self.sql) if self.done else self.tokens[self.at].start

    def is_word(self, word: str, ahead: int = 0) -> bool:
        i = self.at + ahead
        return i < len(self.tokens) and self.tokens[i].plain and self.tokens[i].text.upper() == word

    def sees(self, *words: str) -> bool:
        return all(self.is_word(word, i) for i, word in enumerate(words))

    def take(self, *words: str) -> bool:
        """Moves past these words if they come next."""
        if not self.sees(*words):
            return False
        self.at += len(words)
        return True

    def expect(self, *words: str) -> None:
        for i, word in enumerate(words):
            if not self.take(word):
                raise self.error(f"expected {' '.join(words[i:])}")

    def error(self, what: str, todo: str = "") -> SqlSyntaxError:
        if self.done:
            where = Place(self.sql, len(self.sql.rstrip()), len(self.sql.rstrip()))
            return SqlSyntaxError(f"Syntax error: {what}, but the statement ends here", where=where, todo=todo)
        token = self.tokens[self.at]
        place = Place(self.sql, token.start, token.stop)
        return SqlSyntaxError(f"Syntax error: {what}, found {token.text!r}", where=place, todo=todo)

    def refusal(self, what: str, todo: str, back: int = 0) -> SqlSyntaxError:
        """An error about the next token, or the ``back`` tokens before it, which are valid syntax."""
        found = self.tokens[self.at - back : max(self.at, self.at - back + 1)]
        return SqlSyntaxError(what, where=Place(self.sql, found[0].start, found[-1].stop), todo=todo)

    def identifier(self, meaning: str) -> str:
        if self.done:
            raise self.error(f"expected {meaning}")
        token = self.tokens[self.at]
        if not token.nameable:
            raise self.error(
                f"expected {meaning}",
                "quote a name that has characters other than letters, digits and _ with backticks: `my name`",
            )
        self.at += 1
        return token.text.replace("``", "`") if token.quoted else token.text

    def name(self, meaning: str) -> tuple[str, ...]:
        parts = [self.identifier(meaning)]
        while self.is_word("."):
            self.at += 1
            parts.append(self.identifier(meaning))
        return tuple(parts)

    def string(self, meaning: str) -> str:
        if self.done or self.tokens[self.at].kind is not TokenType.STRING:
            raise self.error(f"expected {meaning} as a quoted string")
        text = self.tokens[self.at].text
        self.at += 1
        while not self.done and self.tokens[self.at].kind is TokenType.STRING:
            doubled = self.tokens[self.at].start == self.tokens[self.at - 1].stop  # 'it\'\'s' says it's
            text += ("'" if doubled else "") + self.tokens[self.at].text
            self.at += 1
        return text

    def integer(self, meaning: str) -> int:
        if self.done or self.tokens[self.at].kind is not TokenType.NUMBER or not self.tokens[self.at].text.isdigit():
            raise self.error(f"expected {meaning} as a whole number")
        self.at += 1
        return int(self.tokens[self.at - 1].text)

    def until(self, stop: Callable[[], bool]) -> str:
        """Moves to the first token outside brackets at which ``stop`` holds, or to the end; returns the text up to it.

        CASE and END count as brackets.
        """
        start, depth, last = self.position, 0, self.position
        cases = 0
        while not self.done:
            if depth == 0 and stop():
                break
            token = self.tokens[self.at]
            if token.plain and token.text in ("(", "[", "{"):
                depth += 1
            elif token.plain and token.text in (")", "]", "}"):
                if depth == 0:
                    break
                depth -= 1
            elif self.is_word("CASE"):
                depth, cases = depth + 1, cases + 1
            elif self.is_word("END") and cases:
                depth, cases = depth - 1, cases - 1
            last = token.stop
            self.at += 1
        return self.sql[start:last].strip()

    def rest(self) -> str:
        return self.until(lambda: False)

    def finish(self) -> None:
        if not self.done:
            raise self.error("expected the end of the statement")

    def bracketed(self) -> list[str]:
        """The items of a list in parentheses, as text."""
        self.expect("(")
        items: list[str] = []
        while True:
            items.append(self.until(lambda: self.is_word(",")))
            if self.take(","):
                continue
            self.expect(")")
            return items
