"""How much memory a live view takes, and whether there is as much: it is refused before the machine swaps."""

from __future__ import annotations

import contextlib
from pathlib import Path

from rollview.errors import Unsupported
from rollview.limits import Limits
from rollview.live.core import Core
from rollview.live.kernel.graph import CompiledGraph

#: About how many bytes a row takes for each occurrence of its table, and more for each column that is kept, in Python.
_ROW, _COLUMN = 900, 60

#: About how many bytes a value without a fixed width takes.
_INTERNED = 60

_MEMORY = Path("/proc/meminfo")

#: What a container may take, and what it takes.
_MOST, _TAKEN = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")


class TooLarge(Unsupported):
    """A live view would take more memory than it may."""

    code = "too_large"


def row_bytes(core: Core) -> dict[str, int]:
    """About how many bytes a row of each table takes, if no two rows have a tuple in common."""
    found = dict.fromkeys(core.shape.tables, 0)
    for part in core.shape.parts:
        own = _ROW + _COLUMN * len(part.fields)
        if isinstance(core.graph, CompiledGraph):
            interned = sum(kind.interned for _, kind in part.fields)
            own = 8 * core.graph.plan.row_words(part.number) + _INTERNED * interned
        found[part.table] += own
    return found


def most(limits: Limits, held: int = 0) -> int:
    """How many bytes a live view may take that takes so many now."""
    free = _free()
    return limits.live_bytes if free is None else min(limits.live_bytes, held + free)


def check(title: str, wanted: int, limits: Limits, held: int = 0) -> None:
    """Raises TooLarge if a live view would take more bytes than it may."""
    if wanted > (bound := most(limits, held)):
        what = "the machine has free" if bound < limits.live_bytes else "Limits.live_bytes allows"
        raise TooLarge(
            f"The live view {title} would take about {shown(wanted)}",
            why=f"that is more than {what}: {shown(bound)}",
            todo="filter the tables in the query, read fewer columns, or connect with "
            "limits=Limits(live_bytes=…) on a machine with more memory",
        )


def shown(size: int) -> str:
    """A number of bytes for people."""
    for unit, each in (("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
        if size >= each:
            return f"{size / each:.1f} {unit}"
    return f"{size} bytes"


def _free() -> int | None:
    """The bytes of memory that can be used without swapping, if the system tells."""
    found = [each for each in (_of_machine(), _of_container()) if each is not None]
    return min(found, default=None)


def _of_machine() -> int | None:
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in _MEMORY.read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return None


def _of_container() -> int | None:
    with contextlib.suppress(OSError, ValueError):  # there is none, or it has no limit
        return max(int(_MOST.read_text(encoding="ascii")) - int(_TAKEN.read_text(encoding="ascii")), 0)
    return None
