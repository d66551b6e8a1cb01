"""The delta of an operator's result, from the deltas of its inputs.

| file | what it does |
|---|---|
| ``derivation.py`` | the delta of a plan, operator by operator |
| ``weights.py`` | deltas as plans: rows with a weight |
| ``partials.py`` | partial aggregates to which changes are added |
| ``affected_keys.py`` | a superset of the keys that a change can affect |
| ``rules/`` | one file per operator |
| ``timed/`` | the changes of one table forwarded through a plan, with the position of each |
| ``analysis/`` | properties of a plan, found before its delta is derived |
| ``rewrites/`` | rewrites of a plan before its delta is derived |
| ``passes/`` | optimizations of a derived delta |
"""
