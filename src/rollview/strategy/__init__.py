"""How a refresh follows changes.

| file | what it does |
|---|---|
| ``script.py`` | the Δ-script: named SELECTs, and how the last one is written |
"""
