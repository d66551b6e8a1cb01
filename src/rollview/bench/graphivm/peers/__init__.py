"""The approaches of chapter 8 that the join graph is compared with: generated and compiled in the same way.

| file | what it does |
|---|---|
| ``relations.py`` | what is kept: relations with indexes |
| ``rows.py`` | functions that all of them call |
| ``output.py`` | puts out rows of the view |
| ``joining.py`` | classic IVM, and auxiliary views for every connected part |
| ``outer.py`` | the full outer join table |
| ``peer.py`` | a peer in the place of the join graph |
"""
