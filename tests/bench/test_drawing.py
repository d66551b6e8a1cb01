"""Charts of measurements."""

from __future__ import annotations

from pathlib import Path

import pytest

from rollview.bench.drawing import Chart, draw
from rollview.errors import UserError

CHARTS = [
    Chart("Seconds of a step", "seconds", "step", lines={"rows": [(1, 2.0), (2, 3.0)], "sums": [(1, 1.0)]}, bound=2.5),
    Chart("Rows read", "rows", bars={"one interval": 10, "their own": 1}),
]


def test_charts_are_drawn_into_one_file(tmp_path: Path) -> None:
    draw(CHARTS, tmp_path / "all.svg")
    assert "<svg" in (tmp_path / "all.svg").read_text()


@pytest.mark.parametrize(("charts", "file"), [([], "all.svg"), (CHARTS, "all.sgv"), (CHARTS, "gone/all.svg")])
def test_what_cannot_be_drawn_is_an_error(charts: list[Chart], file: str, tmp_path: Path) -> None:
    with pytest.raises(UserError):
        draw(charts, tmp_path / file)
