"""Tables on screens of any width."""

from __future__ import annotations

from typing import Any

import pytest

from rollview.cli.render import Screen

COLUMNS = ["view", "strategy", "rows written", "seconds"]
ROWS: list[list[Any]] = [["per_city", "aggregate_merge", 1_234_567, 0.125], ["all of the others", "full", None, 12.5]]


def shown(width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(width))
    Screen(as_json=False).table(COLUMNS, ROWS, "what was done")
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


def test_a_table_that_fits_has_a_line_for_each_row(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = shown(60, monkeypatch, capsys)
    assert lines[0].strip() == "what was done"
    assert [word for line in lines for word in line.split() if word == "per_city"] == ["per_city"]
    assert any(line.split() == ["per_city", "aggregate_merge", "1234567", "0.125"] for line in lines)


@pytest.mark.parametrize("width", [40, 50])
def test_on_a_narrow_screen_each_row_stands_by_itself(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = shown(width, monkeypatch, capsys)
    assert lines == [
        "what was done",
        "view          per_city",
        "strategy      aggregate_merge",
        "rows written  1234567",
        "seconds       0.125",
        "",
        "view          all of the others",
        "strategy      full",
        "rows written  NULL",
        "seconds       12.5",
        "",
    ]
