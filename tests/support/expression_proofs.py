"""Expressions that prove the list: each text stands for all combinations of types at its places."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from expression_values import VALUES, column

INTEGERS = ("tinyint", "smallint", "int", "bigint")
FLOATS = ("float", "double")
DECIMALS = tuple(kind for kind in VALUES if kind.startswith("decimal"))
NUMBERS = (*INTEGERS, *FLOATS, *DECIMALS)
TIMES = ("date", "timestamp", "timestamp_ntz")
ALL = tuple(VALUES)
ANY_ONE = ("boolean", "int", "double", "decimal(10,2)", "string", "date")


@dataclass(frozen=True)
class Proof:
    """An expression with columns of these types. ``trying`` is the same in words that give NULL instead of an error, if
    Spark has such words."""

    text: str
    kinds: tuple[str, ...]
    trying: str | None = None

    def __str__(self) -> str:
        return self.text


def _made(text: str, kinds: Sequence[str], trying: str | None = None) -> Proof:
    def filled(template: str) -> str:
        for at, kind in enumerate(kinds, 1):
            template = template.replace(f"${at}", column(kind, at))
        return template

    return Proof(filled(text), tuple(kinds), None if trying is None else filled(trying))


def over(texts: str, *places: Sequence[str], trying: str | None = None) -> list[Proof]:
    """All combinations of types; the texts are parted by semicolons."""
    return [_made(text.strip(), kinds, trying) for text in texts.split(";") for kinds in product(*places)]


def same(texts: str, kinds: Sequence[str], places: int = 2) -> list[Proof]:
    """One type at all places."""
    return [_made(text.strip(), (kind,) * places) for text in texts.split(";") for kind in kinds]


def arithmetic() -> Iterator[Proof]:
    near = [(a, b) for a in INTEGERS for b in INTEGERS if abs(INTEGERS.index(a) - INTEGERS.index(b)) < 2]
    mixed = [("int", "double"), ("float", "int"), ("float", "double"), ("double", "decimal(10,2)")]
    mixed += [("int", "decimal(10,2)"), ("decimal(20,5)", "bigint"), ("tinyint", "decimal(38,10)")]
    pairs = [*near, *mixed, ("float", "float"), ("double", "double"), *product(DECIMALS, DECIMALS)]
    tries = {"+": "try_add", "-": "try_subtract", "*": "try_multiply", "/": "try_divide", "%": "try_mod"}
    for sign, name in tries.items():
        for pair in pairs:
            yield _made(f"$1 {sign} $2", pair, f"{name}($1, $2)")
    for text in ("$1 DIV $2", "$1 & $2", "$1 | $2", "$1 ^ $2"):
        yield from (_made(text, pair) for pair in near)
    yield from over("~$1", INTEGERS)
    yield from over("-$1; abs($1); negative($1)", NUMBERS)
    literal = "$1 * 2; $1 + 1; 10 - $1; $1 * 1.10; $1 / 3; $1 % 5; $1 > 7; $1 = 1.5; -7 + $1; $1 * 10000000000; $1 + 1e0; $1 - 2S"
    yield from over(literal, ("tinyint", "int", "decimal(10,2)", "decimal(38,10)", "double"))
    yield from over("$1 + NULL; NULL * $1", ("int", "decimal(10,2)"))


def logic() -> Iterator[Proof]:
    signs = ("=", "<>", "<", "<=", ">", ">=", "<=>", "IS DISTINCT FROM")
    yield from same("; ".join(f"$1 {sign} $2" for sign in signs), ALL)
    mixed = [
        ("tinyint", "bigint"),
        ("int", "decimal(10,2)"),
        ("double", "decimal(38,10)"),
        ("float", "double"),
        ("float", "int"),
    ]
    mixed += [("date", "timestamp"), ("date", "timestamp_ntz"), ("decimal(10,2)", "decimal(38,38)")]
    for pair in mixed:
        for text in (
            "$1 = $2",
            "$1 < $2",
            "coalesce($1, $2)",
            "CASE WHEN $1 >= $2 THEN $1 ELSE $2 END",
            "greatest($1, $2)",
            "nullif($1, $2)",
            "$1 IN ($2, NULL)",
        ):
            yield _made(text, pair)
    yield from same(
        "$1 AND $2; $1 OR $2; $1 AND NOT $2; NOT $1 OR NULL; $1 IS TRUE; $1 IS NOT FALSE; $1 IS FALSE", ("boolean",)
    )
    yield from over("$1 IS NULL; $1 IS NOT NULL; isnull($1); isnotnull($1)", ALL)
    yield from same(
        "coalesce($1, $2); nullif($1, $2); greatest($1, $2); least($1, $2); least($1, NULL, $2); if($1 = $2, $1, $2)",
        ALL,
    )
    yield from same(
        "CASE WHEN $1 < $2 THEN $1 END; CASE $1 WHEN $2 THEN 1 ELSE 2 END; nvl2($1, $2, $1); $1 IN ($2, $1)", ALL
    )
    yield from same(
        "$1 NOT IN ($2); $1 BETWEEN $2 AND $1; $1 NOT BETWEEN $1 AND $2; $1 IN ($2, NULL); equal_null($1, $2)", ALL
    )
    # each divides another number: of equal parts of a SELECT, Spark computes one for all rows, in front of the conditions
    yield from over(
        "$1 <> 0 AND 10 DIV $1 > 1; $1 = 0 OR 11 DIV $1 > 1; CASE WHEN $1 > 0 THEN 100 DIV $1 ELSE 0 END", ("int",)
    )
    yield from over("coalesce($1, 1 DIV 0); $1 IS NULL OR 5 % $1 = 0; if($1 = 0, NULL, 7 % $1)", ("int",))
    yield from over(
        "$1 IN (1, 2, 3); $1 IN (1, 7.00); $1 BETWEEN -3 AND 7; coalesce($1, 0); if($1 > 0, $1, 1.5)",
        ("tinyint", "int", "bigint", "decimal(10,2)"),
    )
    yield from over("$1 >= '2021-01-01'; $1 = DATE'2024-02-29'; coalesce($1, DATE'1970-01-01')", TIMES)
    yield from over("$1 BETWEEN '2000-01-01' AND '2024-02-29 12:00:00'", ("timestamp", "timestamp_ntz"))
    yield from over(
        "$1 = TIMESTAMP'2021-10-31 02:30:00'; $1 > TIMESTAMP'2020-01-01 00:00:00+05:30'; $1 < TIMESTAMP'2021-03-28 02:30:00'",
        ("timestamp", "date"),
    )
    yield from over("$1 < TIMESTAMP_NTZ'2021-10-03 02:15:00'", ("timestamp_ntz", "date"))
    yield from over(
        "$1 = 'a'; $1 > 'a'; $1 IN ('a', 'ß', ''); $1 <> 'a\\'b'; coalesce($1, 'x\\ty'); concat($1, r'\\n', '\\\\', '😀')",
        ("string",),
    )
    yield from over(
        "CASE WHEN $1 THEN 'yes' WHEN $1 IS NULL THEN NULL ELSE X'6E' = X'6e' END IS NULL; $1 = true", ("boolean",)
    )
    yield from over("$1 = X'00'; $1 > X'6'", ("binary",))
    yield from over(
        "CASE WHEN $1 > 1 THEN 1 WHEN $1 = 0 THEN 2.5 ELSE 10L END; CASE WHEN $1 > 1 THEN 1.5D ELSE 1 END",
        ("int", "double"),
    )


def casts() -> Iterator[Proof]:
    for given in ALL:
        for kind in (*ALL, "decimal(3,1)", "decimal(19,0)", "decimal(38,37)"):
            yield _made(f"CAST($1 AS {kind})", (given,), f"try_cast($1 AS {kind})")
    yield from over("int($1); bigint($1); double($1); string($1); $1::decimal(12,3)", ("tinyint", "decimal(10,2)"))


def rounding() -> Iterator[Proof]:
    yield from over("round($1); round($1, 1); round($1, 2); round($1, 5); floor($1); ceil($1); ceiling($1)", NUMBERS)
    yield from over("sqrt($1)", NUMBERS)
    yield from over("isnan($1); nanvl($1, $1); nanvl($1, 1.5D)", FLOATS)
    yield from same("nanvl($1, $2)", FLOATS)


def strings() -> Iterator[Proof]:
    yield from over(
        "upper($1); lower($1); ucase($1); trim($1); ltrim($1); rtrim($1); btrim($1); trim(LEADING 'a' FROM $1)",
        ("string",),
    )
    yield from over("length($1); char_length($1); octet_length($1)", ("string", "binary"))
    yield from same(
        "concat($1, $2); $1 || $2; startswith($1, $2); endswith($1, $2); contains($1, $2); instr($1, $2)", ("string",)
    )
    yield from same(
        "locate($1, $2); position($2 IN $1); trim(BOTH $2 FROM $1); rtrim($2, $1); concat($1, '-', $2, $1)", ("string",)
    )
    yield from over(
        "concat($1, $2); $1 || '-' || $2", ("boolean", "tinyint", "bigint", "decimal(10,2)", "date"), ("string",)
    )
    yield from over(
        "substring($1, $2); left($1, $2); right($1, $2); substr($1, $2, 1); substring($1, -2, $2)",
        ("string",),
        INTEGERS[:3],
    )
    yield from over("substring($1, $2, $3)", ("string",), ("int",), ("int",))
    yield from over(
        "substring($1, 2); substring($1 FROM 1 FOR 2); substring($1, 0, 2); left($1, 1); right($1, 2)", ("string",)
    )
    yield from same(
        "replace($1, $2, $3); concat($1, $2, $3); coalesce($1, $2, $3); greatest($1, $2, $3)", ("string",), 3
    )
    yield from over("replace($1, 'a', 'bb'); replace($1, '', 'x'); replace($1, 'a')", ("string",))
    likes = [
        "'a%'",
        "'%'",
        "'_'",
        "'__'",
        "'%a%b%'",
        "''",
        "'a\\\\%b\\\\_c%'",
        "'%\\\\\\\\'",
        "'!%' ESCAPE '!'",
        "'a!%b!_c%' ESCAPE '!'",
        "'😀_'",
        "'%\\n%'",
    ]
    for pattern in likes:
        yield from over(f"$1 LIKE {pattern}; $1 NOT LIKE {pattern}", ("string",))


def times() -> Iterator[Proof]:
    fields = "year quarter month day dayofmonth dayofweek weekday dayofyear weekofyear last_day to_date"
    yield from over("; ".join(f"{name}($1)" for name in fields.split()), TIMES)
    yield from over("hour($1); minute($1); second($1)", TIMES)
    parts = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DOW", "DOY", "HOUR", "MINUTE", "SECOND")
    yield from over("; ".join(f"EXTRACT({part} FROM $1)" for part in parts), TIMES)
    yield from over("date_part('MONTH', $1); date_part('second', $1)", TIMES)
    units = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND", "mm")
    yield from over("; ".join(f"date_trunc('{unit}', $1)" for unit in units), TIMES)
    yield from over("trunc($1, 'YEAR'); trunc($1, 'MM'); trunc($1, 'QUARTER'); trunc($1, 'week')", TIMES)
    yield from over(
        "date_add($1, 1); date_sub($1, 31); dateadd($1, -365); add_months($1, 1); add_months($1, -13)", TIMES
    )
    yield from over(
        "$1 + 1; $1 - 7; 2 + $1; $1 + INTERVAL 1 DAY; $1 - INTERVAL '2' MONTH; $1 + INTERVAL 1 YEAR; $1 - INTERVAL 3 WEEKS",
        ("date",),
    )
    yield from over(
        "$1 + INTERVAL 1 HOUR; $1 - INTERVAL '30' MINUTE; $1 + INTERVAL 90 SECONDS", ("timestamp", "timestamp_ntz")
    )
    yield from over("datediff($1, $2); date_diff($1, $2)", TIMES, TIMES)
    yield from over("unix_date($1)", ("date",))
    yield from over("unix_seconds($1); unix_micros($1)", ("timestamp",))


def proofs() -> list[Proof]:
    groups = (arithmetic(), logic(), casts(), rounding(), strings(), times())
    return list({proof.text: proof for group in groups for proof in group}.values())
