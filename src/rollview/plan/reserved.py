"""Names reserved for rollview: no table or query may use them."""

from __future__ import annotations

from sqlglot import exp

from rollview.plan.nodes import Column

#: The name under which the SQL that shows a view reads the view state.
STATE = "__state"

#: The weight of a row of a delta. Where two deltas are joined, one of them is renamed.
WEIGHT = Column("__w", "__w", exp.DataType.build("bigint"))

#: In the source of a merge, this column is true for rows whose matches are deleted.
DELETED = Column("__delete", "__delete", exp.DataType.build("boolean"))

#: The version at which a changed row was committed, in changes that keep commits apart.
TIME = Column("__t", "__t", exp.DataType.build("bigint"))
