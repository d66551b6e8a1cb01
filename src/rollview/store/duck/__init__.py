"""Tables in DuckDB, for the second engine: every stored row has the versions at which it was inserted and deleted.

So any version can be read, and the changes between two versions are the rows inserted or deleted between them.

| file | what it does |
|---|---|
| ``names.py`` | names of tables |
| ``reading.py`` | versions, rows and changes |
| ``writing.py`` | atomic writes |
| ``statements.py`` | statements in SQL |
| ``store.py`` | the store, composed of these |
| ``tables.py`` | the connection and its tables, which all of these share |
| ``changed_rows.py`` | edits → deleted and inserted rows |
"""

from rollview.store.duck.store import DuckStore

__all__ = ["DuckStore"]
