"""The names of rollview's own columns and relations that several packages share; others are defined in the files that
use them, and all begin with ``__``.

Columns of users may have such names, too, because the two do not share a namespace. In a plan, a column is named after
its relation (``t0___n``). In a view's state, a column whose name begins with ``_`` is stored under another name
(``__c0``), and has its own name again where the view is read. The exceptions are columns that are read or shown beside
rollview's own:

- ``__w`` and ``__t``: a view that reads such a column is recomputed at every refresh, and ``changes`` is refused for a
  table or view that has one, because changes have columns of these names.
- ``__state``: no view shows a column of that name (``views/checks``).
- A store refuses names that its own columns or its format have, such as ``__delete`` in DuckDB.
"""

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
