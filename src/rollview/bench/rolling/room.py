"""Where the parts of the measurement run: a folder, at a scale."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rollview.bench.drawing import Chart
from rollview.session import Rollview, connect


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
