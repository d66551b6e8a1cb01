"""The command ``rollview``: it mirrors the library."""
