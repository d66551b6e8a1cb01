"""Running SELECTs over named relations, and the engines' errors in our words.

| file | what it does |
|---|---|
| ``protocol.py`` | what rollview asks of an engine |
| ``spark.py`` | any Spark session, classic or Connect |
| ``spark_errors.py`` | what Spark says, in our words |
| ``duck.py`` | DuckDB, the second dialect |
| ``session.py`` | local Spark sessions that rollview starts |
| ``sources.py`` | where an engine's Spark session comes from |
"""
