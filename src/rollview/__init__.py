"""Incremental materialized views for Apache Spark.

The rooms of the package; each imports only from those before it:

========== ====================================================================================================
errors     the error classes: what is wrong, where (underlined in the SQL), why, and what to do
stack      runs deep recursion over deeply nested SQL
garbage    fewer garbage collections while SQL is compiled
limits     the thresholds that a user may set, with their reasons
parse      text → statements, names, and the tables that a query names
plan       the algebra: operators, expressions, rewrite rules
keys       the key of a plan's rows, and its functional dependencies
frontend   the text of a view → its plan
delta      changes of an operator's inputs → changes of its output
codegen    a plan → SQL, one CTE per operator, in three dialects
state      what a view stores
strategy   ways to refresh a view: which applies, and its plan
engine     runs SELECTs over named relations on Spark or DuckDB, and translates their errors
store      tables with versions, snapshots, changes and atomic commits: embedded Delta, Delta through Spark, DuckDB
clock      one order of the commits of all tables: position, time and vector, converted into each other
views      the definition, state and vector of a view; creating and verifying it
refresh    brings views to the newest versions of their base tables
roll       rolling propagation: timed view deltas, computed in small steps while the tables go on changing
live       live views: a join graph in memory, which turns changes of tables into changes of a view
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
