"""The stores of tables: the protocol, and the stores that implement it. A store knows nothing of views.

| file | what it does |
|---|---|
| ``protocol.py`` | the promises of a store: names, reading, writing, statements |
| ``composed.py`` | a store put together from its parts |
| ``edits.py`` | what a commit does to the rows of a table |
| ``schema.py`` | rules for rows: names, types, store assignment, keys |
| ``progress.py`` | what was committed to a table since a known version |
| ``commit_rows.py`` | the rows that commits changed, in this process |
| ``row_counts.py`` | how many rows a commit changed |
| ``warehouse.py`` | the folder of a warehouse, and the folders of its tables |
| ``session_names.py`` | which warehouse owns the names of a Spark session |
| ``conformance/`` | the promises as tests that run on any store |
| ``spark_sql/`` | the common code of stores in which Spark computes the changes |
| ``embedded/`` | Delta tables in a folder, by deltalake |
| ``delta/`` | Delta tables through Spark |
| ``duck/`` | versioned tables in DuckDB |
"""
