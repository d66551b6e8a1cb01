"""Running SELECTs over named relations, and the engines' errors in our words.

| file | what it does |
|---|---|
| ``protocol.py`` | what rollview asks of an engine |
| ``spark.py`` | any Spark session, classic or Connect |
| ``spark_errors.py`` | what Spark says, in our words |
| ``work.py`` | what a block of code did: rows read, jobs, bytes written |
| ``job_counter.py`` | counting what Spark does for a block |
| ``event_log.py`` | what Spark's tasks counted, from its event log |
| ``rest_api.py`` | the same, from Spark's web interface |
| ``duck.py`` | DuckDB, the second dialect |
| ``session.py`` | local Spark sessions that rollview starts |
| ``sources.py`` | where an engine's Spark session comes from |
"""
