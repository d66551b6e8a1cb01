"""Source text that is generated: lines with their indentation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Text:
    """Lines of Python."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._depth = 0

    def __call__(self, *lines: str) -> None:
        self._lines += ["    " * self._depth + line for line in lines]

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """The lines that follow, under a head."""
        self(head + ":")
        self._depth += 1
        yield
        self._depth -= 1

    def __str__(self) -> str:
        return "\n".join(self._lines) + "\n"
