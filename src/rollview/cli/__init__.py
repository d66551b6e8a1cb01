"""The command ``rollview``: it mirrors the library.

| file | what it does |
|---|---|
| ``main.py`` | the commands |
| ``render.py`` | tables, colours and JSON |
| ``prompt.py`` | the prompt of ``rollview sql`` |
| ``outcomes.py`` | what ``refresh`` and ``watch`` print |
| ``status.py`` | what ``status`` prints |
| ``verification.py`` | what ``verify`` prints |
| ``clock.py`` | what ``commits`` and ``position`` print |
| ``watch.py`` | ``rollview watch`` |
| ``live.py`` | ``rollview watch --live`` |
| ``bench.py`` | ``rollview bench`` |
| ``demo.py`` | ``rollview demo`` |
"""
