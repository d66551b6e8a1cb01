"""From plans to SQL: one CTE per operator, in three dialects.

| file | what it does |
|---|---|
| ``printer.py`` | a plan as one SQL query: which function prints which operator |
| ``ctes.py`` | the CTEs of a query, one per operator |
| ``operators.py`` | operators with one input or none |
| ``joins.py`` | joins |
| ``set_operations.py`` | UNION ALL, EXCEPT and INTERSECT |
| ``recursion.py`` | recursive CTEs |
| ``clauses.py`` | parts of a SELECT |
| ``flatten.py`` | projections and filters in one SELECT |
| ``dialects.py`` | functions that engines name differently |
| ``pivot.py`` | counts in PIVOT as DuckDB has to see them |
| ``ordered.py`` | ``f(x ORDER BY k)`` in each dialect |
"""
