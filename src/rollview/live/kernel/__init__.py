"""The join graph in one array of words, kept by compiled functions.

| file | what it does |
|---|---|
| ``numbers.py`` | where everything is in the arena, the plan, the state and a changed row |
| ``memory.py`` | the arena: pieces are taken and given back |
| ``tables.py`` | hash tables |
| ``lists.py`` | the neighbours of a vertex value, the live ones first |
| ``projected.py`` | the projected tuples of a join tuple |
| ``look_ahead.py`` | flags |
| ``rows.py`` | what a changed row adds and removes |
| ``checks.py`` | changed rows added up, and whether they can be applied |
| ``paths.py`` | completed paths → output |
| ``change.py`` | what is called: change, generate, list |
| ``summed.py`` | weighted tuples added up |
| ``texts.py`` | strings and binaries as numbers |
| ``shown.py`` | what is put out: the words of all parts, or rows of the view |
| ``plan.py`` | a shape → the plan that the functions follow |
| ``build.py`` | compiles the functions, and keeps them |
| ``graph.py`` | the graph, as all others see it |
"""
