"""The common code of stores in which Spark computes the changes, for any table format.

| file | what it does |
|---|---|
| ``names.py`` | names of a session's catalog |
| ``statements.py`` | statements that Spark runs |
| ``fetched.py`` | rows that only Spark can read, in this process |
| ``keys.py`` | checks of a declared key |
| ``row_changes.py`` | changed rows as a frame: where they are, before and after |
| ``edit_changes.py`` | edits → changed rows |
| ``table_statements.py`` | INSERT, UPDATE, DELETE and MERGE → changed rows |
"""
