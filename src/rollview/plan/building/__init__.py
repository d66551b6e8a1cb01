"""From the tree of a query to a plan.

| file | what it does |
|---|---|
| ``scope.py`` | names → columns |
| ``query.py`` | queries, set operations, CTEs, recursion |
| ``relations.py`` | FROM: tables, joins, VALUES, LATERAL, generators |
| ``select.py`` | SELECT: filters, groups, windows, the select list |
| ``grouping.py`` | the keys of GROUP BY, and their sets |
| ``limiting.py`` | ORDER BY with LIMIT |
| ``pivot.py``, ``time_window.py`` | PIVOT, UNPIVOT and ``window(t, '1 hour')`` in other words |
| ``functions.py`` | which functions aggregate, generate or change from call to call |
| ``subqueries.py`` | subqueries in expressions → joins |
| ``unnest.py`` | what makes a correlated plan independent of its outer query |
"""

from rollview.plan.building.context import Tables, Unbuildable
from rollview.plan.building.query import build_plan
from rollview.plan.building.scope import BaseTable

__all__ = ["BaseTable", "Tables", "Unbuildable", "build_plan"]
