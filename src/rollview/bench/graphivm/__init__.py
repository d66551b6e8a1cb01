"""Live views: the measurement of the GraphIVM thesis, chapter 9, and what else a live view costs.

| file | what it does |
|---|---|
| ``suite.py`` | the parts in order, and their report |
| ``figures.py`` | a figure beside the claim of the thesis |
| ``room.py`` | the scale, and the data that parts share |
| ``data.py`` | users, followers, tweets and retweets of the shape of BSMA |
| ``views.py`` | the views |
| ``cores.py`` | live views without a store |
| ``timing.py`` | the measuring loop |
| ``peers/`` | classic IVM, auxiliary views, full outer join table |
| ``simple.py`` | Figures 9.3 and 9.4: simple views, one by one and at once |
| ``fanout.py`` | Figures 9.5 and 9.10: growing fanout |
| ``joins.py`` | Figures 9.6 and 9.7, Table 9.3: growing chains |
| ``look_ahead.py`` | Figure 9.8: look-ahead |
| ``modifications.py`` | Figure 9.9: kinds of changes of the graph |
| ``memory.py`` | Figure 9.11: bytes |
| ``kernels.py`` | plain Python, generic functions, the view's own |
| ``ready.py`` | how soon a view is ready |
| ``compiling.py`` | compiling in a process of its own |
| ``follow.py`` | following a store; subscriptions |
| ``pathway.py`` | diffs delivered, beside Pathway |
| ``pathway_run.py`` | Pathway, run by a Python that has it |
"""

from rollview.bench.graphivm.suite import PARTS, run

__all__ = ["PARTS", "run"]
