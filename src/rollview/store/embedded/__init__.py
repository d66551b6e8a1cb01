"""Delta tables in a folder, without a jar, a metastore or a server.

| file | what it does |
|---|---|
| ``names.py`` | names of tables |
| ``reading.py`` | versions, rows and changes |
| ``writing.py`` | atomic writes |
| ``statements.py`` | statements in SQL |
| ``store.py`` | the store, composed of these |
| ``folder.py`` | the folder and the logs that all of these share |
| ``snapshot.py`` | one version of a table |
| ``commits.py`` | the commits of a log: times, operations, metadata, counts |
| ``log.py`` | the versions of a table, and atomic commits |
| ``entries.py`` | the entries of a log, and whether they are intact |
| ``told_counts.py`` | what Delta's own writer says that an entry holds |
| ``files.py`` | Parquet files and their statistics |
| ``checks.py`` | checks before a commit: types, NOT NULL, the key |
| ``frames.py`` | snapshots and changes as frames |
| ``rows_here.py`` | rows and changes read in this process |
| ``edited_rows.py`` | the stored rows that an edit may touch |
| ``lookup.py`` | the same by the values of a few given rows |
| ``rewrite.py`` | changed rows → files added and removed, and the change feed |
| ``prune.py`` | old rows removed by whole files |
| ``tidy.py`` | merges small files and removes old ones |
| ``temp_views.py`` | the names by which Spark SQL reads the tables |
"""

from rollview.store.embedded.store import EmbeddedStore

__all__ = ["EmbeddedStore"]
