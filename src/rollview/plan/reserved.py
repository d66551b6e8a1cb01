"""Names of rollview's own, which no table or query may use."""

from __future__ import annotations

from sqlglot import exp

from rollview.plan.nodes import Column

#: The name by which the SQL that shows a view reads its state.
STATE = "__state"

#: The weight of a row of a delta. No plan joins two deltas, so one name is enough.
WEIGHT = Column("__w", "__w", exp.DataType.build("bigint"))

#: In the source of a merge, this column is true for rows whose matches are deleted.
DELETED = Column("__delete", "__delete", exp.DataType.build("boolean"))

#: The version of its table that a row of a change belongs to, where a change keeps its commits apart.
TIME = Column("__t", "__t", exp.DataType.build("bigint"))
