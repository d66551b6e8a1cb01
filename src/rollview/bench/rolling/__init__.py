"""The commit clock, views at any position, and rolling propagation.

| file | what it does |
|---|---|
| ``suite.py`` | the parts in order, and their report |
| ``room.py`` | where the parts run |
| ``shop.py`` | four tables, two views, a backlog of commits |
| ``numbering.py`` | numbering commits, late and early |
| ``back.py`` | refreshing back, and forward |
| ``backlog.py`` | a backlog in steps, and kills |
| ``apply.py`` | applying, and refreshing |
| ``queries.py`` | the number of propagation queries |
| ``star.py`` | intervals of their own, and one for all |
| ``writer.py`` | whether the mark keeps up with a writer |
| ``read.py`` | reading a view in the past |
"""

from rollview.bench.rolling.suite import PARTS, run

__all__ = ["PARTS", "run"]
