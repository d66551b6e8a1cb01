"""The engines: they run SELECTs over named relations, and translate their errors into rollview's.

| file | what it does |
|---|---|
| ``protocol.py`` | what an engine must do |
| ``spark.py`` | any Spark session, classic or Connect |
| ``spark_errors.py`` | translates Spark's errors |
| ``work.py`` | what a block of code did: rows read, jobs, bytes written |
| ``job_counter.py`` | counts what Spark does for a block |
| ``event_log.py`` | the metrics of Spark's tasks, from its event log |
| ``rest_api.py`` | the same, from Spark's web interface |
| ``duck.py`` | DuckDB, the second dialect |
| ``expressions/`` | expressions that are evaluated in this process, with Spark's values |
| ``session.py`` | local Spark sessions that rollview starts |
| ``zones.py`` | time zones by their names |
| ``sources.py`` | where an engine's Spark session comes from |
"""
