"""Delta tables through Spark: the tables of a session's catalog, tables by path, or those of a warehouse folder.

| file | what it does |
|---|---|
| ``names.py`` | what names mean, and what Spark SQL reads by them |
| ``reading.py`` | versions, snapshots and changes |
| ``writing.py`` | atomic writes |
| ``store.py`` | the store: statements |
"""

from rollview.store.delta.reading import ChangeFeedOff
from rollview.store.delta.store import DeltaStore

__all__ = ["ChangeFeedOff", "DeltaStore"]
