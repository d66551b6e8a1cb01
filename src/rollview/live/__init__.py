"""Live views: a join graph in memory, which turns changes of tables into changes of a view.

changed rows → words → graph → completed paths → groups, or projection → the view's change

| file | what it does |
|---|---|
| ``interning.py`` | values without a fixed width as numbers |
| ``words.py`` | Arrow columns as int64 words, and back |
| ``shape.py`` | a view as a join graph is made for it: parts, vertices, steps |
| ``compile/`` | a view's plan → its shape |
| ``graph/`` | the join graph: what it holds, its maintenance, look-ahead, traversals |
| ``kernel/`` | the graph in one array, kept by compiled functions |
| ``generated/`` | functions of one view's own, compiled in the background |
| ``graphs.py`` | which of these graphs a view has |
| ``ingest.py`` | changed rows of a table → changed rows of a part |
| ``paths.py`` | the columns of completed paths: conditions, projection |
| ``functions/`` | aggregates: exact sums, ordered values |
| ``groups.py`` | the groups of an aggregated view, with their states |
| ``consolidate.py`` | each distinct row once, with the sum of its weights |
| ``net.py`` | weighted rows added up, in bounded memory |
| ``core.py`` | a live view without a store: changes in, changes out |
| ``definition.py`` | a materialized view or a query as a live view: shape, settings, key |
| ``memory.py`` | how much memory a live view takes, and may take |
| ``follow/`` | where changes come from: the commits of the base tables |
| ``serve/`` | where diffs go: subscribers |
| ``given.py`` | changes that a caller gives, checked |
| ``state.py`` | a live view with its subscribers: how it moves |
| ``explain.py`` | what it holds and costs, as text |
| ``live.py`` | what a user calls |
| ``open.py`` | makes a live view of a name or a query |
"""
