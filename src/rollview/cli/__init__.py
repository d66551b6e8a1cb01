"""The command ``rollview``: it mirrors the library.

| file | what it does |
|---|---|
| ``app.py`` | the application, common options, and how a warehouse is opened |
| ``main.py`` | the commands |
| ``rolling.py`` | the commands ``propagate``, ``apply`` and ``watch`` |
| ``propagated.py`` | what ``propagate`` prints |
| ``render.py`` | tables, colours and JSON |
| ``prompt.py`` | the prompt of ``rollview sql`` |
| ``outcomes.py`` | what ``refresh`` and ``watch`` print |
| ``status.py`` | what ``status`` prints |
| ``verification.py`` | what ``verify`` prints |
| ``clock.py`` | what ``commits`` and ``position`` print |
| ``watch.py`` | what ``watch`` does again and again |
| ``live.py`` | what ``watch --live`` does |
| ``bench.py`` | ``rollview bench`` |
| ``demo.py`` | ``rollview demo`` |
"""
