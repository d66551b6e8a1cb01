"""The measurement of rolling propagation: its shape, at a tiny scale."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import rollview
from rollview.bench.report import Figure
from rollview.bench.rolling import PARTS, run
from rollview.cli.main import app
from rollview.session import Rollview


def on_duckdb(folder: Path) -> Rollview:
    return rollview.connect("duckdb:")


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.one_in(8)
def test_each_part_has_figures_with_bounds(part: str) -> None:
    """Whether a bound is reached, says nothing at this scale."""
    rows = run(0.001, part, connect=on_duckdb).to_dict()["rows"]
    assert rows
    assert any(row["bound"] for row in rows)
    assert all((row["reached"] in ("yes", "no")) == bool(row["bound"]) for row in rows)


@pytest.mark.parametrize(
    ("figure", "row"),
    [
        (Figure("a", 1.21, most=1.2), ["a", 1.21, "at most 1.2", "no"]),
        (Figure("b", 3, least=3), ["b", 3, "at least 3", "yes"]),
        (Figure("c", 2), ["c", 2, "", ""]),
    ],
)
def test_a_figure_reaches_its_bound_or_not(figure: Figure, row: list[object]) -> None:
    assert figure.row() == row


@pytest.mark.parametrize("arguments", [["no-op", "--part", "back"], ["rolling", "--part", "nothing"]])
def test_a_part_that_is_not_there_is_a_mistake(arguments: list[str]) -> None:
    result = CliRunner().invoke(app, ["bench", *arguments])
    assert result.exit_code == 1
    assert "has no part named" in result.output
