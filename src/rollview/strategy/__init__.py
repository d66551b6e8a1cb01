"""How a refresh follows changes: a file for each strategy.

| file | what it does |
|---|---|
| ``reasons.py`` | why a view is recomputed |
| ``propagate.py`` | changes of base tables → the change of the view |
| ``plan.py`` | the stages of a refresh |
| ``show.py`` | these as text |
| ``strategy.py`` | what a strategy is |
| ``no_op.py`` | nothing to do |
| ``append.py`` | new rows are appended |
| ``aggregate_merge.py`` | changes are added to stored groups |
| ``row_delta.py`` | rows that differ are merged |
| ``group_recompute.py`` | affected groups are recomputed |
| ``partition_recompute.py`` | affected window partitions are recomputed |
| ``full.py`` | the whole query is run |
| ``choose.py`` | the cheapest strategy that applies |
"""
