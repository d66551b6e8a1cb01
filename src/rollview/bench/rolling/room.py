"""Where the parts of the measurement run: a folder, at a scale."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rollview.bench.drawing import Chart
from rollview.session import Rollview, connect
from rollview.store.protocol import Store

#: The methods of a store that return rows of a table, or files that have them.
_READING = ("read", "changes", "few_changes", "files")


@dataclass(frozen=True)
class Room:
    """``connect`` opens a warehouse in a folder. Each part adds its charts."""

    folder: Path
    scale: float
    connect: Callable[[Path], Rollview] = connect
    charts: list[Chart] = field(default_factory=list)

    @contextmanager
    def opened(self, name: str) -> Iterator[Rollview]:
        """A new warehouse, which is gone afterwards."""
        home = self.folder / name
        try:
            with self.connect(home) as rv:
                yield rv
        finally:
            shutil.rmtree(home, ignore_errors=True)


@contextmanager
def replaced(store: Store, **methods: Callable[..., Any]) -> Iterator[None]:
    """Other methods of a store, inside the block. The store's parts call each other as before."""
    before = {name: getattr(store, name) for name in methods}
    vars(store).update(methods)
    try:
        yield
    finally:
        vars(store).update(before)


@contextmanager
def reads(store: Store) -> Iterator[Counter[str]]:
    """How often rows of each table are asked for inside the block."""
    found: Counter[str] = Counter()

    def counted(method: Callable[..., Any]) -> Callable[..., Any]:
        def done(table: str, *rest: Any, **more: Any) -> Any:
            found[table] += 1
            return method(table, *rest, **more)

        return done

    with replaced(store, **{name: counted(getattr(store, name)) for name in _READING}):
        yield found
