"""Timed deltas: the changes of one table forwarded through a plan, each row with the position at which it takes effect.

| file | what it does |
|---|---|
| ``sight.py`` | the two ways in which a forward query sees the other tables |
| ``timed_join.py`` | weights multiply; the time is the greatest or the least of the parts |
| ``forward.py`` | the delta of a plan, operator by operator |
| ``refusal.py`` | operators without a timed rule |
"""

from rollview.delta.timed.forward import forward_delta
from rollview.delta.timed.refusal import untimed
from rollview.delta.timed.sight import Sight, Sights, Way

__all__ = ["Sight", "Sights", "Way", "forward_delta", "untimed"]
