"""How a refresh brings changes into a view: a file for each strategy, and the plan that it makes.

| file | what it does |
|---|---|
| ``reasons.py`` | the reasons for recomputing a view, as codes and sentences |
| ``propagate.py`` | changes of base tables → the delta of the view, by the rules in ``delta/`` |
| ``plan.py`` | a refresh plan: compute steps, write, advance the vector |
| ``show.py`` | these as text |
| ``strategy.py`` | what a strategy is |
| ``no_op.py`` | nothing to do |
| ``append.py`` | new rows are appended |
| ``aggregate_merge.py`` | changes are added to stored groups |
| ``row_delta.py`` | rows that differ are merged |
| ``group_recompute.py`` | affected groups are recomputed |
| ``partition_recompute.py`` | affected window partitions are recomputed |
| ``full.py`` | the whole query is run |
| ``choose.py`` | the list of strategies, in a fixed order, and the first that applies |
"""
