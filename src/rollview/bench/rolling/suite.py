"""The parts of the measurement, each with a warehouse of its own, and their report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from rollview.bench.report import Figure, Report, of_figures
from rollview.bench.rolling import apply, back, backlog, numbering, queries, read, star, writer
from rollview.bench.rolling.room import Room
from rollview.bench.turns import bench_folder
from rollview.session import Rollview, connect

#: The parts by name.
PARTS: dict[str, Callable[[Room], Iterator[Figure]]] = {
    "numbering": numbering.run,
    "back": back.run,
    "backlog": backlog.run,
    "apply": apply.run,
    "queries": queries.run,
    "star": star.run,
    "writer": writer.run,
    "read": read.run,
}


def run(scale: float = 1.0, part: str | None = None, *, connect: Callable[[Path], Rollview] = connect) -> Report:
    """All parts, or one of them."""
    with bench_folder("rolling") as folder:
        room = Room(folder, scale, connect)
        figures = [figure for name in ([part] if part else PARTS) for figure in PARTS[name](room)]
    return of_figures(f"Rolling propagation and the commit clock at scale {scale:g}", figures, room.charts)
