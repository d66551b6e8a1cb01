"""Incremental materialized views for Apache Spark.

The rooms of the package; each imports only from those before it:

========== ====================================================================================================
errors     one tree of errors: what, where underlined, why, what to do
stack      room for following SQL that nests deeply
limits     every threshold, with its reason
parse      text → statements, names, and the tables that a query names
plan       the algebra: operators, expressions, rewrite rules
keys       what identifies the rows of a plan, and which columns decide others
frontend   the text of a view → its plan
delta      what changed below an operator → what changes in its result
codegen    a plan → SQL, one CTE per operator, in three dialects
state      what a view stores
strategy   ways to refresh a view: which applies, and its plan
engine     Spark, and DuckDB as a second one: SELECTs over named relations; their errors in our words
store      tables with versions, snapshots, changes and atomic commits: embedded, or Delta through Spark
views      the definition, state and vector of a view: creating, explaining and verifying it
refresh    bringing views to the newest versions of their base tables
session    ``connect`` and ``Rollview``: what a user calls
bench      measurements, always as ratios within one run
cli        the command ``rollview``
========== ====================================================================================================
"""

from rollview.errors import InternalError, NotIncremental, RollviewError, UserError
from rollview.limits import Limits
from rollview.session import Rollview, connect
from rollview.views.results import Outcome, RefreshResult, Verification, ViewStatus

__version__ = "0.1.0"

__all__ = [
    "InternalError",
    "Limits",
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
