"""The join graph: how tuples of the base tables join with each other.

| file | what it does |
|---|---|
| ``protocol.py`` | what a graph takes and gives |
| ``elements.py`` | vertex values, join tuples, projected tuples |
| ``look_ahead.py`` | flags: where a path can be completed |
| ``traversal.py`` | all completed paths through a join tuple |
| ``reference.py`` | the graph in plain Python: maintenance, view diffs, generation |
"""
