"""Logical plans: the operators, and what holds for every plan. No SQL text and no Spark here.

| file | what it does |
|---|---|
| ``nodes/`` | the operators |
| ``check.py`` | what must hold for every plan |
| ``traits.py`` | linear, bilinear, grouped, ordered: how a result depends on changes of the inputs |
| ``expressions.py`` | expressions over plan columns |
| ``literals.py`` | values as literals |
| ``reserved.py`` | names of rollview's own columns and relations that several packages share |
| ``types.py`` | implicit casts of comparisons and set operations |
| ``rename.py`` | plans with other column names |
| ``fingerprint.py`` | one hash for all spellings of a query |
| ``rewrite/`` | rules that bring a plan into normal form |
"""
