"""Strings. Lengths and positions count characters (code points), as in Spark; comparison is by bytes.

``upper`` and ``lower`` map all of Unicode in ``letters.py``; LIKE takes a literal pattern.
"""

from __future__ import annotations

from collections.abc import Sequence

from rollview.engine.expressions.letters import LOWER, UPPER
from rollview.engine.expressions.refused import Refused
from rollview.engine.expressions.terms import Entry, Formula, Function, Term, text
from rollview.engine.expressions.types import BINARY, BOOLEAN, INT, STRING

#: The most characters that a text can have: positions are cut to it.
_MOST = 2**31 - 1


def _strings(operands: Sequence[Term]) -> bool:
    return all(each.type == STRING for each in operands)


def _of_strings(name: str, sql: str, count: int, kind: str = "string") -> Entry:
    """An entry whose operands are strings, by its SQL."""
    given = {"string": STRING, "int": INT, "boolean": BOOLEAN}[kind]

    def formula(operands: Sequence[Term]) -> Formula | None:
        if not _strings(operands):
            return None
        return Formula(given, sql.format(*(each.sql for each in operands)))

    return Entry(name, (count,), formula)


def length(operands: Sequence[Term]) -> Formula | None:
    (a,) = operands
    if a.type not in (STRING, BINARY):
        return None
    return Formula(INT, f"CAST({'length' if a.type == STRING else 'octet_length'}({a.sql}) AS INTEGER)")


def octets(operands: Sequence[Term]) -> Formula | None:
    (a,) = operands
    if a.type not in (STRING, BINARY):
        return None
    return Formula(INT, f"CAST({'strlen' if a.type == STRING else 'octet_length'}({a.sql}) AS INTEGER)")


def substring(operands: Sequence[Term]) -> Formula | None:
    """Position 0 is position 1; a negative one counts from the end, and may lie in front of the text."""
    a, *others = operands
    if a.type != STRING or any(each.type != INT for each in others):
        return None
    at = f"CAST({others[0].sql} AS BIGINT)"
    count = f"CAST({others[1].sql} AS BIGINT)" if len(others) == 2 else str(_MOST)
    return Formula(STRING, _part(a.sql, at, count))


def _part(x: str, at: str, count: str) -> str:
    start = f"(CASE WHEN {at} > 0 THEN {at} - 1 WHEN {at} < 0 THEN length({x}) + {at} ELSE 0 END)"
    first = f"greatest({start}, 0)"
    # with IF, not CASE alone: NULL operands give NULL, which greatest would leave out
    taken = f"least(greatest({start} + {count} - {first}, 0), {_MOST})"
    known = f"{x} IS NULL OR {at} IS NULL OR {count} IS NULL"
    return f"CASE WHEN {known} THEN NULL ELSE substring({x}, {first} + 1, {taken}) END"


def left(operands: Sequence[Term]) -> Formula | None:
    a, count = operands
    if a.type != STRING or count.type != INT:
        return None
    return Formula(STRING, _part(a.sql, "CAST(1 AS BIGINT)", f"CAST({count.sql} AS BIGINT)"))


def right(operands: Sequence[Term]) -> Formula | None:
    a, count = operands
    if a.type != STRING or count.type != INT:
        return None
    at = f"(- CAST({count.sql} AS BIGINT))"
    empty = f"{count.sql} <= 0 AND {a.sql} IS NOT NULL"
    return Formula(STRING, f"CASE WHEN {empty} THEN '' ELSE {_part(a.sql, at, str(_MOST))} END")


def joined(operands: Sequence[Term]) -> Formula | None:
    if not _strings(operands):
        return None
    return Formula(STRING, f"({' || '.join(each.sql for each in operands)})")


def _trimmed(name: str) -> Entry:
    """Without a list of characters, only spaces are trimmed."""

    def formula(operands: Sequence[Term]) -> Formula | None:
        if not _strings(operands):
            return None
        characters = operands[1].sql if len(operands) == 2 else "' '"
        return Formula(STRING, f"{name}({operands[0].sql}, {characters})")

    return Entry(name, (1, 2), formula)


def like(operands: Sequence[Term]) -> Formula | None:
    """The pattern and the escape character are literals."""
    value, pattern, *escape = operands
    sign = escape[0].literal if escape else "\\"
    if not _strings(operands) or not isinstance(pattern.literal, str) or not isinstance(sign, str) or len(sign) != 1:
        return None
    _check_pattern(pattern.literal, sign)
    return Formula(BOOLEAN, f"({value.sql} LIKE {pattern.sql} ESCAPE {text(sign)})")


def _check_pattern(pattern: str, sign: str) -> None:
    """An escape character stands before %, _ or itself: anything else is an error in Spark."""
    at = 0
    while at < len(pattern):
        if pattern[at] == sign:
            if at + 1 == len(pattern) or pattern[at + 1] not in ("%", "_", sign):
                raise Refused(f"LIKE {text(pattern)}", why=f"in it, {sign} escapes neither %, _ nor itself")
            at += 1
        at += 1


def position(operands: Sequence[Term]) -> Formula | None:
    """The text comes first, then what is looked for."""
    if not _strings(operands):
        return None
    return Formula(INT, f"CAST(strpos({operands[0].sql}, {operands[1].sql}) AS INTEGER)")


def _cased(name: str, function: Function) -> Entry:
    """Texts of ASCII characters, which have as many bytes as characters, are DuckDB's."""

    def formula(operands: Sequence[Term]) -> Formula | None:
        (a,) = operands
        if a.type != STRING:
            return None
        plain = f"strlen({a.sql}) = length({a.sql})"
        sql = f"CASE WHEN {plain} THEN {name}({a.sql}) ELSE {function.name}({a.sql}) END"
        return Formula(STRING, sql, functions=(function,))

    return Entry(name, (1,), formula, "spark.sql.icu.caseMappings.enabled is true")


ENTRIES = (
    Entry("length", (1,), length),
    Entry("octet_length", (1,), octets),
    Entry("substring", (2, 3), substring),
    Entry("left", (2,), left),
    Entry("right", (2,), right),
    Entry("concat", (), joined),
    Entry("LIKE", (2, 3), like),
    Entry("position", (2,), position),
    _cased("upper", UPPER),
    _cased("lower", LOWER),
    *map(_trimmed, ("trim", "ltrim", "rtrim")),
    _of_strings("startswith", "starts_with({0}, {1})", 2, "boolean"),
    _of_strings("endswith", "suffix({0}, {1})", 2, "boolean"),
    _of_strings("contains", "contains({0}, {1})", 2, "boolean"),
    _of_strings("replace", "CASE WHEN {1} = '' AND {2} IS NOT NULL THEN {0} ELSE replace({0}, {1}, {2}) END", 3),
)
