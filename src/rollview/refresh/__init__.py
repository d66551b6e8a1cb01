"""Refreshing views.

| file | what it does |
|---|---|
| ``refresh.py`` | one view: target → changes → strategy → one commit |
| ``target.py`` | which versions of its tables a view is to show |
| ``used.py`` | which columns of a table a view is computed from |
| ``reasons.py`` | which reason for recomputing a view applies now |
| ``execute.py`` | runs a refresh plan, and commits the rows and the new vector |
| ``recompute.py`` | runs the whole query, and commits its rows and the new vector |
| ``counted_here.py`` | whether a delta is too large, counted without Spark |
| ``repair.py`` | a damaged view, stored again |
| ``steps.py`` | catch-up done in several commits |
| ``batch.py`` | several views to one vector |
| ``explain.py`` | what a view is and what its next refresh would do |
| ``explanation.py`` | this as an object, as JSON and as text |
"""
