"""Delta tables in a folder, without a jar, a metastore or a server.

| file | what it does |
|---|---|
| ``log.py`` | snapshots of a table and atomic commits to its log |
| ``files.py`` | Parquet files: written by Spark or in this process, with their statistics |
| ``checks.py`` | what is checked before a commit: types, NOT NULL, the declared key |
| ``edits.py`` | rows changed, addressed by file and position → files added and removed, and the change feed |
| ``statements.py`` | INSERT, UPDATE, DELETE and MERGE → edits; Spark evaluates their expressions |
| ``store.py`` | the store itself |
"""

from rollview.store.embedded.store import EmbeddedStore

__all__ = ["EmbeddedStore"]
