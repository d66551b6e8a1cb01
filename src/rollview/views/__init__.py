"""A view's definition and state, and everything about one view but refreshing it.

| file | what it does |
|---|---|
| ``definition.py`` | what a view is, as its state table keeps it |
| ``catalog.py`` | definitions and reflected vectors, read off the state tables |
| ``relation.py`` | rows and changes of tables and views |
| ``define.py`` | a definition → plan, state, first commit |
| ``create.py`` | CREATE MATERIALIZED VIEW |
| ``helpers.py`` | helper views: made and dropped |
| ``dry_run.py`` | whether the engine accepts the Δ-scripts |
| ``shape.py`` | base tables whose columns changed |
| ``freshness.py`` | how far views are behind, through all levels |
| ``verify.py`` | a view compared with its query |
| ``results.py`` | what the calls of a session return |
"""
