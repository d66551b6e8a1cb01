"""Edits as changed rows of a table in DuckDB: the stored rows to delete, and the rows that replace them.

The changed rows of one edit are a join of the stored rows with the given rows. If there are several edits, each is
joined with the result of the previous ones: the stored rows that they did not change, and the rows that they produced.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rollview.plan.reserved import DELETED
from rollview.store.duck.tables import DuckTables, quoted
from rollview.store.edits import Append, RowEdit, ambiguous, matching
from rollview.store.row_counts import RowCounts

#: Rows that a commit inserts have negative numbers. The numbers of one edit are this far from those of the next.
_APART = 2**40


class ChangedRows:
    """The changed rows of a table, kept in the temporary table ``rv_hits`` of a transaction.

    ``__rid`` is the number of the stored row, ``__action`` is ``u`` if a row takes its place, and ``d`` if none does.
    A row that is inserted has a negative number, or none."""

    def __init__(self, tables: DuckTables, table: str, edits: Sequence[RowEdit] = ()) -> None:
        self._tables, self._db, self._table = tables, tables.db, table
        self._data = f"rv_data.{quoted(table)}"
        self._stored = f"SELECT rowid AS __rid, {tables.listed(table)} FROM {self._data} WHERE __to IS NULL"
        if len(edits) == 1:
            self._compute("rv_hits", *self._joined(edits[0], self._stored), tables.columns(table))
        elif edits:
            for number, edit in enumerate(edits, 1):
                self._step(edit, number)
            self._drop_equal()

    def of(self, source: str, action: str, values: Mapping[str, str]) -> None:
        """The changed rows of a statement: ``source`` has the number ``t.__rid`` of a stored row or none, and the
        action and the new values of the columns are over its columns."""
        self._compute("rv_hits", source, action, values)
        self._drop_equal()

    def _joined(self, edit: RowEdit, rows: str) -> tuple[str, str, Mapping[str, str]]:
        """Rows of the table joined with those of an edit, the action, and the new values."""
        columns = self._tables.columns(self._table)
        given = dict(self._tables.engine.columns(edit.rows))
        if isinstance(edit, Append):
            nobody = f"SELECT NULL::BIGINT AS __rid, {', '.join(f'NULL AS {quoted(c)}' for c in columns)}"
            source = f"({nobody}) AS t, ({edit.rows.sql}) AS s"
            return source, "'u'", {c: f"s.{quoted(c)}" if c in given else "NULL" for c in columns}
        how = matching(edit, quoted, ("__rid",), flagged=DELETED.label in given)
        values = {}
        for column in columns:
            old, new, value = f"t.{quoted(column)}", f"s.{quoted(column)}", how.values.get(column)
            if how.inserts:
                value = new if value is None else f"CASE WHEN t.__rid IS NULL THEN {new} ELSE {value} END"
            values[column] = value or old
        action = f"CASE WHEN {how.gone} THEN CASE WHEN t.__rid IS NOT NULL THEN 'd' END ELSE 'u' END"
        join = "RIGHT JOIN" if how.inserts else "JOIN"
        return f"({rows}) AS t {join} ({edit.rows.sql}) AS s ON {how.condition}", action, values

    def _step(self, edit: RowEdit, number: int) -> None:
        """Joins one more edit with the rows that those before it left, and adds what it changes."""
        rows = self._stored
        if number > 1:
            listed = self._tables.listed(self._table)
            rows = (
                f"SELECT * FROM ({rows}) AS o WHERE NOT EXISTS (SELECT 1 FROM rv_hits AS h WHERE h.__rid = o.__rid) "
                f"UNION ALL SELECT __rid, {listed} FROM rv_hits WHERE __action = 'u'"
            )
        self._compute("rv_step", *self._joined(edit, rows), self._tables.columns(self._table))
        # an inserted row gets a number, so that the next edit can address it
        named = f"coalesce(__rid, -{number * _APART} - row_number() OVER ())"
        made = f"SELECT * REPLACE ({named} AS __rid) FROM rv_step WHERE __action = 'u' OR __rid >= 0"
        if number > 1:
            left = "SELECT * FROM rv_hits AS h WHERE NOT EXISTS (SELECT 1 FROM rv_step AS c WHERE c.__rid = h.__rid)"
            made = f"{left} UNION ALL {made}"
        self._db.execute(f"CREATE OR REPLACE TEMP TABLE rv_hits AS {made}")
        self._db.execute("DROP TABLE rv_step")

    def _compute(
        self, name: str, source: str, action: str, values: Mapping[str, str], compared: Sequence[str] = ()
    ) -> None:
        """Puts what changes into a temporary table; an update that changes none of the columns ``compared``, which are
        those of ``t``, is left out. Raises AmbiguousMerge."""
        types = self._tables.types(self._table)
        listed = ", ".join(f"CAST({value} AS {types[c]}) AS {quoted(c)}" for c, value in values.items())
        old = "".join(f", t.{quoted(c)} AS {quoted('__old_' + c)}" for c in compared)
        same = " AND ".join(f"{quoted(c)} IS NOT DISTINCT FROM {quoted('__old_' + c)}" for c in compared) or "false"
        self._db.execute(
            f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT __rid, __action, {', '.join(map(quoted, values))} "
            f"FROM (SELECT t.__rid AS __rid, {action} AS __action, {listed}{old} FROM {source}) "
            f"WHERE __action = 'd' OR (__action = 'u' AND (__rid IS NULL OR NOT ({same})))"
        )
        twice = (
            f"SELECT 1 FROM {name} WHERE __rid IS NOT NULL GROUP BY __rid "
            "HAVING count(*) > 1 AND NOT bool_and(__action = 'd') LIMIT 1"
        )
        if self._db.execute(twice).fetchall():
            raise ambiguous(self._table)

    def _drop_equal(self) -> None:
        """Removes updates that leave a stored row as it was."""
        columns = self._tables.columns(self._table)
        same = " AND ".join(f"h.{quoted(c)} IS NOT DISTINCT FROM o.{quoted(c)}" for c in columns)
        self._db.execute(
            f"DELETE FROM rv_hits AS h USING {self._data} AS o WHERE h.__rid = o.rowid AND h.__action = 'u' AND {same}"
        )

    def written(self, version: int) -> RowCounts:
        """Writes the changes into the table, as those of a version."""
        updates = "SELECT __rid FROM rv_hits WHERE __action = 'u' AND __rid >= 0"
        ended = self._tables.one(
            f"UPDATE {self._data} SET __to = {version}, __replaced = rowid IN ({updates}) "
            "WHERE rowid IN (SELECT __rid FROM rv_hits)"
        )
        listed = self._tables.listed(self._table)
        begun = self._tables.one(
            f"INSERT INTO {self._data} ({listed}, __from, __updated) "
            f"SELECT {listed}, {version}, __rid >= 0 FROM rv_hits WHERE __action = 'u'"
        )
        updated = self._tables.one(f"SELECT count(*) FROM ({updates})")
        self._db.execute("DROP TABLE rv_hits")
        return RowCounts(begun - updated, updated, ended - updated)
