"""Random views that fit the join graph, random changes of their tables, and an interpreter that knows no graph.

A view is described by terms (a column of a part, plus a number), conditions and aggregates; it is written as SQL, and it is
computed by comparing rows with rows.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta, timezone
from decimal import ROUND_HALF_UP, Context, Decimal, localcontext
from typing import Any

import pyarrow as pa

from rollview.frontend.sql import BaseTable

Row = tuple[Any, ...]
Bag = Counter[Row]

#: The columns of every table; few different values, so that rows join.
COLUMNS = {
    "a": "int",
    "b": "int",
    "c": "string",
    "d": "decimal(10,2)",
    "e": "double",
    "f": "date",
    "g": "boolean",
    "h": "bigint",
    "i": "timestamp",
    "j": "binary",
    "k": "decimal(30,4)",
}
NAMES = list(COLUMNS)
ARROW = {
    "int": pa.int32(),
    "string": pa.string(),
    "decimal(10,2)": pa.decimal128(10, 2),
    "double": pa.float64(),
    "date": pa.date32(),
    "boolean": pa.bool_(),
    "bigint": pa.int64(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "binary": pa.binary(),
    "decimal(30,4)": pa.decimal128(30, 4),
}
_EPOCH = datetime(2024, 1, 1, tzinfo=timezone.utc)
_VALUES: dict[str, list[Any]] = {
    "int": [0, 1, 2, -1],
    "string": ["", "x", "y", "é", "z" * 20],
    "decimal(10,2)": [Decimal("0.00"), Decimal("1.50"), Decimal("-1.50"), Decimal("99999999.99")],
    "double": [0.0, -0.0, 0.1, 1e300, -1e300, math.nan, math.inf, -math.inf, 5e-324],
    "date": [date(2024, 1, 1), date(1969, 12, 31), date(1, 1, 1)],
    "boolean": [True, False],
    "bigint": [0, 1, 2, 2**62, -(2**62)],
    "timestamp": [_EPOCH, _EPOCH - timedelta(microseconds=1)],
    "binary": [b"", b"\x00", b"\xff"],
    "decimal(30,4)": [Decimal("0.0000"), Decimal("12345678901234567890123456.7891"), Decimal("-0.0001")],
}


def table_of(name: str) -> BaseTable:
    return BaseTable(name, tuple(COLUMNS.items()))


@dataclass(frozen=True)
class Term:
    """A column of a part, plus a number if that is not 0."""

    part: int
    column: str
    plus: int = 0

    @property
    def sql(self) -> str:
        return f"p{self.part}.{self.column}" + (f" + {self.plus}" if self.plus else "")

    def of(self, path: Sequence[Row]) -> Any:
        value = path[self.part][NAMES.index(self.column)]
        return value + self.plus if self.plus and value is not None else value


@dataclass(frozen=True)
class Test:
    """A comparison of two terms, or of a term and a number: ``=``, ``<=>``, ``<=``, ``<>``."""

    __test__ = False
    operator: str
    left: Term
    right: Term | int

    @property
    def parts(self) -> set[int]:
        return {self.left.part} | ({self.right.part} if isinstance(self.right, Term) else set())

    @property
    def sql(self) -> str:
        return f"{self.left.sql} {self.operator} {self.right.sql if isinstance(self.right, Term) else self.right}"

    def holds(self, path: Sequence[Row]) -> bool:
        a = key_of(self.left.of(path))
        b = key_of(self.right.of(path)) if isinstance(self.right, Term) else self.right
        if self.operator == "<=>":
            return bool(a == b)
        if a is None or b is None:
            return False
        return bool(a == b if self.operator == "=" else a != b if self.operator == "<>" else a <= b)


@dataclass(frozen=True)
class Aggregate:
    """An aggregate over a term (None: all rows), where a test holds if there is one."""

    function: str
    term: Term | None
    where: Test | None = None

    @property
    def sql(self) -> str:
        inner = "*" if self.term is None else self.term.sql
        return f"{self.function}({inner})" + (f" FILTER (WHERE {self.where.sql})" if self.where else "")

    def of(self, paths: Sequence[Sequence[Row]]) -> Any:
        rows = [path for path in paths if self.where is None or self.where.holds(path)]
        if self.term is None:
            return len(rows)
        term = self.term
        values = [value for path in rows if (value := term.of(path)) is not None]
        if self.function == "count":
            return len(values)
        if not values:
            return None
        if self.function in ("min", "max"):
            return (min if self.function == "min" else max)(values, key=order_of)
        return _mean(values, term.column) if self.function == "avg" else _sum(values)


@dataclass(frozen=True)
class View:
    """``tables`` has the table of each part. ``keys`` are grouped by if there are ``aggregates`` or ``having``, the least
    number of rows of a group; otherwise ``shown`` is projected."""

    tables: tuple[str, ...]
    tests: tuple[Test, ...]
    shown: tuple[Term, ...]
    aggregates: tuple[Aggregate, ...] = ()
    keys: tuple[Term, ...] = ()
    having: int | None = None

    @property
    def grouped(self) -> bool:
        return bool(self.aggregates)

    @property
    def sql(self) -> str:
        values = [term.sql for term in self.keys] + [each.sql for each in self.aggregates]
        listed = ", ".join(values if self.grouped else [term.sql for term in self.shown])
        text = f"SELECT {listed} FROM {', '.join(f'{table} p{i}' for i, table in enumerate(self.tables))}"
        if self.tests:
            text += f" WHERE {' AND '.join(test.sql for test in self.tests)}"
        if self.grouped and self.keys:
            text += f" GROUP BY {', '.join(term.sql for term in self.keys)}"
        return text + (f" HAVING count(*) > {self.having}" if self.having is not None else "")

    def rows(self, tables: Mapping[str, Bag]) -> Bag:
        """The rows of the view."""
        paths = self._paths(tables)
        if not self.grouped:
            return Counter(plain(tuple(term.of(path) for term in self.shown)) for path in paths)
        groups: dict[Row, list[Sequence[Row]]] = {} if self.keys else {(): []}
        for path in paths:
            groups.setdefault(tuple(key_of(term.of(path)) for term in self.keys), []).append(path)
        return Counter(
            plain((*key, *(each.of(found) for each in self.aggregates)))
            for key, found in groups.items()
            if self.having is None or len(found) > self.having
        )

    def _paths(self, tables: Mapping[str, Bag]) -> list[list[Row]]:
        found: list[list[Row]] = [[]]
        for number, table in enumerate(self.tables):
            tests = [test for test in self.tests if max(test.parts) == number]
            rows = list(tables[table].elements())
            more = ([*path, row] for path in found for row in rows)
            found = [path for path in more if all(test.holds(path) for test in tests)]
        return found


def key_of(value: Any) -> Any:
    """A value as keys are compared: NaN equals NaN, −0.0 equals 0.0."""
    if isinstance(value, float):
        return "NaN" if value != value else value + 0.0
    return value


def order_of(value: Any) -> Any:
    if isinstance(value, float):
        return (value != value, 0.0 if value != value else value)
    return value.encode() if isinstance(value, str) else value


def plain(row: Row) -> Row:
    """A row in which equal values are equal objects."""
    return tuple(_plain(value) for value in row)


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return "NaN" if value != value else value + 0.0
    return value


def _sum(values: list[Any]) -> Any:
    if not isinstance(values[0], float):
        with localcontext(Context(prec=200)):
            return sum(values)
    if any(value != value for value in values) or {math.inf, -math.inf} <= set(values):
        return math.nan
    infinite = [value for value in values if math.isinf(value)]
    if infinite:
        return infinite[0]
    try:
        return math.fsum(values)
    except OverflowError:
        return math.inf if sum(map(int, values)) > 0 else -math.inf


def _mean(values: list[Any], column: str) -> Any:
    if not isinstance(values[0], Decimal):
        return float(_sum(values)) / len(values)
    scale = int(COLUMNS[column].rstrip(")").split(",")[1])
    with localcontext(Context(prec=200, rounding=ROUND_HALF_UP)):
        fine = (sum(values) / Decimal(len(values))).quantize(Decimal(1).scaleb(-38))
        return fine.quantize(Decimal(1).scaleb(-(scale + 4)))


@dataclass(frozen=True)
class History:
    """A view, the rows that its tables have at the start, and changes: for each, weighted rows of some tables."""

    view: View
    start: Mapping[str, Bag]
    changes: tuple[Mapping[str, Bag], ...]

    def script(self) -> str:
        """The history as text."""
        lines = [self.view.sql, f"start {dict(self.start)}"]
        return "\n".join([*lines, *(f"change {dict(change)}" for change in self.changes)])


@dataclass
class Generator:
    rng: random.Random
    computed: bool = True
    tables: list[str] = field(default_factory=list)

    def value(self, column: str) -> Any:
        values = _VALUES[COLUMNS[column]]
        return None if self.rng.random() < 0.15 else self.rng.choice(values[: self.rng.choice([2, len(values)])])

    def row(self) -> Row:
        return tuple(self.value(name) for name in NAMES)

    def term(self, part: int, kinds: Sequence[str] | None = None) -> Term:
        names = [name for name, kind in COLUMNS.items() if kinds is None or kind in kinds]
        column = self.rng.choice(names)
        plus = self.computed and COLUMNS[column] == "int" and self.rng.random() < 0.2
        return Term(part, column, self.rng.choice([1, 2]) if plus else 0)

    def joins(self, part: int, other: int) -> list[Test]:
        found = []
        for _ in range(self.rng.choice([1, 1, 1, 2])):
            left = self.term(part)
            if self.rng.random() < 0.6 and not left.plus:
                left = replace(left, column=self.rng.choice("abc"))
            kinds = ["int", "bigint"] if COLUMNS[left.column] in ("int", "bigint") else [COLUMNS[left.column]]
            found.append(Test("<=>" if self.rng.random() < 0.2 else "=", left, self.term(other, kinds)))
        return found

    def view(self) -> View:
        rng = self.rng
        count = rng.choice([1, 2, 2, 2, 3, 3, 3, 4, 5, 6])
        self.tables = [f"t{rng.randrange(min(count, 4))}" for _ in range(count)]
        tests: list[Test] = []
        shape = rng.choice(["chain", "star", "tree"])
        for part in range(1, count):
            other = part - 1 if shape == "chain" else 0 if shape == "star" else rng.randrange(part)
            tests += self.joins(part, other)
        if tests and rng.random() < 0.2:  # one equality that follows from others
            first = rng.choice(tests)
            same = [
                t for t in tests if t is not first and isinstance(t.right, Term) and first.right in (t.left, t.right)
            ]
            tests += [Test("=", first.left, t.left) for t in same[:1] if t.operator == first.operator == "="]
        for part in range(count):
            if rng.random() < 0.2:
                tests.append(Test(rng.choice(["<=", "<>"]), self.term(part, ["int"]), rng.choice([0, 1])))
        if count > 1 and rng.random() < 0.25:
            a, b = rng.sample(range(count), 2)
            tests.append(Test(rng.choice(["<=", "<>"]), self.term(a, ["int"]), self.term(b, ["int"])))
        view = View(tuple(self.tables), tuple(tests), tuple(self._any(count) for _ in range(rng.randrange(1, 4))))
        return self._grouped(view) if rng.random() < 0.6 else view

    def _any(self, count: int) -> Term:
        return self.term(self.rng.randrange(count))

    def _grouped(self, view: View) -> View:
        rng, count = self.rng, len(view.tables)
        aggregates = []
        for _ in range(rng.randrange(1, 4)):
            function = rng.choice(["sum", "count", "avg", "min", "max", "rows"])
            where = Test("<=", self.term(rng.randrange(count), ["int"]), 1) if rng.random() < 0.2 else None
            numbers = ["int", "decimal(10,2)", "double", "decimal(30,4)"] if function in ("sum", "avg") else None
            term = None if function == "rows" else self.term(rng.randrange(count), numbers)
            aggregates.append(Aggregate("count" if function == "rows" else function, term, where))
        keys = tuple(
            {(t.part, t.column): t for t in (self._any(count) for _ in range(rng.choice([0, 1, 1, 2])))}.values()
        )
        return replace(
            view, aggregates=tuple(aggregates), keys=keys, having=rng.choice([None, None, 0, 1]) if keys else None
        )

    def change(self, rows: dict[str, Bag], most: int) -> dict[str, Bag]:
        """A change of one or two tables, which ``rows`` undergo."""
        found: dict[str, Bag] = {}
        for table in self.rng.sample(sorted(rows), min(len(rows), self.rng.choice([1, 1, 2]))):
            bag, changed = rows[table], Counter[Row]()
            for _ in range(self.rng.randrange(1, most + 1)):
                there = [row for row, copies in bag.items() if copies > 0]
                kind = self.rng.random()
                if kind < 0.55 and there:
                    old = self.rng.choice(there)
                    bag[old] -= 1
                    changed[old] -= 1
                if kind > 0.3 and sum(bag.values()) < 7:
                    new = self.row() if not there or self.rng.random() < 0.5 else self._like(self.rng.choice(there))
                    new = next((row for row in bag if row == new), new)  # 0.0 and −0.0 are one row of a bag
                    bag[new] += 1
                    changed[new] += 1
            found[table] = changed
        return found

    def _like(self, row: Row) -> Row:
        """A row that differs from another one in some columns, or not."""
        changed = list(row)
        for _ in range(self.rng.choice([0, 1, 1, 2])):
            at = self.rng.randrange(len(NAMES))
            changed[at] = self.value(NAMES[at])
        return tuple(changed)


def history(seed: int, changes: int = 5, *, computed: bool = True) -> History:
    rng = random.Random(seed)
    generator = Generator(rng, computed)
    view = generator.view()
    rows: dict[str, Bag] = {table: Counter() for table in set(view.tables)}
    for table in sorted(rows):
        for _ in range(rng.randrange(5)):
            rows[table][generator.row()] += 1
    start = {table: Counter(bag) for table, bag in rows.items()}
    done = tuple(generator.change(rows, rng.choice([1, 1, 3])) for _ in range(changes))
    return History(view, start, done)


def arrow(bag: Bag) -> pa.Table:
    """Weighted rows as a live view takes them."""
    listed = [(row, weight) for row, weight in bag.items() if weight]
    columns = {
        name: pa.array([row[i] for row, _ in listed], type=ARROW[kind])
        for i, (name, kind) in enumerate(COLUMNS.items())
    }
    return pa.table(columns | {"__w": pa.array([weight for _, weight in listed], type=pa.int64())})


def shorter(history: History) -> list[History]:
    """Histories with one thing less."""
    found = []
    for i, change in enumerate(history.changes):
        found.append(replace(history, changes=history.changes[:i] + history.changes[i + 1 :]))
        for table, bag in change.items():
            for row in bag:
                less = {**change, table: Counter({r: n for r, n in bag.items() if r != row})}
                found.append(replace(history, changes=(*history.changes[:i], less, *history.changes[i + 1 :])))
    for table, bag in history.start.items():
        for row in bag:
            fewer = Counter({r: n for r, n in bag.items() if r != row})
            found.append(replace(history, start={**history.start, table: fewer}))
    for i in range(len(history.view.aggregates) if len(history.view.aggregates) > 1 else 0):
        kept = history.view.aggregates[:i] + history.view.aggregates[i + 1 :]
        found.append(replace(history, view=replace(history.view, aggregates=kept)))
    for i in range(len(history.view.tests)):
        kept_tests = history.view.tests[:i] + history.view.tests[i + 1 :]
        found.append(replace(history, view=replace(history.view, tests=kept_tests)))
    return found
