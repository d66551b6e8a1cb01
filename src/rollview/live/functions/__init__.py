"""Aggregates of live views: states that values are added to and taken from without a trace.

| file | what it does |
|---|---|
| ``function.py`` | what a function is |
| ``sums.py`` | COUNT, SUM and AVG over integers and decimals |
| ``floats.py`` | SUM and AVG over floats, exactly |
| ``ordered.py`` | MIN and MAX |
| ``registry.py`` | which class computes which aggregate |
"""
