"""From plans to SQL: one CTE per operator, in three dialects.

| file | what it does |
|---|---|
| ``printer.py`` | a plan as one SQL query |
| ``flatten.py`` | projections and filters in one SELECT |
| ``dialects.py`` | functions that engines name differently |
| ``pivot.py`` | counts in PIVOT as DuckDB has to see them |
| ``ordered.py`` | ``f(x ORDER BY k)`` in each dialect |
"""
