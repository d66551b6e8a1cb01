"""Tables in DuckDB, for the second engine: every row knows the versions between which it is there.

So any version can be read, and the changes between two are the rows that began or ended between them.

| file | what it does |
|---|---|
| ``names.py`` | names of tables |
| ``reading.py`` | versions, rows and changes |
| ``writing.py`` | atomic writes |
| ``statements.py`` | statements in SQL |
| ``store.py`` | the store, put together from these |
| ``tables.py`` | the connection and its tables, which all of these share |
| ``changed_rows.py`` | edits → rows that end and begin |
"""

from rollview.store.duck.store import DuckStore

__all__ = ["DuckStore"]
