"""A view's plan → its shape as a join graph, or why it can have none.

| file | what it does |
|---|---|
| ``refused.py`` | the error of a query that has no live view |
| ``draft.py`` | the parts of an inner join, their filters and columns, the conditions between them |
| ``classes.py`` | classes of columns that conditions make equal |
| ``join_tree.py`` | GYO reduction: is the join acyclic, and which classes are a vertex |
| ``aggregates.py`` | which aggregates there are, and which are summed before rows are joined |
| ``compiling.py`` | all of it |
"""
