"""Delta tables through Spark: the tables of a session's catalog, tables by path, or those of a warehouse folder.

| file | what it does |
|---|---|
| ``names.py`` | names of tables in a folder; those of a catalog are in ``spark_sql`` |
| ``reading.py`` | versions, rows and changes |
| ``compare.py`` | the changes of a table without a change feed |
| ``writing.py`` | atomic writes |
| ``statements.py`` | statements in SQL |
| ``store.py`` | the store, composed of these |
| ``merge.py`` | edits as one MERGE |
"""

from rollview.store.delta.compare import ChangeFeedOff
from rollview.store.delta.store import DeltaStore

__all__ = ["ChangeFeedOff", "DeltaStore"]
