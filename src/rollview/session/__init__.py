"""What a user calls.

| file | what it does |
|---|---|
| ``as_of.py`` | where a refresh goes, and in which steps, as a caller says it |
| ``arguments.py`` | values that a caller gives, checked |
| ``answers.py`` | results as rows of SQL |
| ``statements.py`` | statements that are not about materialized views |
| ``session.py`` | what a session has |
| ``moments.py`` | the calls about moments |
| ``rollview.py`` | ``Rollview``: a session |
| ``connect.py`` | ``connect``: opens one |
"""

from rollview.session.connect import connect
from rollview.session.rollview import Rollview

__all__ = ["Rollview", "connect"]
