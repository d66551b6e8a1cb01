"""Delta tables in a folder, without a jar, a metastore or a server.

| file | what it does |
|---|---|
| ``store.py`` | the store: writes and statements |
| ``tables.py`` | names, versions, snapshots and changes |
| ``snapshot.py`` | one version of a table |
| ``log.py`` | the versions of a table, and atomic commits |
| ``entries.py`` | the entries of a log, and whether they are intact |
| ``files.py`` | Parquet files and their statistics |
| ``checks.py`` | checks before a commit: types, NOT NULL, the key |
| ``reading.py`` | snapshots and changes as frames |
| ``lookup.py`` | the stored rows that a small merge can match |
| ``rewrite.py`` | edits → files added and removed, and the change feed |
| ``temp_views.py`` | the names by which Spark SQL reads the tables |
"""

from rollview.store.embedded.store import EmbeddedStore

__all__ = ["EmbeddedStore"]
