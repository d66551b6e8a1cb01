"""How much memory a live view takes, and whether there is as much: it is refused before the machine swaps."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rollview.errors import Unsupported
from rollview.limits import Limits
from rollview.live.graph.protocol import LookAhead
from rollview.live.kernel.build import available
from rollview.live.kernel.plan import plan_of
from rollview.live.shape import Shape

#: About how many bytes a row takes for each occurrence of its table, and more for each column that is kept, in Python.
_ROW, _COLUMN = 900, 60

#: About how many bytes a value without a fixed width takes.
_INTERNED = 60

_MEMORY = Path("/proc/meminfo")


class TooLarge(Unsupported):
    """A live view would take more memory than it may."""

    code = "too_large"


def estimate(shape: Shape, counts: Mapping[str, int]) -> int:
    """About how many bytes a live view over tables of so many rows takes, if no two rows have a tuple in common."""
    if not available():
        return sum(counts[part.table] * (_ROW + _COLUMN * len(part.fields)) for part in shape.parts)
    plan, found = plan_of(shape, LookAhead.GLOBAL), 0.0
    for part in shape.parts:
        interned = sum(kind.interned for _, kind in part.fields)
        found += counts[part.table] * (8 * plan.row_words(part.number) + _INTERNED * interned)
    return int(found)


def row_bytes(shape: Shape, table: str) -> int:
    """The same for a row of a table."""
    return estimate(shape, {each: int(each == table) for each in shape.tables})


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
    try:
        for line in _MEMORY.read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return None
