"""Delta tables in a folder, without a jar, a metastore or a server.

| file | what it does |
|---|---|
| ``snapshot.py`` | one version of a table |
| ``log.py`` | the versions of a table, and atomic commits |
| ``files.py`` | Parquet files: written by Spark or in this process, with their statistics |
| ``checks.py`` | what is checked before a commit: types, NOT NULL, the declared key |
| ``reading.py`` | snapshots and changes as frames |
| ``tables.py`` | the names of the tables, and what is read of them |
| ``finding.py`` | the rows that a merge of a few rows may meet |
| ``rewrite.py`` | edits → files added and removed, and the change feed |
| ``published.py`` | the names by which Spark SQL reads the tables |
| ``store.py`` | the store itself: writing, and statements |
"""

from rollview.store.embedded.store import EmbeddedStore

__all__ = ["EmbeddedStore"]
