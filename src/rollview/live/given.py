"""Changes that a caller gives, checked before anything is changed: tables of Arrow with a weight for each row."""

from __future__ import annotations

import pyarrow as pa

from rollview.errors import ColumnNotFound, TableNotFound, UserError, nearest
from rollview.live.definition import columns_read
from rollview.live.shape import Shape
from rollview.live.words import kind_of
from rollview.plan.reserved import WEIGHT


class Given:
    """What changes of the tables of a view look like."""

    def __init__(self, shape: Shape) -> None:
        self._schemas: dict[str, pa.Schema] = {}
        for table in shape.tables:
            kinds = {source: kind for part in shape.occurrences(table) for _, source, kind in part.sources}
            read = [pa.field(name, kind_of(kinds[name]).arrow) for name in columns_read(shape, table)]
            self._schemas[table] = pa.schema([*read, pa.field(WEIGHT.label, pa.int64())])

    def checked(self, table: str, rows: object) -> pa.Table:
        """A change of a table in the columns that the view reads, in their types, and the weight. Raises an error if
        they are not there."""
        wanted = self._schemas.get(table)
        if wanted is None:
            raise TableNotFound(
                f"The live view does not read {table}",
                todo=nearest(table, self._schemas) or f"it reads {', '.join(self._schemas)}",
            )
        if isinstance(rows, pa.RecordBatch):
            rows = pa.Table.from_batches([rows])
        if not isinstance(rows, pa.Table):
            raise UserError(f"The change of {table} is a table of Arrow, not {type(rows).__name__}")
        found = rows if rows.schema.equals(wanted) else _in_types(table, rows, wanted)
        if found.column(found.num_columns - 1).null_count:
            raise UserError(f"A weight in the change of {table} is NULL", todo="give a whole number for each row")
        return found


def _in_types(table: str, rows: pa.Table, wanted: pa.Schema) -> pa.Table:
    columns = []
    for field in wanted:
        if field.name not in rows.column_names:
            raise ColumnNotFound(
                f"The change of {table} has no column {field.name}",
                why="it says how many copies of a row come or go"
                if field.name == WEIGHT.label
                else "the view reads it",
                todo=nearest(field.name, rows.column_names) or f"give the columns {', '.join(wanted.names)}",
            )
        try:
            columns.append(rows.column(field.name).cast(field.type))
        except pa.ArrowException as error:
            raise UserError(
                f"The column {field.name} of the change of {table} has type {rows.schema.field(field.name).type}",
                why=str(error).split("\n")[0],
                todo=f"give values of type {field.type}",
            ) from error
    return pa.Table.from_arrays(columns, schema=wanted)
