"""Evaluates checked expressions over Arrow tables, with Spark's values.

Columns are passed on as they are, and Arrow computes what it can. For all else, one SELECT of DuckDB computes all
expressions over the batch: DuckDB knows nothing but that batch, and runs in this process.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cached_property

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from rollview.engine.expressions.arrow import Operation
from rollview.engine.expressions.checker import Checker
from rollview.engine.expressions.duck_values import DUCK
from rollview.engine.expressions.functions import FUNCTIONS
from rollview.engine.expressions.operators import OPERATORS
from rollview.engine.expressions.refused import EvaluationFailed, Refused
from rollview.engine.expressions.settings import Settings
from rollview.engine.expressions.terms import Function, Term
from rollview.engine.expressions.types import VOID, spark_type
from rollview.errors import InternalError
from rollview.plan.expressions import Expr
from rollview.stack import deep

FORMS = OPERATORS | FUNCTIONS

_CONDITION = re.compile(r"\[([A-Z][A-Z_.]+)\]|cannot be computed: ([A-Z_.]+)")
_OVERFLOW = re.compile(r"Overflow in \w+ of INT(\d+)")


class Evaluator:
    """Expressions over the columns of a table, evaluated together. ``reads`` are these columns, ``types`` the results'
    types as Spark writes them, and ``can_fail`` says whether a value can be an error under ANSI."""

    def __init__(self, terms: Mapping[str, Term], places: Mapping[str, str], columns: Mapping[str, str]) -> None:
        self.terms = dict(terms)
        self.types = {name: str(term.type) for name, term in terms.items()}
        self.schema = pa.schema([(name, term.type.arrow) for name, term in terms.items()])
        self.reads = frozenset().union(*(term.columns for term in terms.values()))
        self.can_fail = any(term.fails for term in terms.values())
        read = [name for name in places if name in self.reads]
        self._given = pa.schema([(name, spark_type(columns[name]).arrow) for name in read])
        self._places = [places[name] for name in read]

    def __call__(self, table: pa.Table | pa.RecordBatch) -> pa.Table:
        """The values for each row, in the order of the rows. Raises EvaluationFailed if Spark would raise an error."""
        if isinstance(table, pa.RecordBatch):
            table = pa.Table.from_batches([table])
        if not self.terms:
            return table.select([])
        given = table.select(self._given.names)
        if given.schema != self._given:
            given = given.cast(self._given)
        if self._short and (quick := self._in_arrow(given)) is not None:
            return quick
        listed = ", ".join(f'{item} AS "r{i}"' for i, item in enumerate(self._items))
        found = self._run(f"SELECT {listed} FROM given", given, table.num_rows)
        return found.rename_columns(self.schema.names).cast(self.schema)

    def mask(self, table: pa.Table | pa.RecordBatch) -> pa.BooleanArray:
        """Of one condition: whether it is true, for each row."""
        (column,) = self(table).columns
        return pc.fill_null(column, False).combine_chunks()

    def attempt(self, table: pa.Table) -> tuple[pa.Table, pa.Table]:
        """The values, NULL where computing one raises an error; and whether it does, for each row and expression."""
        items = [f"TRY(struct_pack(v := {item}))" for item in self._items]
        listed = ", ".join(f'{item}.v AS "v{i}", {item} IS NULL AS "f{i}"' for i, item in enumerate(items))
        given = table.select(self._given.names).cast(self._given)
        found = self._run(f"SELECT {listed} FROM given", given, table.num_rows)
        names = self.schema.names
        values = found.select(range(0, 2 * len(names), 2)).rename_columns(names).cast(self.schema)
        return values, found.select(range(1, 2 * len(names), 2)).rename_columns(names)

    def _in_arrow(self, given: pa.Table) -> pa.Table | None:
        """The values as Arrow computes them; None if that raises an error."""
        columns = dict(zip(given.column_names, given.columns, strict=True))
        try:
            return pa.table([operation(columns) for operation in self._short], schema=self.schema)
        except pa.ArrowInvalid:
            return None

    @property
    def in_arrow(self) -> bool:
        """Whether Arrow computes all values."""
        return bool(self._short)

    @cached_property
    def _short(self) -> list[Operation]:
        """The ways to compute all values in Arrow, if there are; a value of no column has no rows there."""
        found = [term.arrow for term in self.terms.values() if term.arrow is not None and term.columns]
        return found if len(found) == len(self.terms) else []

    def _run(self, query: str, given: pa.Table, rows: int) -> pa.Table:
        named = given.rename_columns(self._places)
        if not self._places:  # literals: DuckDB needs a column to count the rows by
            named = pa.table({"rows": pa.nulls(rows, pa.int8())})
        try:
            with DUCK.over(named, self._functions) as connection:
                found: pa.Table = connection.sql(query).to_arrow_table()
        except duckdb.Error as error:
            raise failed(error) from error
        return found

    @cached_property
    def _items(self) -> list[str]:
        return [f"CAST({term.sql} AS {term.type.duck})" for term in self.terms.values()]

    @cached_property
    def _functions(self) -> frozenset[Function]:
        return frozenset().union(*(term.functions for term in self.terms.values()))


@deep
def evaluator(expressions: Iterable[tuple[str, Expr]], columns: Mapping[str, str], settings: Settings) -> Evaluator:
    """An evaluator of named expressions over columns of these types, as Spark writes types. Raises Refused if one is
    not on the list."""
    expressions = list(expressions)
    used = {column.name for _, value in expressions for column in value.find_all(exp.Column)}
    known = {name: spark_type(kind) for name, kind in columns.items() if name in used}
    checker = Checker(known, settings.zone, FORMS)
    terms = {name: checker.term(value) for name, value in expressions}
    for term in terms.values():
        if term.type == VOID:
            raise Refused("NULL as a value without a type", todo="CAST it to a type")
    return Evaluator(terms, checker.places, columns)


def failed(error: duckdb.Error) -> EvaluationFailed:
    """The error of Spark that an error of DuckDB stands for."""
    said = str(error)
    if match := _CONDITION.search(said):
        return EvaluationFailed(match[1] or match[2])
    if match := _OVERFLOW.search(said):
        return EvaluationFailed("BINARY_ARITHMETIC_OVERFLOW" if int(match[1]) < 32 else "ARITHMETIC_OVERFLOW")
    raise InternalError("DuckDB could not compute an expression", why=said.split("\n")[0]) from error
