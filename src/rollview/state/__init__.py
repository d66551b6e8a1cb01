"""What is stored of a view, how its readers see it, and how a change of the view is written into it.

| file | what it does |
|---|---|
| ``view_delta.py`` | the change of a view, whatever is stored of it |
| ``writes.py`` | the rows that a refresh will write, and the kind of edit; the store has the edits themselves |
| ``written.py`` | the stored rows as a write leaves them |
| ``state.py`` | what the kinds of state have in common |
| ``keyed.py`` | rows told apart by a key |
| ``bag.py`` | rows without a key |
| ``top_rows.py`` | the first rows in an order |
| ``groups.py`` | groups of the aggregate that the query ends in |
| ``finish.py`` | what the query does with these groups |
| ``columns.py`` | names of stored columns |
| ``types.py`` | types of what aggregates and windows make, recorded by name |
| ``make.py`` | a compiled query → its state |
| ``helpers.py`` | parts of a query that are stored as views of their own |
"""
