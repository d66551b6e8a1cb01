"""Functions that are generated for one view: nested loops instead of a table of steps, compiled in the background.

| file | what it does |
|---|---|
| ``text.py`` | source text |
| ``walk.py`` | the traversal from one part |
| ``source.py`` | the module for changes of one part |
| ``background.py`` | the thread that compiles |
| ``graph.py`` | the graph that has such functions |
"""
