"""Where the changes of a live view come from: the commits of its base tables.

| file | what it does |
|---|---|
| ``table.py`` | one table or view: its rows, and what each commit changed |
| ``source.py`` | all of them: what was committed since a vector, in order; their change between two vectors |
| ``follower.py`` | follows them: once, in a loop, or in a thread |
"""
