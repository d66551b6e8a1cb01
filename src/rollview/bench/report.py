"""The result of a measurement."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from rollview.bench.drawing import Chart


@dataclass(frozen=True)
class Report:
    title: str
    columns: list[str]
    rows: list[list[Any]]
    charts: Sequence[Chart] = field(default=(), compare=False)

    def to_dict(self) -> dict[str, Any]:
        return {"title": self.title, "rows": [dict(zip(self.columns, row, strict=True)) for row in self.rows]}


@dataclass(frozen=True)
class Figure:
    """One figure of a measurement: a ratio within one run, or a count. It has a bound, ``most`` or ``least``, if there
    is something that it must reach."""

    what: str
    value: float
    most: float | None = None
    least: float | None = None

    @property
    def reached(self) -> bool | None:
        if self.most is None and self.least is None:
            return None
        return (self.most is None or self.value <= self.most) and (self.least is None or self.value >= self.least)

    def row(self) -> list[Any]:
        value = self.value if isinstance(self.value, int) else round(self.value, 3)
        bound = "" if self.most is None else f"at most {self.most:.3g}"
        bound = bound if self.least is None else f"at least {self.least:.3g}"
        return [self.what, value, bound, {None: "", True: "yes", False: "no"}[self.reached]]


#: The columns of a report of figures.
OF_FIGURES = ["what", "figure", "bound", "reached"]


def of_figures(title: str, figures: Iterable[Figure], charts: Sequence[Chart] = ()) -> Report:
    return Report(title, OF_FIGURES, [each.row() for each in figures], charts)
