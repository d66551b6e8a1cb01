"""A figure with what the thesis says of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rollview.bench.drawing import Chart
from rollview.bench.report import OF_FIGURES, Figure, Report


@dataclass(frozen=True)
class Claimed(Figure):
    """A figure, beside the claim of the thesis."""

    claim: str = ""

    def row(self) -> list[Any]:
        return [*super().row(), self.claim]


def of_claims(title: str, figures: Iterable[Claimed], charts: Sequence[Chart]) -> Report:
    return Report(title, [*OF_FIGURES, "the thesis"], [each.row() for each in figures], charts)
