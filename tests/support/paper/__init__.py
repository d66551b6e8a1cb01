"""The algorithms of "How to roll a join" (Salem, Beyer, Lindsay, Cochrane, SIGMOD 2000), as written there and without data.

Each gives the signed propagation queries that it executes. They are what ``rollview.roll`` is compared with, and what
it replaces: it runs a forward query with all its compensation at once.

| file | what it has |
|---|---|
| ``equations.py`` | Equations 1, 2 and 3 |
| ``compute_delta.py`` | Figure 4, ComputeDelta, and Figure 5, Propagate |
| ``figure_10.py`` | Figure 10, RollingPropagate, as printed and with corrections |
| ``rolling.py`` | the right form: ``rollview.roll.forwarding`` on a schedule, and ways to get it wrong |
| ``cover.py`` | which points of the time space queries count, and at which time: no data |
| ``bags.py`` | an interpreter over small bags, and Definition 4.2 |
"""
