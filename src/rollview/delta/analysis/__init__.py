"""What is true of a plan before its delta is derived.

| file | what it does |
|---|---|
| ``lookback.py`` | which window functions depend on earlier rows only |
| ``inexact.py`` | aggregates of floats, which do not repeat exactly |
| ``needed_whole.py`` | relations that are read whole in any case |
| ``fan_out.py`` | an upper bound on the rows of a delta |
"""
