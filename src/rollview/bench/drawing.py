"""Charts of a measurement, drawn with matplotlib into one file: ``rollview bench … --plot FILE``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rollview.errors import UserError


@dataclass(frozen=True)
class Chart:
    """Lines of points, or a bar for each name. ``bound`` is a value that is drawn as a dashed line across; ``log`` says
    that values are drawn by their logarithms."""

    title: str
    y: str
    x: str = ""
    lines: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)
    bars: Mapping[str, float] = field(default_factory=dict)
    bound: float | None = None
    log: bool = False


def draw(charts: Sequence[Chart], file: Path) -> None:
    """Draws the charts side by side, two in a row. The name of the file says the format: svg, png or pdf."""
    if not charts:
        raise UserError("This measurement has no charts", todo="leave out --plot")
    try:
        from matplotlib.figure import Figure as Canvas
    except ImportError:
        raise UserError("Charts need matplotlib", todo="pip install 'rollview[plot]'") from None
    rows = (len(charts) + 1) // 2
    canvas = Canvas(figsize=(13, 4.2 * rows), layout="constrained")
    for number, chart in enumerate(charts):
        _fill(canvas.add_subplot(rows, min(2, len(charts)), number + 1), chart)
    try:
        canvas.savefig(file)
    except (OSError, ValueError) as error:
        raise UserError(f"The charts cannot be written to {file}", why=str(error), todo="name an .svg file") from error


def _fill(axes: Any, chart: Chart) -> None:
    axes.set_title(chart.title)
    axes.set_ylabel(chart.y)
    axes.set_xlabel(chart.x)
    for name, points in chart.lines.items():
        axes.plot([x for x, _ in points], [y for _, y in points], marker=".", label=name)
    if chart.log:
        axes.set_yscale("log")
    if chart.lines:
        if not chart.log:
            axes.set_ylim(bottom=0)
        axes.legend()
    if chart.bars:
        drawn = axes.bar(list(chart.bars), list(chart.bars.values()))
        axes.bar_label(drawn, fmt="%.3g")
        axes.tick_params(axis="x", labelrotation=15)
    if chart.bound is not None:
        axes.axhline(chart.bound, linestyle="--", color="grey")
