"""From a view's text to its plan.

| file | what it does |
|---|---|
| ``query.py`` | a query, compiled: plan, key, fingerprint, choices |
| ``sql/`` | a Spark SQL tree → a plan |
"""
