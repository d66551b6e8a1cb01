"""Edits as changed rows, evaluated by Spark.

One edit is one join of the table's rows with the given rows. Several edits are a chain of such joins. Each join reads
the result of the previous edits: the stored rows that they did not change, and the rows that they produced. Only the
touched rows are computed and materialized, never the whole table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.types import NullType, StructType

from rollview.engine.protocol import Kept
from rollview.engine.spark import SparkEngine, sql_over, verbatim
from rollview.parse.names import quote
from rollview.plan.reserved import DELETED
from rollview.store.edits import Append, Matching, RowEdit, TakeCopies, Upsert, ambiguous, equal, matching
from rollview.store.protocol import DELETE, INSERT
from rollview.store.schema import aligned, check_source, column_named, differs, sql_type
from rollview.store.spark_sql.row_changes import AFTER, BEFORE, FILE, KIND, PLACE, POSITION, UPDATE, struct_of

#: Of a chain: the given row that changed a row, whether another one did, too, and a number for equal changes.
_GIVEN, _CLASHES, _COPY = "__rv_given", "__rv_clashes", "__rv_copy"

#: Of a chain: a row as the edits before this one left it.
_NOW = "__rv_now"

#: Positions of rows that a commit inserts are negative; those of one edit are this far from those of the next.
_APART = 2**52

#: The stored rows that an edit may touch, with their places, and whether there are many more of them than given rows.
Stored = Callable[[RowEdit], tuple[DataFrame, DataFrame, bool]]


def changes_of(
    rows: DataFrame, given: DataFrame, edit: RowEdit, schema: StructType, table: str, *, restricted: bool = False
) -> DataFrame:
    """The rows that one edit other than Append changes in a table's located ``rows``; ``given`` are the edit's own.

    If the table is ``restricted`` to the rows that match first, ``given`` is computed twice: it should be kept."""
    how = matching_of(edit, given, schema, table)
    picked = f"SELECT t.{FILE}, t.{POSITION}, {struct_of(schema, prefix='t')} AS {BEFORE}, {_results(how, schema)}"
    return _joined(rows, given, how, picked, _changing(schema, BEFORE), restricted)


def matching_of(edit: RowEdit, given: DataFrame, schema: StructType, table: str) -> Matching:
    """How the edit matches rows, by the table's own names of its columns."""
    assert not isinstance(edit, Append)
    on = compared(edit.on, schema, table)
    if isinstance(edit, Upsert | TakeCopies):
        check_source(given, schema, table)
    flagged = isinstance(edit, Upsert) and DELETED.label in given.columns
    how = matching(replace(edit, on=on), quote, PLACE, flagged=flagged)
    return replace(how, values={column_named(schema, name, table): value for name, value in how.values.items()})


def compared(on: Sequence[str], schema: StructType, table: str) -> list[str]:
    """The table's own names of columns, without those of type VOID: all of their values are equal."""
    names = [column_named(schema, name, table) for name in on]
    return [name for name in names if not isinstance(schema[name].dataType, NullType)]


def _results(how: Matching, schema: StructType) -> str:
    """What a matched row becomes, or a given one that matches none, and the kind of change."""
    casts = {}
    for field_ in schema.fields:
        old, new, value = f"t.{quote(field_.name)}", f"s.{quote(field_.name)}", how.values.get(field_.name)
        if how.inserts:
            value = new if value is None else f"CASE WHEN t.{POSITION} IS NULL THEN {new} ELSE {value} END"
        casts[field_.name] = f"CAST({value or old} AS {sql_type(field_.dataType)})"
    there = f"t.{POSITION} IS NOT NULL"
    kind = (
        f"CASE WHEN {how.gone} THEN CASE WHEN {there} THEN '{DELETE}' END "
        f"WHEN {there} THEN '{UPDATE}' ELSE '{INSERT}' END"
    )
    return f"{struct_of(schema, casts)} AS {AFTER}, {kind} AS {KIND}"


def _changing(schema: StructType, before: str) -> str:
    return f"{KIND} <> '{UPDATE}' OR {differs(schema, schema.names, before, AFTER)}"


def _joined(
    rows: DataFrame, given: DataFrame, how: Matching, picked: str, condition: str, restricted: bool
) -> DataFrame:
    match = verbatim(how.condition)
    # the few matching rows of a large table are selected by a semi join first: an outer join would shuffle the table
    near = f"(SELECT t.* FROM {{t}} AS t LEFT SEMI JOIN {{s}} AS s ON {match})" if restricted and how.inserts else "{t}"
    join = "RIGHT JOIN" if how.inserts else "JOIN"
    # in one statement: Spark analyses the whole plan of the source again for every call that adds to it
    return sql_over(
        rows.sparkSession,
        f"SELECT * FROM ({verbatim(picked)} FROM {near} AS t {join} {{s}} AS s ON {match}) "
        f"WHERE {KIND} IS NOT NULL AND ({verbatim(condition)})",
        t=rows,
        s=given,
    )


@dataclass
class Chain:
    """The changes of several edits of one table.

    ``stored`` gives the rows that an edit may touch, whose column FILE has the type ``file``. If their places are not
    ``exact``, equal rows have one place, and each edit treats them alike."""

    engine: SparkEngine
    schema: StructType
    table: str
    stored: Stored
    file: str = "STRING"
    exact: bool = True
    kept: list[Kept] = field(default_factory=list)

    @property
    def few(self) -> bool:
        """Whether all changed rows are in this process."""
        return all(each.local is not None for each in self.kept)

    def changes(self, edits: Sequence[RowEdit]) -> DataFrame:
        """The difference that the edits make together."""
        touched: DataFrame | None = None
        for number, edit in enumerate(edits, 1):
            changed = self._step(edit, touched, number)
            touched = changed if touched is None else self._onto(touched, changed)
        assert touched is not None
        new = f"{POSITION} < 0"
        moved = f"{KIND} <> '{UPDATE}' OR {differs(self.schema, self.schema.names, BEFORE, AFTER)}"
        return touched.where(moved).selectExpr(FILE, f"IF({new}, NULL, {POSITION}) AS {POSITION}", BEFORE, AFTER, KIND)

    def _step(self, edit: RowEdit, touched: DataFrame | None, number: int) -> DataFrame:
        """The rows that an edit touches: where they are, what they were before the first edit, and what they are now. A
        row that the commit itself inserts stays an insert."""
        if isinstance(edit, Append):
            return self._unambiguous(self._appended(edit), number)
        rows, given, restricted = self.stored(edit)
        current = self._current(rows, touched)
        if isinstance(edit, TakeCopies) and not self.exact:
            self.kept.append(self.engine.keep(given))
            how, given = rest_of_copies(edit, self.kept[-1].frame, current, self.schema, self.table)
        else:
            how = matching_of(edit, given, self.schema, self.table)
        numbered = given.selectExpr("*", f"monotonically_increasing_id() AS {_GIVEN}")
        now = f"{struct_of(self.schema, prefix='t')} AS {_NOW}"
        picked = f"SELECT t.{FILE}, t.{POSITION}, t.{BEFORE}, {_results(how, self.schema)}, s.{_GIVEN}, {now}"
        found = _joined(current, numbered, how, picked, _changing(self.schema, _NOW), restricted)
        return self._unambiguous(found, number)

    def _appended(self, edit: Append) -> DataFrame:
        """The rows of an Append, which have no place yet and were nothing before."""
        return aligned(edit.rows, self.schema, self.table, by_name=True).selectExpr(
            f"CAST(NULL AS {self.file}) AS {FILE}",
            f"CAST(NULL AS BIGINT) AS {POSITION}",
            f"CAST(NULL AS {sql_type(self.schema)}) AS {BEFORE}",
            f"{struct_of(self.schema)} AS {AFTER}",
            f"'{INSERT}' AS {KIND}",
            f"CAST(NULL AS BIGINT) AS {_GIVEN}",
        )

    def _current(self, rows: DataFrame, touched: DataFrame | None) -> DataFrame:
        """The rows that the edits so far left, each with what it was before."""
        names = ", ".join(quote(name) for name in self.schema.names)
        stored = verbatim(f"SELECT {names}, {FILE}, {POSITION}, {struct_of(self.schema)} AS {BEFORE}")
        if touched is None:
            return sql_over(rows.sparkSession, f"{stored} FROM {{rows}}", rows=rows)
        made = verbatim(", ".join(f"{AFTER}.{quote(name)} AS {quote(name)}" for name in self.schema.names))
        return sql_over(
            rows.sparkSession,
            f"{stored} FROM {{rows}} AS t LEFT ANTI JOIN {{touched}} AS h ON {_same_place('t', 'h')} "
            f"UNION ALL SELECT {made}, {FILE}, {POSITION}, {BEFORE} FROM {{touched}} WHERE {KIND} <> '{DELETE}'",
            rows=rows,
            touched=touched,
        )

    def _unambiguous(self, found: DataFrame, number: int) -> DataFrame:
        """The touched rows, computed, each of them once. Raises AmbiguousMerge."""
        columns = f"{FILE}, {POSITION}, {BEFORE}, {AFTER}, {KIND}"
        place = f"coalesce({POSITION}, -{number * _APART}L - monotonically_increasing_id())"
        kind = f"IF({KIND} = '{UPDATE}' AND {POSITION} < 0, '{INSERT}', {KIND})"
        beside = f"PARTITION BY {FILE}, {POSITION}"
        several = f"min({_GIVEN}) OVER ({beside}) <> max({_GIVEN}) OVER ({beside})"
        clashes = f"{several} AND NOT bool_and({KIND} = '{DELETE}') OVER ({beside})"
        query = (
            f"SELECT {columns}, coalesce({clashes}, false) AS {_CLASHES}, "
            f"row_number() OVER ({beside} ORDER BY {_GIVEN}) AS {_COPY} "
            f"FROM (SELECT {FILE}, {place} AS {POSITION}, {BEFORE}, {AFTER}, {kind} AS {KIND}, {_GIVEN} FROM {{found}})"
        )
        kept = self.engine.keep(sql_over(found.sparkSession, query, found=found))
        self.kept.append(kept)
        if kept.local is None:
            clash = not kept.frame.where(_CLASHES).isEmpty()
        else:
            clash = bool(pc.any(kept.local.column(_CLASHES)).as_py())
        if clash:
            raise ambiguous(self.table)
        once: DataFrame = kept.frame.where(f"{_COPY} = 1").drop(_CLASHES, _COPY)
        return once

    def _onto(self, touched: DataFrame, changed: DataFrame) -> DataFrame:
        """All touched rows as they are now; a row that was inserted and deleted is not one of them."""
        return sql_over(
            touched.sparkSession,
            f"SELECT h.* FROM {{touched}} AS h LEFT ANTI JOIN {{changed}} AS c ON {_same_place('h', 'c')} "
            f"UNION ALL SELECT * FROM {{changed}} WHERE {POSITION} >= 0 OR {KIND} <> '{DELETE}'",
            touched=touched,
            changed=changed,
        )


def rest_of_copies(
    edit: TakeCopies, given: DataFrame, rows: DataFrame, schema: StructType, table: str
) -> tuple[Matching, DataFrame]:
    """TakeCopies if equal rows have one place: the rows from which copies are taken are deleted, and the remaining
    copies are inserted. ``given`` is computed twice, so it should be materialized."""
    number = quote(column_named(schema, edit.count, table))
    on, matched_on = [column_named(schema, c, table) for c in edit.on], compared(edit.on, schema, table)
    same, left = ", ".join(f"s.{quote(c)}" for c in on), f"sum(t.{number}) + s.{number}"
    match = " AND ".join(equal(f"t.{quote(c)}", f"s.{quote(c)}") for c in matched_on) or "true"
    first = verbatim(f"SELECT {same}, s.{number}, s.{number} < 0 AS {DELETED.label}")
    rest = verbatim(f"SELECT {same}, {left}, false")
    going = verbatim(f"{match} AND s.{number} < 0 GROUP BY {same}, s.{number} HAVING {left} > 0")
    query = f"{first} FROM {{s}} AS s UNION ALL {rest} FROM {{s}} AS s JOIN {{t}} AS t ON {going}"
    how = Matching(f"{match} AND s.{DELETED.label}", {}, f"s.{DELETED.label}", inserts=True)
    return how, sql_over(rows.sparkSession, query, s=given, t=rows)


def _same_place(one: str, other: str) -> str:
    return f"{one}.{POSITION} = {other}.{POSITION} AND {one}.{FILE} IS NOT DISTINCT FROM {other}.{FILE}"
