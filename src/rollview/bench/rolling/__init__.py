"""The commit clock, views at any position, and rolling propagation.

| file | what it does |
|---|---|
| ``suite.py`` | the parts in order, and their report |
| ``room.py`` | where the parts run |
| ``shop.py`` | four tables, two views, a backlog of commits |
| ``numbering.py`` | numbering commits, late and early |
| ``back.py`` | refreshing back, and forward |
"""

from rollview.bench.rolling.suite import PARTS, run

__all__ = ["PARTS", "run"]
