"""Incremental materialized views for Apache Spark.

The rooms of the package, in the order that a view's data takes; each imports only from those before it:

========== =============================================================================================
errors     one tree of errors: what, where underlined, why, what to do
stack      room for following SQL that nests deeply
parse      text → statements, names, and the tables that a query reads
plan       a query → operators: building, showing
keys       what tells the rows of a plan apart, and which columns decide others
delta      what changed below an operator → what changes in its result: rules, and passes over delta plans
compile    a plan → SQL, one CTE per operator, in three dialects; what a view stores; the Δ-script of a refresh
engine     Spark, and DuckDB as a second one: SELECTs over named relations; their errors in our words
store      tables with versions, snapshots, changes and atomic commits: embedded, or Delta through Spark
refresh    a view's definition and vector; making, refreshing, verifying and explaining it
session    ``connect`` and ``Rollview``: what a user calls
bench      measurements, always as ratios within one run
cli        the command ``rollview``
========== =============================================================================================
"""

from rollview.errors import InternalError, NotIncremental, RollviewError, UserError
from rollview.refresh.results import Outcome, RefreshResult, Verification, ViewStatus
from rollview.session import Rollview, connect

__version__ = "0.1.0"

__all__ = [
    "InternalError",
    "NotIncremental",
    "Outcome",
    "RefreshResult",
    "Rollview",
    "RollviewError",
    "UserError",
    "Verification",
    "ViewStatus",
    "__version__",
    "connect",
]
