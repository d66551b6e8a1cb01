"""Where tables live: the protocol, and the stores that keep it. A store knows no views.

| file | what it does |
|---|---|
| ``protocol.py`` | the promises of a store |
| ``schema.py`` | rules for rows: names, types, store assignment, keys |
| ``edits.py`` | rows that a statement changes, by file and position |
| ``statements.py`` | INSERT, UPDATE, DELETE and MERGE as edits |
| ``copies.py`` | merges of multisets |
| ``warehouse.py`` | the folder of a warehouse, and the folders of its tables |
| ``session_names.py`` | which warehouse owns the names of a Spark session |
| ``embedded/`` | Delta tables in a folder, by deltalake |
| ``delta/`` | Delta tables through Spark |
| ``duck/`` | versioned tables in DuckDB |
"""
