"""Where the diffs of a live view go: to its subscribers.

| file | what it does |
|---|---|
| ``token.py`` | where a subscriber stands, as text |
| ``options.py`` | options: one of several words, numbers, functions |
| ``condition.py`` | a part of a view, and where its rows are found |
| ``envelopes.py`` | the forms of a diff: weights, changes, upserts |
| ``diff.py`` | the change of a view that all subscribers share, and its batches |
| ``subscription.py`` | one subscriber: a bounded queue |
| ``callbacks.py`` | calls the functions of subscribers |
| ``subscribers.py`` | all subscribers: who gets which part of a diff |
"""
