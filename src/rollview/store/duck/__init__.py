"""Tables in DuckDB, for the second engine: every row knows the versions between which it is there.

A table ``t`` is the view ``t`` over ``rv_data.t``, which holds all rows that ever were with the versions at which they
came and went. So any version can be read, and the changes between two are the rows that came or went between them.

| file | what it does |
|---|---|
| ``reading.py`` | names, versions, snapshots and changes |
| ``writing.py`` | atomic writes |
| ``store.py`` | the store: statements |
"""

from rollview.store.duck.store import DuckStore

__all__ = ["DuckStore"]
