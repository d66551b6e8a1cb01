"""The commit clock: one order of the commits of all base tables, stored as a table that is only appended to.

| file | what it does |
|---|---|
| ``unit.py`` | a unit of work, and a numbered commit |
| ``order.py`` | the commits that are seen first → units, in order |
| ``timeline.py`` | position, time and vector, converted into each other |
| ``stored.py`` | the table in the warehouse |
| ``clock.py`` | looks at tables, and numbers what is new |
| ``moment.py`` | what a user means by AS OF: a time, a position or a vector |
"""

from rollview.clock.clock import CommitClock
from rollview.clock.moment import AsOf, Moment, moment
from rollview.clock.unit import Numbered, Unit, Units

__all__ = ["AsOf", "CommitClock", "Moment", "Numbered", "Unit", "Units", "moment"]
