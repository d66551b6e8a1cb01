"""A view's definition and state, and everything about one view but refreshing it.

| file | what it does |
|---|---|
| ``definition.py`` | what a view is, as its state table keeps it |
| ``compiled.py`` | a definition → plan and state, once |
| ``catalog.py`` | definitions and reflected vectors, read off the state tables |
| ``relation.py`` | a table or a view: rows at a version, changes |
| ``changes.py`` | the changed rows between two versions, read once |
| ``define.py`` | a query → columns, state, layout |
| ``checks.py`` | what CREATE checks first |
| ``create.py`` | CREATE MATERIALIZED VIEW |
| ``write.py`` | CREATE and recomputation: rows, vector and definition in one commit |
| ``helpers.py`` | helper views: created and dropped |
| ``dry_run.py`` | whether the engine accepts the plans of refreshes |
| ``shape.py`` | base tables whose columns changed |
| ``drop.py`` | DROP MATERIALIZED VIEW |
| ``upstream.py`` | what views read, directly or through others |
| ``past.py`` | which stored version of a view shows a vector |
| ``goal.py`` | where a refresh goes: to the newest versions, or AS OF a moment |
| ``as_of.py`` | the rows of a table or view at a moment |
| ``history.py`` | whether a table still has the commit that a view shows |
| ``freshness.py`` | how far views are behind, through all levels |
| ``status.py`` | how fresh a view is |
| ``verify.py`` | a view compared with its query |
| ``results.py`` | what the calls of a session return |
"""
