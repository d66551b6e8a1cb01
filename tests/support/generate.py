"""Random queries in Spark SQL over four small tables with NULLs and duplicates, and random rows for the tables.

Numbers are of several types, which queries compare and put into one column. With ``floats``, there are two tables more
with DOUBLE columns, which queries add up; they are compared by < and > only, because equal sums are a matter of chance.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import duckdb

from rollview.frontend.sql import BaseTable

TABLES = {
    "r": BaseTable("r", (("k", "int"), ("a", "int"), ("b", "int"), ("s", "string")), ("k",)),
    "u": BaseTable("u", (("a", "int"), ("b", "bigint"))),
    "w": BaseTable("w", (("k", "int"), ("l", "int"), ("a", "smallint")), ("k", "l")),
    "x": BaseTable("x", (("b", "decimal(6,1)"), ("s", "string"))),
}
WITH_FLOATS = TABLES | {
    "y": BaseTable("y", (("k", "int"), ("a", "int"), ("f", "double")), ("k",)),
    "z": BaseTable("z", (("a", "int"), ("f", "double"))),
}
_KINDS = {"string": "str", "double": "real"}


def random_value(rng: random.Random, kind: str) -> object:
    """A value of a type; numbers of all types meet, and some decimals are between them."""
    if kind == "string":
        return rng.choice("pqr")
    if kind == "double":  # hardly ever the same twice
        return rng.random() * 5
    number = rng.randrange(5)
    return number + 0.5 if kind.startswith("decimal") and rng.random() < 0.2 else number


def fill(db: duckdb.DuckDBPyConnection, rng: random.Random, rows: int = 8) -> None:
    """Fresh random rows in every table; declared keys hold."""
    for table in TABLES.values():
        columns = ", ".join(f"{name} {'VARCHAR' if kind == 'string' else kind}" for name, kind in table.columns)
        db.execute(f"CREATE OR REPLACE TABLE {table.name} ({columns})")
        seen = set()
        for _ in range(rng.randrange(rows + 1)):
            row = {}
            for name, kind in table.columns:
                null = name not in table.key and rng.random() < 0.25
                row[name] = None if null else random_value(rng, kind)
            key = tuple(row[name] for name in table.key)
            if table.key and key in seen:
                continue
            seen.add(key)
            db.execute(f"INSERT INTO {table.name} VALUES ({', '.join('?' for _ in row)})", list(row.values()))


@dataclass(frozen=True)
class Column:
    text: str
    kind: str


@dataclass(frozen=True)
class Query:
    sql: str
    kinds: tuple[str, ...]


class Generator:
    """One query from one random number generator."""

    def __init__(self, rng: random.Random, floats: bool = False) -> None:
        self.rng = rng
        self.aliases = 0
        self.tables = WITH_FLOATS if floats else TABLES
        self.floats = floats

    def _numbers(self, *others: str) -> str:
        """A kind of column that a query may add up or compare."""
        return self.rng.choice([*others, "real", "real"] if self.floats else others)

    def query(self, depth: int = 2) -> str:
        found = self._query(depth, [])
        if self.rng.random() < 0.1:
            order = ", ".join(str(i + 1) for i in range(len(found.kinds)))
            offset = self.rng.choice(["", " OFFSET 1"])
            return f"SELECT * FROM ({found.sql}) z ORDER BY {order} LIMIT {self.rng.randrange(1, 4)}{offset}"
        return found.sql

    def _query(self, depth: int, outer: list[Column], kinds: tuple[str, ...] | None = None) -> Query:
        if depth > 0 and self.rng.random() < 0.2:
            left = self._select(depth - 1, outer, kinds)
            right = self._select(depth - 1, outer, left.kinds)
            operator = self.rng.choice(["UNION", "UNION ALL", "EXCEPT", "EXCEPT ALL", "INTERSECT", "INTERSECT ALL"])
            return Query(f"({left.sql}) {operator} ({right.sql})", left.kinds)
        return self._select(depth, outer, kinds)

    def _alias(self) -> str:
        self.aliases += 1
        return f"q{self.aliases}"

    def _added_up(self, columns: list[Column], functions: list[str]) -> str:
        """An aggregate of floats, but not of a constant: that a mean of equal values is their value is chance."""
        fitting = [c.text for c in columns if c.kind == "real"] or [
            f"{c.text} * 1.37D" for c in columns if c.kind == "int"
        ]
        return f"{self.rng.choice(functions)}({self.rng.choice(fitting or ['NULL'])})"

    def _sums(self) -> tuple[str, list[Column]]:
        """Sums of floats by a number, in groups or beside each row; or the groups' numbers of rows."""
        alias, table = self._alias(), self.rng.choice("yz")
        function = f"{self.rng.choice(['sum', 'sum', 'avg', 'stddev'])}(f)"
        over = self.rng.choice(["PARTITION BY a", "PARTITION BY a ORDER BY f", "ORDER BY f, a"])
        text, kind = self.rng.choice(
            [
                (f"SELECT a, {function} FROM {table} GROUP BY a", "real"),
                (f"SELECT a, {function} FROM {table} GROUP BY a", "real"),
                (f"SELECT a, {function} FROM {table} GROUP BY a HAVING count(*) > 1", "real"),
                (f"SELECT a, {function} FROM {table} GROUP BY a HAVING sum(f) > 2.37D", "real"),
                (f"SELECT a, {function} OVER ({over}) FROM y", "real"),
                (f"SELECT a, count(*) FROM {table} GROUP BY a", "int"),
                (f"SELECT count(*), {function} FROM {table}", "real"),
            ]
        )
        return f"({text}) {alias}(c0, c1)", [Column(f"{alias}.c0", "int"), Column(f"{alias}.c1", kind)]

    def _joined_sums(self) -> tuple[str, list[Column]]:
        """Some of these, joined by their numbers."""
        text, columns = self._sums()
        for _ in range(self.rng.choice([1, 1, 2])):
            other, theirs = self._sums()
            kind = self.rng.choice(["JOIN", "LEFT JOIN", "LEFT JOIN", "FULL JOIN", "CROSS JOIN", "LEFT SEMI JOIN"])
            on = "" if kind == "CROSS JOIN" else f" ON {self.rng.choice(columns[::2]).text} = {theirs[0].text}"
            text += f" {kind} {other}{on}"
            columns = columns if "SEMI" in kind else columns + theirs
        return text, columns

    def _from(self, depth: int, outer: list[Column]) -> tuple[str, list[Column]]:
        if self.floats and not outer and self.rng.random() < 0.6:
            return self._joined_sums()
        text, columns = self._relation(depth)
        for _ in range(self.rng.choice([0, 0, 1, 1, 2, 3, 4] if depth > 1 else [0, 1, 1, 2])):
            other, theirs = self._relation(depth)
            kind = self.rng.choice(
                [
                    "JOIN",
                    "JOIN",
                    "LEFT JOIN",
                    "LEFT JOIN",
                    "RIGHT JOIN",
                    "FULL JOIN",
                    "CROSS JOIN",
                    "LEFT SEMI JOIN",
                    "LEFT ANTI JOIN",
                ]
            )
            if kind == "CROSS JOIN":
                text += f" CROSS JOIN {other}"
            else:
                text += f" {kind} {other} ON {self._on(columns, theirs)}"
            if "SEMI" not in kind and "ANTI" not in kind:
                columns = columns + theirs
        return text, columns

    def _relation(self, depth: int) -> tuple[str, list[Column]]:
        alias = self._alias()
        if depth > 0 and self.rng.random() < 0.25:
            inner = self._query(depth - 1, [])
            names = [f"c{i}" for i in range(len(inner.kinds))]
            columns = [Column(f"{alias}.{name}", kind) for name, kind in zip(names, inner.kinds, strict=True)]
            return f"({inner.sql}) {alias}({', '.join(names)})", columns
        table = self.rng.choice(list(self.tables.values()))
        kinds = [(name, _KINDS.get(kind, "int")) for name, kind in table.columns]
        return f"{table.name} {alias}", [Column(f"{alias}.{name}", kind) for name, kind in kinds]

    def _on(self, left: list[Column], right: list[Column]) -> str:
        for _ in range(8):
            a, b = self.rng.choice(left), self.rng.choice(right)
            if a.kind == b.kind:
                operator = self.rng.choice(["<", ">"] if a.kind == "real" else ["=", "=", "=", "=", "<=>", "<", "<>"])
                extra = f" AND {self._test(left + right)}" if self.rng.random() < 0.25 else ""
                return f"{a.text} {operator} {b.text}{extra}"
        return "1 = 1"

    def _value(self, columns: list[Column], kind: str) -> str:
        fitting = [c.text for c in columns if c.kind == kind]
        literal = str(self.rng.randrange(5)) if kind == "int" else f"'{self.rng.choice('pqr')}'"
        if kind == "real":
            literal = f"{self.rng.randrange(9)}.37D" if not fitting or self.rng.random() < 0.5 else fitting[0]
        if kind == "str" and self.rng.random() < 0.08:  # it shows the type of the number, too
            return f"CAST({self._value(columns, 'int')} AS STRING)"
        if not fitting or self.rng.random() < 0.2:
            return literal
        value = self.rng.choice(fitting)
        if self.rng.random() < 0.25:
            other = self.rng.choice([*fitting, literal])
            wraps = ["coalesce({0}, {1})", "concat({0}, {1})", "upper({0})"]
            if kind != "str":
                wraps = ["{0} + {1}", "coalesce({0}, {1})", "CASE WHEN {0} > 2 THEN {1} ELSE {0} END"]
            return self.rng.choice(wraps).format(value, other)
        return value

    def _test(self, columns: list[Column]) -> str:
        kind = self._numbers("int", "int", "str")
        left = self._value(columns, kind)
        form = self.rng.random()
        if form < 0.15:
            return f"{left} IS {self.rng.choice(['', 'NOT '])}NULL"
        if kind == "real":
            return f"{left} {self.rng.choice('<>')} {self._value(columns, kind)}"
        if form < 0.3:
            listed = ", ".join(self._value([], kind) for _ in range(2))
            return f"{left} {self.rng.choice(['', 'NOT '])}IN ({listed})"
        operator = self.rng.choice(["=", "<", ">", "<=", "<>", "<=>"])
        return f"{left} {operator} {self._value(columns, kind)}"

    def _condition(self, depth: int, columns: list[Column]) -> str:
        parts = []
        for _ in range(self.rng.choice([1, 1, 2])):
            if depth > 0 and self.rng.random() < 0.45:
                parts.append(self._subquery_test(depth, columns))
            else:
                parts.append(self._test(columns))
        joint = self.rng.choice([" AND ", " AND ", " OR "])
        return joint.join(f"({part})" for part in parts)

    def _subquery_test(self, depth: int, columns: list[Column]) -> str:
        inner_from, theirs = self._from(depth - 1, columns)
        where = self._test(theirs)
        if self.rng.random() < 0.7:
            where = f"{self._on(columns, theirs)} AND {where}"
        form = self.rng.random()
        negation = self.rng.choice(["", "NOT "])
        if form < 0.4:
            return f"{negation}EXISTS (SELECT 1 FROM {inner_from} WHERE {where})"
        kind = self.rng.choice(["int", "str"])
        if form < 0.75:
            picked = self._value(theirs, kind)
            return f"{self._value(columns, kind)} {negation}IN (SELECT {picked} FROM {inner_from} WHERE {where})"
        if self.floats and self.rng.random() < 0.6:
            function = self._added_up(theirs, ["sum", "avg", "max"])
            operator = self.rng.choice("<>")
            return f"{self._value(columns, 'real')} {operator} (SELECT {function} FROM {inner_from} WHERE {where})"
        function = self.rng.choice(
            ["count(*)", f"max({self._value(theirs, 'int')})", f"sum({self._value(theirs, 'int')})"]
        )
        operator = self.rng.choice(["=", "<", ">="])
        return f"{self._value(columns, 'int')} {operator} (SELECT {function} FROM {inner_from} WHERE {where})"

    def _select(self, depth: int, outer: list[Column], kinds: tuple[str, ...] | None) -> Query:
        text, columns = self._from(depth, outer)
        where = f" WHERE {self._condition(depth, columns)}" if self.rng.random() < 0.6 else ""
        wanted = kinds or tuple(self._numbers("int", "int", "str") for _ in range(self.rng.randrange(1, 4)))
        form = self.rng.random()
        if form < 0.3:
            return self._grouped(text, where, columns, wanted)
        if form < 0.42:
            return self._windowed(text, where, columns, wanted)
        items = [self._item(depth, columns, kind) for kind in wanted]
        distinct = "DISTINCT " if self.rng.random() < 0.15 else ""
        return Query(f"SELECT {distinct}{self._listed(items)} FROM {text}{where}", wanted)

    def _item(self, depth: int, columns: list[Column], kind: str) -> str:
        if kind == "int" and depth > 0 and self.rng.random() < 0.12:
            inner, theirs = self._from(depth - 1, columns)
            function = self.rng.choice(["count(*)", f"min({self._value(theirs, 'int')})"])
            return f"(SELECT {function} FROM {inner} WHERE {self._on(columns, theirs)})"
        if kind == "real" and depth > 0 and self.rng.random() < 0.2:
            inner, theirs = self._from(depth - 1, columns)
            return f"(SELECT {self._added_up(theirs, ['sum', 'avg'])} FROM {inner} WHERE {self._on(columns, theirs)})"
        return self._value(columns, kind)

    def _listed(self, items: list[str]) -> str:
        return ", ".join(f"{item} AS o{i}" for i, item in enumerate(items))

    def _grouped(self, text: str, where: str, columns: list[Column], wanted: tuple[str, ...]) -> Query:
        keys = [self._value(columns, self.rng.choice(["int", "str"])) for _ in range(self.rng.choice([0, 1, 1, 2]))]
        keys = [key for key in keys if not key.isdigit() and not key.startswith("'")]
        items = []
        for kind in wanted:
            fitting = [key for key in keys if self._kind(key, columns) == kind]
            if fitting and self.rng.random() < 0.6:
                items.append(self.rng.choice(fitting))
            elif kind == "int":
                value = self._value(columns, "int")
                items.append(
                    self.rng.choice(
                        ["count(*)", f"count({value})", f"sum({value})", f"max({value})", f"count(DISTINCT {value})"]
                    )
                )
            elif kind == "real":
                items.append(self._added_up(columns, ["sum", "sum", "avg", "stddev", "min"]))
            else:
                items.append(f"min({self._value(columns, 'str')})")
        group = f" GROUP BY {', '.join(keys)}" if keys else ""
        having = (
            f" HAVING count(*) {self.rng.choice(['>', '=', '<'])} {self.rng.randrange(3)}"
            if self.rng.random() < 0.25
            else ""
        )
        if self.floats and self.rng.random() < 0.25:
            having = f" HAVING {self._added_up(columns, ['sum'])} {self.rng.choice('<>')} {self._value([], 'real')}"
        if not any(item not in keys for item in items) and not keys:
            having = ""
        return Query(f"SELECT {self._listed(items)} FROM {text}{where}{group}{having}", wanted)

    def _kind(self, text: str, columns: list[Column]) -> str | None:
        return next((c.kind for c in columns if c.text == text), None)

    def _windowed(self, text: str, where: str, columns: list[Column], wanted: tuple[str, ...]) -> Query:
        items = []
        for kind in wanted:
            if kind == "int":
                partition = f"PARTITION BY {self._value(columns, 'int')}" if self.rng.random() < 0.7 else ""
                order = f"ORDER BY {self.rng.choice(columns).text}"
                value = self._value(columns, "int")
                items.append(self.rng.choice([
                    f"rank() OVER ({partition} {order})", f"dense_rank() OVER ({partition} {order} DESC)",
                    f"sum({value}) OVER ({partition} {order})", f"count(*) OVER ({partition})", f"max({value}) OVER ({partition})",
                ]))  # fmt: skip
            elif kind == "real":
                partition = f"PARTITION BY {self._value(columns, 'int')}" if self.rng.random() < 0.7 else ""
                order = f"ORDER BY {self.rng.choice(columns).text}" if self.rng.random() < 0.5 else ""
                items.append(f"{self._added_up(columns, ['sum', 'avg', 'max'])} OVER ({partition} {order})")
            else:
                items.append(self._value(columns, "str"))
        return Query(f"SELECT {self._listed(items)} FROM {text}{where}", wanted)
