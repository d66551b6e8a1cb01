"""Rolling propagation: timed view deltas, computed in small steps while the tables go on changing.

| file | what it does |
|---|---|
| ``queries.py`` | propagation queries: a join of states and intervals of changes, with a sign |
| ``forwarding.py`` | how far each table is forwarded, and the query of the next step |
| ``rolling.py`` | a view that can be propagated, or why it cannot |
| ``rows.py`` | the rows of a view's delta: what a query adds to them, and the change of the state that they mean |
| ``extent.py`` | how far a delta reaches |
| ``stored.py`` | the table of a delta |
| ``begin.py`` | where a delta begins, and when it begins again |
| ``schedule.py`` | which changes the next query takes in |
| ``source.py`` | what a view reads: rows at a position, and changes with their times |
| ``shelf.py`` | what is read of the tables in one run, once for all its views |
| ``table_source.py`` | a base table as a source |
| ``view_source.py`` | a view as a source of views above it |
| ``forward.py`` | one forward query |
| ``propagate.py`` | forward queries of one view, each a commit |
| ``run.py`` | several views, those that are read first |
| ``apply.py`` | the delta merged into the stored view |
| ``prune.py`` | old changes removed from a delta, and then from the disk |
| ``reach.py`` | how far a delta reaches, for people, and what it needs of the base tables |
| ``following.py`` | a refresh applies what is there, and follows the rest |
| ``reachable.py`` | which moments a delta reaches, and from which stored version |
| ``reading.py`` | a view's rows at a position in reach |
| ``visible.py`` | rows of a delta as changes of the rows that readers see |
| ``derived.py`` | the change between two vectors, derived from the changes of the tables |
| ``between.py`` | the change between two moments, found in the cheapest way |
| ``explain.py`` | what explain says of propagating a view |
| ``results.py`` | what propagating did |
"""
