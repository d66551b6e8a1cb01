"""Refreshing views.

| file | what it does |
|---|---|
| ``refresh.py`` | one view: vector → changes → Δ-script → one commit |
| ``execute.py`` | a Δ-script run |
| ``batch.py`` | several views to one vector |
| ``repair.py`` | a damaged view, stored again |
| ``choosing.py`` | which strategies apply, for explain |
| ``explain.py`` | a view and its next refresh, as text |
"""
