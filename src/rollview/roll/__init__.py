"""Rolling propagation: timed view deltas, computed in small steps while the tables go on changing.

| file | what it does |
|---|---|
| ``queries.py`` | propagation queries: a join of states and intervals of changes, with a sign |
| ``forwarding.py`` | how far each table is forwarded, and the query of the next step |
"""
