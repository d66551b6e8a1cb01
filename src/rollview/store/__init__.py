"""Where tables live: the protocol, and the stores that keep it. A store does not know what its tables are made for.

| file | what it does |
|---|---|
| ``protocol.py`` | the promises of a store: names, reading, writing, statements |
| ``composed.py`` | a store put together from its parts |
| ``edits.py`` | what a commit does to the rows of a table |
| ``schema.py`` | rules for rows: names, types, store assignment, keys |
| ``row_counts.py`` | how many rows a commit changed |
| ``warehouse.py`` | the folder of a warehouse, and the folders of its tables |
| ``session_names.py`` | which warehouse owns the names of a Spark session |
| ``conformance/`` | the promises as tests that run on any store |
| ``spark_sql/`` | what stores that compute by Spark share |
| ``embedded/`` | Delta tables in a folder, by deltalake |
| ``delta/`` | Delta tables through Spark |
| ``duck/`` | versioned tables in DuckDB |
"""
