"""``rv.position``, ``rv.commits``, and the commands of the same names."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from typer.testing import CliRunner

from compare import rows
from folder import make_folder
from rollview import Rollview, connect
from rollview.cli.main import app
from rollview.clock.moment import time_named
from rollview.engine.zones import zone_named
from rollview.errors import BadName, TableNotFound, UserError
from rollview.limits import Limits
from rollview.parse.stored_names import CLOCK

TIME = (Path(__file__).parents[2] / "docs" / "time.md").read_text(encoding="utf-8")


@pytest.fixture
def rv() -> Rollview:
    rv = connect("duckdb:", limits=Limits(settle_seconds=0.05))
    rv.sql(
        "CREATE TABLE a (id INT); INSERT INTO a VALUES (1), (2); CREATE TABLE b (id INT); DELETE FROM a WHERE id = 1"
    )
    return rv


def test_the_example_of_the_documentation_is_true(capsys: pytest.CaptureFixture[str]) -> None:
    section = TIME.split("## The commit clock")[1]
    exec(re.findall(r"```python\n(.*?)```", section, flags=re.DOTALL)[0], {})
    assert capsys.readouterr().out == re.findall(r"```text\n(.*?)```", section, flags=re.DOTALL)[0]


def test_positions_and_commits(rv: Rollview) -> None:
    assert rv.position() == 4
    units = rv.commits()
    assert [(u.position, {t: i.version for t, i in u.tables.items()}, u.rows) for u in units] == [
        (1, {"a": 0}, 0),
        (2, {"a": 1}, 2),
        (3, {"b": 0}, 0),
        (4, {"a": 2}, 1),
    ]
    assert rv.commits(after=2) == rv.commits(after=2, upto=9) == units[2:]
    assert rv.commits(upto=1) == units[:1]
    assert str(units).splitlines()[3] == f"4  {units[3].time:%Y-%m-%d %H:%M:%S.%f} UTC  a → 2  1 row"
    assert repr(rv.commits(after=4)) == "no commits"


def test_a_vector_that_is_new_gives_no_other_table_a_late_position(rv: Rollview) -> None:
    rv.position()
    rv.sql("INSERT INTO b VALUES (7)")
    between = datetime.now(timezone.utc)
    rv.sql("INSERT INTO a VALUES (3)")
    assert rv.position(as_of={"a": 3}) == 6
    assert rv.position(as_of=between) == 5
    assert rows(rv.table("b", as_of=between)) == [(7,)]


def test_position_as_of_a_time_a_vector_or_a_position(rv: Rollview) -> None:
    units = rv.commits()
    assert [rv.position(as_of=unit.time) for unit in units] == [1, 2, 3, 4]
    assert rv.position(as_of=str(units[1].time)) == 2
    assert rv.position(as_of=units[1].time.astimezone(ZoneInfo("Asia/Tokyo")).isoformat()) == 2
    assert rv.position(as_of=3) == 3
    assert rv.position(as_of={"A": 1}) == 2
    assert rv.position(as_of={"a": 1, "b": 0}) == 3
    assert rv.position(as_of=units[0].tables) == 1
    rv.sql("INSERT INTO b VALUES (7)")
    assert rv.position(as_of={"b": 1}) == 5
    assert rv.position(as_of=datetime.now(timezone.utc)) == 5
    rv.sql("INSERT INTO a VALUES (7)")
    assert rv.position(as_of={"a": 3, "b": 0}) is None


def test_a_warehouse_without_commits_has_no_position() -> None:
    rv = connect("duckdb:")
    assert rv.position() is None
    assert rv.commits() == []
    with pytest.raises(UserError, match="Nothing is known"):
        rv.position(as_of="2020-01-01")


@pytest.mark.parametrize(
    ("as_of", "error", "said"),
    [
        (True, UserError, "no moment"),
        (1.5, UserError, "no moment"),
        ("yesterday", UserError, "no time"),
        ("2026-13-01 10:00", UserError, "no time"),
        ("2026-11-18 10:00 Europe/Atlantis", UserError, "no time zone"),
        (datetime.now(timezone.utc) + timedelta(hours=1), UserError, "in the future"),
        ("2020-01-01", UserError, "Nothing is known"),
        (99, UserError, "no position 99"),
        (0, UserError, "no position 0"),
        ({"a": 9}, UserError, "no version 9"),
        ({"a": -1}, UserError, "no version -1"),
        ({"a": "x"}, UserError, "no version"),
        ({"nothing": 1}, TableNotFound, "nothing"),
        ({}, UserError, "names no table"),
        ({"a": 1, "A": 0}, UserError, "names a table twice"),
    ],
)
def test_what_is_no_moment_is_refused(rv: Rollview, as_of: Any, error: type[UserError], said: str) -> None:
    rv.position()
    with pytest.raises(error, match=said) as found:
        rv.position(as_of=as_of)
    assert found.value.why or found.value.todo or isinstance(found.value, TableNotFound)


@pytest.mark.parametrize("bound", [True, "1", 1.0])
def test_bounds_are_positions(rv: Rollview, bound: Any) -> None:
    with pytest.raises(UserError, match="whole number"):
        rv.commits(after=bound)


def test_a_time_without_a_zone_is_in_that_of_the_session(rv: Rollview) -> None:
    rv.engine.connection.execute("SET TimeZone = 'Asia/Tokyo'")  # type: ignore[attr-defined]
    assert time_named("2026-11-18 17:00", rv.engine.zone) == datetime(2026, 11, 18, 8, tzinfo=timezone.utc)
    assert time_named(datetime(2026, 11, 18, 17), rv.engine.zone).utcoffset() == timedelta(hours=9)
    for written in (
        "2026-11-18T08:00:00Z",
        "2026-11-18 08:00 UTC",
        "2026-11-18 09:00 Europe/Oslo",
        "2026-11-18 10:00+02:00",
    ):
        assert time_named(written, rv.engine.zone) == datetime(2026, 11, 18, 8, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("name", "hours"),
    [("UTC", 0), ("Z", 0), ("+02:00", 2), ("GMT-3", -3), ("UTC+5:30", 5.5), ("Etc/GMT+4", -4), ("-0800", -8)],
)
def test_zones_have_the_names_that_sessions_give_them(name: str, hours: float) -> None:
    assert datetime(2026, 1, 1, tzinfo=zone_named(name)).utcoffset() == timedelta(hours=hours)


def test_the_clock_is_hidden_and_refused(rv: Rollview) -> None:
    rv.position()
    assert CLOCK in rv.store.tables()
    assert rv.tables() == ["a", "b"]
    assert rv.views() == []
    assert [list(row) for row in rv.sql("SHOW TABLES").fetchall()] == [["a"], ["b"]]  # type: ignore[operator]
    for sql in (
        f"DROP TABLE {CLOCK}",
        f"DELETE FROM {CLOCK}",
        f"CREATE TABLE {CLOCK}x (id INT)",
        f"CREATE MATERIALIZED VIEW {CLOCK} AS SELECT id FROM a",
    ):
        with pytest.raises(BadName):
            rv.sql(sql)
    assert rv.position() == 4


def test_refreshes_do_not_move_the_clock(rv: Rollview) -> None:
    rv.create("v", "SELECT count(*) AS n FROM a")
    rv.sql("INSERT INTO a VALUES (3)")
    assert rv.position() == 5
    rv.refresh("v")
    assert rv.position() == 5


def _run(folder: Path, *arguments: str) -> Any:
    result = CliRunner().invoke(app, [*arguments, "-w", str(folder), "--json"])
    return json.loads(result.output), result.exit_code


def test_the_commands_mirror_the_calls(tmp_path: Path) -> None:
    """Without Spark."""
    folder = make_folder(tmp_path / "warehouse")
    found, code = _run(folder, "commits")
    assert (code, [(each["position"], each["tables"], each["rows"]) for each in found]) == (
        0,
        [(1, {"raw": 0}, 0), (2, {"more": 0}, 0)],
    )
    assert _run(folder, "commits", "--after", "1")[0] == found[1:]
    assert _run(folder, "position") == (found[1], 0)
    assert _run(folder, "position", "--as-of", "raw=0") == (found[0], 0)
    assert _run(folder, "position", "--as-of", "raw=0, more=0") == (found[1], 0)
    assert _run(folder, "position", "--as-of", found[0]["time"]) == (found[0], 0)
    assert _run(folder, "position", "--as-of", "1") == (found[0], 0)
    error, code = _run(folder, "position", "--as-of", "nonsense")
    assert (code, isinstance(error, Mapping), "no time" in error["what"]) == (1, True, True)
    shown = CliRunner().invoke(app, ["commits", "-w", str(folder)]).output
    assert "raw: 0" in shown
    assert "position" in shown
    assert CliRunner().invoke(app, ["position", "-w", str(folder)]).output.startswith("2  20")
