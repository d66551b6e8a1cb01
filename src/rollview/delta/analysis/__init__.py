"""Properties of a plan, found before its delta is derived.

| file | what it does |
|---|---|
| ``lookback.py`` | which window functions depend on earlier rows only |
| ``inexact.py`` | aggregates of floats, which are not reproducible bit by bit |
| ``needed_whole.py`` | relations that are read in full in any case |
| ``fan_out.py`` | an upper bound on the rows of a delta |
"""
