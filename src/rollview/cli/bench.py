"""``rollview bench``: a measurement, as a table and as charts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rollview.bench import PARTED, SCALED, SUITES
from rollview.bench.drawing import draw
from rollview.cli.render import Screen
from rollview.errors import UserError


def run_bench(screen: Screen, suite: str, scale: float, spread: bool, part: str | None, plot: Path | None) -> None:
    if suite not in SUITES:
        raise UserError(f"There is no measurement named {suite}", todo=f"there are {', '.join(SUITES)}")
    with screen.busy(f"measuring {suite}"):
        report = SUITES[suite](**_options(suite, scale, spread, part))
    if plot is not None:
        draw(report.charts, plot)
    if screen.as_json:
        screen.emit(report.to_dict())
    else:
        screen.table(report.columns, report.rows, report.title)


def _options(suite: str, scale: float, spread: bool, part: str | None) -> dict[str, Any]:
    """The options that the measurement takes. An option for other measurements is a mistake only if it is a part."""
    options: dict[str, Any] = {"scale": scale} if suite in SCALED else {}
    if suite == "tpch":
        options["spread"] = spread
    if part is not None:
        parts = PARTED.get(suite, ())
        if part not in parts:
            todo = f"its parts are {', '.join(parts)}" if parts else "leave out --part"
            raise UserError(f"The measurement {suite} has no part named {part}", todo=todo)
        options["part"] = part
    return options
