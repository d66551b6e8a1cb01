"""What is stored of a view, and how its readers see it.

| file | what it does |
|---|---|
| ``state.py`` | keyed rows, a bag, groups or top rows, with hidden columns |
| ``helpers.py`` | parts of a query that are stored as views of their own |
"""
