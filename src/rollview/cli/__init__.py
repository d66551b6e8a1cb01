"""The command ``rollview``: it mirrors the library.

| file | what it does |
|---|---|
| ``main.py`` | the commands |
| ``render.py`` | tables, colours and JSON |
| ``watch.py`` | ``rollview watch`` |
| ``demo.py`` | ``rollview demo`` |
"""
