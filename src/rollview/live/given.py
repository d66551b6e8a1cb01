"""Changes that a caller gives, checked before anything is changed: tables of Arrow with a weight for each row."""

from __future__ import annotations

import pyarrow as pa

from rollview.errors import ColumnNotFound, TableNotFound, UserError, nearest
from rollview.live.definition import columns_read
from rollview.live.shape import Shape
from rollview.live.words import kind_of
from rollview.plan.reserved import WEIGHT


def weighted_rows(shape: Shape, table: str, rows: object) -> pa.Table:
    """The columns that the view reads, in their types, and the weight. Raises an error if they are not there."""
    if table not in shape.tables:
        raise TableNotFound(
            f"The live view does not read {table}",
            todo=nearest(table, shape.tables) or f"it reads {', '.join(shape.tables)}",
        )
    if isinstance(rows, pa.RecordBatch):
        rows = pa.Table.from_batches([rows])
    if not isinstance(rows, pa.Table):
        raise UserError(f"The change of {table} is a table of Arrow, not {type(rows).__name__}")
    kinds = {source: kind for part in shape.occurrences(table) for _, source, kind in part.sources}
    wanted = [*columns_read(shape, table), WEIGHT.label]
    columns = []
    for name in wanted:
        if name not in rows.column_names:
            raise ColumnNotFound(
                f"The change of {table} has no column {name}",
                why="it says how many copies of a row come or go" if name == WEIGHT.label else "the view reads it",
                todo=nearest(name, rows.column_names) or f"give the columns {', '.join(wanted)}",
            )
        kind = pa.int64() if name == WEIGHT.label else kind_of(kinds[name]).arrow
        try:
            columns.append(rows.column(name).cast(kind))
        except pa.ArrowException as error:
            raise UserError(
                f"The column {name} of the change of {table} has type {rows.schema.field(name).type}",
                why=str(error).split("\n")[0],
                todo=f"give values of type {kind}",
            ) from error
    if columns[-1].null_count:
        raise UserError(f"A weight in the change of {table} is NULL", todo="give a whole number for each row")
    return pa.Table.from_arrays(columns, names=wanted)
