"""From the tree of a query to a plan.

| file | what it does |
|---|---|
| ``query.py`` | queries, set operations, CTEs, recursion |
| ``select.py`` | SELECT: its clauses, one after the other |
| ``select_draft.py`` | what the clauses of a SELECT share while it is built |
| ``from_clause.py`` | FROM: tables, joins, VALUES, LATERAL, generators |
| ``conditions.py`` | WHERE and HAVING → filters, semi and anti joins |
| ``select_list.py`` | the select list: expressions, ``*``, generators |
| ``aggregation.py`` | GROUP BY and HAVING |
| ``group.py`` | the keys of GROUP BY, and their sets |
| ``windows.py`` | window functions and QUALIFY |
| ``window_clause.py`` | the WINDOW clause |
| ``limit.py`` | ORDER BY with LIMIT |
| ``bind.py`` | names in expressions → plan columns |
| ``scope.py`` | what names mean at one place of a query |
| ``subqueries.py`` | subqueries in expressions → joins |
| ``decorrelate.py`` | joins with a correlated plan → joins |
| ``join_condition.py`` | the ON of a join, with its subqueries |
| ``pivot.py`` | PIVOT and UNPIVOT as aggregates and unions |
| ``time_window.py`` | ``GROUP BY window(t, '1 hour')`` |
| ``functions.py`` | which functions aggregate and which generate rows |
| ``types.py`` | types of expressions |
| ``understood.py`` | the arguments that are understood, of each syntax node |
| ``unique_names.py`` | unique names for columns, by their origin |
| ``context.py`` | what all builders share |
"""

from rollview.frontend.sql.context import Tables, Unbuildable
from rollview.frontend.sql.query import build_plan
from rollview.frontend.sql.scope import BaseTable

__all__ = ["BaseTable", "Tables", "Unbuildable", "build_plan"]
