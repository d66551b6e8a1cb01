"""What ``rollview commits`` and ``rollview position`` print."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rollview.cli.render import Screen
from rollview.clock import AsOf, Unit
from rollview.session import Rollview

_VECTOR = re.compile(r"\s*([^=,]+?)\s*=\s*(\d+)\s*")


def as_of_option(text: str) -> AsOf:
    """A position, a vector (``orders=5,customers=2``) or a time, as the option ``--as-of`` gives it."""
    if text.strip().isdigit():
        return int(text)
    parts = [_VECTOR.fullmatch(part) for part in text.split(",")]
    given = [(part[1], int(part[2])) for part in parts if part is not None]
    return dict(given) if len(given) == len(parts) else text


def show_commits(screen: Screen, units: Sequence[Unit]) -> None:
    if screen.as_json:
        screen.emit([_document(unit) for unit in units])
        return
    screen.table(
        ["position", "time (UTC)", "tables", "rows"],
        [[unit.position, _time(unit), _versions(unit), unit.rows] for unit in units],
    )


def show_position(screen: Screen, rv: Rollview, position: int | None) -> None:
    unit = None if position is None else rv.catalog.clock.unit(position)
    if screen.as_json:
        screen.emit({"position": None} if unit is None else _document(unit))
    elif unit is None:
        screen.out.print("no position", highlight=False)
    else:
        screen.out.print(f"{unit.position}  {_time(unit)} UTC", highlight=False)


def _document(unit: Unit) -> dict[str, object]:
    return {"position": unit.position, "time": unit.time, "tables": _versions(unit), "rows": unit.rows}


def _versions(unit: Unit) -> dict[str, int | None]:
    return {table: identity.version for table, identity in unit.tables.items()}


def _time(unit: Unit) -> str:
    return f"{unit.time:%Y-%m-%d %H:%M:%S.%f}"
