"""The parts of the measurement, and their report."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rollview.bench.graphivm import (
    fanout,
    follow,
    joins,
    kernels,
    look_ahead,
    memory,
    modifications,
    pathway,
    ready,
    simple,
)
from rollview.bench.graphivm.figures import Claimed, of_claims
from rollview.bench.graphivm.room import Room
from rollview.bench.report import Report
from rollview.bench.turns import bench_folder
from rollview.errors import UserError
from rollview.live.kernel.build import available

#: The parts by name.
PARTS: dict[str, Callable[[Room], Iterator[Claimed]]] = {
    "simple": simple.run,
    "fanout": fanout.run,
    "joins": joins.run,
    "look-ahead": look_ahead.run,
    "modifications": modifications.run,
    "memory": memory.run,
    "kernels": kernels.run,
    "ready": ready.run,
    "follow": follow.run,
    "pathway": pathway.run,
}


def run(scale: float = 1.0, part: str | None = None) -> Report:
    """All parts, or one of them."""
    if not available():
        raise UserError("This measurement needs numba", todo="pip install 'rollview[live]'")
    with bench_folder("graphivm") as folder:
        room = Room(folder, scale)
        figures = [figure for name in ([part] if part else PARTS) for figure in PARTS[name](room)]
    return of_claims(f"Live views at scale {scale:g}", figures, room.charts)
