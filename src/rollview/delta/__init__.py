"""From what changed below an operator to what changes in its result.

| file | what it does |
|---|---|
| ``derivation.py`` | the delta of a plan, operator by operator |
| ``weights.py`` | deltas as plans: rows with a weight |
| ``partials.py`` | partial aggregates that changes are added to |
| ``affected_keys.py`` | a superset of the keys that a change can touch |
| ``rules/`` | one file per operator |
| ``analysis/`` | what is true of a plan before its delta is derived |
| ``rewrites/`` | what is done to a plan before its delta is derived |
| ``passes/`` | what is done to a delta afterwards |
"""
