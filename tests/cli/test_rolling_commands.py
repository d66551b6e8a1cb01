"""``rollview propagate``, ``apply`` and ``watch --propagate``."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from compare import rows
from rolled import AT_ONCE
from rollview import Rollview, connect
from rollview.cli import rolling
from rollview.cli.main import app
from rollview.cli.watch import RollingWatch, seconds_of
from rollview.errors import UserError
from rollview.roll.rolling import rolling as rolling_view
from rollview.views.catalog import DEFINITION

PAIRS = "SELECT o.id, c.city FROM orders o JOIN customers c ON c.id = o.customer"
LEFT = "SELECT o.id, c.city FROM orders o LEFT JOIN customers c ON c.id = o.customer"

Run = Callable[..., Result]


@pytest.fixture
def rv(monkeypatch: pytest.MonkeyPatch) -> Rollview:
    found = connect("duckdb:", limits=AT_ONCE)
    found.sql("CREATE TABLE orders (id INT, customer INT, PRIMARY KEY (id))")
    found.sql("CREATE TABLE customers (id INT, city STRING, PRIMARY KEY (id))")
    found.sql("INSERT INTO customers VALUES (1, 'Ulm'), (2, 'Bonn')")
    found.create("pairs", PAIRS, policy="INCREMENTAL")
    found.create("total", "SELECT count(*) AS n FROM orders")
    found.create("loose", LEFT)
    monkeypatch.setattr("rollview.cli.app.connect", lambda *_, **__: found)
    return found


@pytest.fixture
def run(rv: Rollview, tmp_path: Any) -> Run:
    return lambda *arguments: CliRunner().invoke(app, [*arguments, "-w", str(tmp_path)])


def changed(rv: Rollview, first: int = 1) -> int:
    """Two commits of one row and of two; the position after them."""
    rv.sql(f"INSERT INTO orders VALUES ({first}, 1)")
    rv.sql(f"INSERT INTO orders VALUES ({first + 1}, 2), ({first + 2}, 1)")
    position = rv.position()
    assert position is not None
    return position


def mark(rv: Rollview, view: str) -> int:
    stored = rolling_view(rv.catalog, view).delta.stored()
    assert stored is not None
    return stored.extent.mark


def test_propagate_and_apply(run: Run, rv: Rollview) -> None:
    last = changed(rv)
    (done,) = json.loads(run("propagate", "pairs", "--steps", "1", "--step-rows", "1", "--json").stdout)
    assert (done["view"], done["outcome"], done["queries"], done["rows"], done["mark"], done["lag"]) == (
        "pairs", "propagated", 1, 1, last - 1, 1
    )  # fmt: skip
    assert done["steps"][0]["table"] == "orders"
    each = json.loads(run("propagate", "--json").stdout)
    assert [(one["view"], one["mark"]) for one in each] == [("pairs", last), ("total", last)]  # loose cannot be
    assert "positions" not in run("propagate").stderr  # nothing took long
    shown = run("propagate").stdout.split()
    assert shown[:3] == ["view", "outcome", "queries"]
    (there,) = json.loads(run("apply", "pairs", "--as-of", str(last - 1), "--json").stdout)
    assert (there["strategy"], there["position"], there["rows_written"]) == ("apply", last - 1, 1)
    assert json.loads(run("apply", "pairs", "--json").stdout)[0]["position"] == last
    vector = "orders=1,customers=1"
    assert json.loads(run("apply", "pairs", "--as-of", vector, "--json").stdout)[0]["position"] == last - 1
    assert "apply" in run("apply", "pairs").stdout
    assert rv.verify("pairs").ok


def test_a_refresh_goes_to_versions_of_tables(run: Run, rv: Rollview) -> None:
    last = changed(rv)
    (done,) = json.loads(run("refresh", "pairs", "--as-of", "orders=1,customers=1", "--json").stdout)
    assert (done["position"], done["to_vector"]) == (last - 1, {"orders": 1, "customers": 1})
    assert run("refresh", "pairs", "--as-of", "orders=1").exit_code == 1


def test_what_cannot_be_propagated_or_applied_is_told(run: Run, rv: Rollview) -> None:
    done = run("propagate", "loose")
    assert (done.exit_code, "LEFT JOIN" in done.stderr) == (4, True)
    done = run("propagate", "loose", "pairs")
    assert (done.exit_code, "LEFT JOIN" in done.stderr, "propagated" in done.stdout) == (1, True, True)
    found = {each["view"]: each for each in json.loads(run("propagate", "loose", "pairs", "--json").stdout)}
    assert (found["loose"]["outcome"], found["loose"]["error"]) == ("refused", "not_incremental")
    assert run("propagate", "nothing").exit_code == 1
    assert run("propagate", "pairs", "--steps", "0").exit_code == 1
    done = run("apply", "total")
    assert (done.exit_code, "Nothing has been propagated" in done.stderr) == (1, True)
    assert run("apply", "pairs", "--as-of", "999").exit_code == 1
    assert run("watch", "loose", "--propagate", "--rounds", "1").exit_code == 4
    assert "add --propagate" in run("watch", "pairs", "--apply-every", "5m").stderr
    assert "no interval" in run("watch", "pairs", "--propagate", "--apply-every", "soon").stderr


def test_long_work_says_how_far_it_is(run: Run, rv: Rollview, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rollview.cli.render._QUIET", 0.0)
    changed(rv)
    done = run("propagate", "pairs", "--step-rows", "1")
    assert "pairs: 1 changed row of orders, positions" in done.stderr
    assert "propagating pairs: 0." in done.stderr


def test_watch_propagates_and_applies_at_the_interval(run: Run, rv: Rollview) -> None:
    last = changed(rv)
    lines = run("watch", "--propagate", "--rounds", "2", "--every", "0", "--json").stdout.splitlines()
    assert [(each["view"], each["outcome"]) for each in map(json.loads, lines)] == [
        ("pairs", "propagated"),
        ("total", "propagated"),
    ]
    assert mark(rv, "pairs") == last
    assert rows(rv.table("pairs")) == []  # never applied
    end = changed(rv, 10)
    arguments = ("watch", "pairs", "--propagate", "--apply-every", "0.0001", "--rounds", "2", "--every", "0")
    shown = run(*arguments).stdout
    assert "pairs  propagated  1 query of 3 changed rows  up to position" in shown
    assert "pairs  apply  6 rows" in shown
    assert mark(rv, "pairs") == end
    assert rv.verify("pairs").ok
    assert json.loads(run(*arguments, "--json").stdout) == {"outcome": "no_op", "looks": 2}


def test_status_shows_how_far_views_are_propagated(run: Run, rv: Rollview) -> None:
    first = rv.position()
    assert "propagated" not in run("status").stdout
    assert json.loads(run("status", "--json").stdout)[1]["reach"] is None
    mark = changed(rv)
    run("propagate", "pairs")
    changed(rv, 10)
    found = {each["name"]: each["reach"] for each in json.loads(run("status", "--json").stdout)}
    assert found["total"] is None
    reach = found["pairs"]
    assert (reach["shown"], reach["oldest"], reach["mark"], reach["lag"]) == (first, first, mark, 2)
    assert reach["lag_seconds"] > 0
    assert reach["needed"] == {"orders": 2, "customers": 1}
    shown = run("status").stdout
    assert f"{first} to {mark}" in shown
    assert "2 commits" in shown
    assert "orders: 2" in shown
    rv.refresh("pairs", full=True)
    assert "it was recomputed since" in run("status").stdout
    run("propagate", "pairs")
    (status,) = [view for view in rv.views() if view.name == "pairs"]
    assert status.reach is not None
    assert (status.reach.lag, status.reach.lag_seconds) == (0, 0.0)


class Told:
    """What a watch tells."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str | None]] = []

    def propagated(self, done: Any) -> None:
        self.events.append(("propagated", done.view))

    def changed(self, outcome: Any) -> None:
        self.events.append((outcome.strategy, outcome.view))

    def failed(self, view: str | None, error: Exception, again: float) -> None:
        self.events.append((f"failed, again in {again:g}", view))


def watching(rv: Rollview, told: Told, clock: Callable[[], float], names: Any = None) -> RollingWatch:
    given = names or (lambda: ["pairs", "total"])
    return RollingWatch(rv, given, 1.0, 60.0, {}, told.propagated, told.changed, told.failed, clock)


def test_views_are_applied_whenever_the_interval_has_passed(rv: Rollview) -> None:
    times, told = [0.0], Told()
    watch = watching(rv, told, lambda: times[0])
    changed(rv)
    assert watch.look() == 1.0
    times[0] = 59.0
    changed(rv, 10)
    watch.look()
    assert "apply" not in {event for event, _ in told.events}
    times[0] = 60.0
    watch.look()
    assert told.events[-2:] == [("apply", "pairs"), ("apply", "total")]
    watch.look()
    assert len(told.events) == 6
    changed(rv, 20)
    times[0] = 121.0
    watch.look()
    each = [("propagated", "pairs"), ("apply", "pairs"), ("propagated", "total"), ("apply", "total")]
    assert told.events[-4:] == each


def test_views_on_views_are_applied_together_while_a_backlog_is_worked_off(rv: Rollview) -> None:
    rv.create("above", "SELECT p.id, o.customer FROM pairs p JOIN orders o ON p.id = o.id", policy="INCREMENTAL")
    for number in range(20):
        changed(rv, 10 * number)
    times, told, shown = [0.0], Told(), set()
    watch = RollingWatch(
        rv, lambda: ["above"], 1.0, 1.0, {"step_rows": 3}, told.propagated, told.changed, told.failed, lambda: times[0]
    )
    while watch.look() == 0.0:
        times[0] += 1.0
        shown.add(rolling_view(rv.catalog, "above").standing())
        assert rv.verify("above").ok
    assert len(shown) > 3
    assert not [event for event, _ in told.events if event.startswith("failed")]
    assert rolling_view(rv.catalog, "above").standing() == rolling_view(rv.catalog, "pairs").standing()
    for number in range(20):
        changed(rv, 300 + 10 * number)
    newest = rv.position()
    rv.refresh("pairs")
    times[0] += 1.0
    watch.look()
    assert rolling_view(rv.catalog, "pairs").standing() == newest  # it was not taken back


def test_a_damaged_view_does_not_stop_the_others(run: Run, rv: Rollview) -> None:
    rv.store.set_properties(rv.catalog.state("total"), {DEFINITION: "{"})
    position = changed(rv)
    done = run("propagate")
    assert done.exit_code == 1
    assert "total is damaged" in done.stderr
    assert rv.apply("pairs").position == position
    position = changed(rv, 10)
    assert run("watch", "--propagate", "--rounds", "1").exit_code == 0
    assert rv.apply("pairs").position == position


def test_a_long_backlog_is_worked_off_in_turns_without_a_pause(rv: Rollview) -> None:
    told = Told()
    watch = watching(rv, told, lambda: 0.0)
    watch.how = {"step_rows": 1}
    for first in range(10, 40, 3):
        changed(rv, first)
    pauses = [watch.look() for _ in range(9)]
    assert pauses[0] == 0.0
    assert pauses[-1] == 1.0
    assert told.events[:4] == [("propagated", "pairs"), ("propagated", "total")] * 2


def test_a_watch_survives_failures_and_pauses_longer_after_each(rv: Rollview, monkeypatch: pytest.MonkeyPatch) -> None:
    times, told = [0.0], Told()
    watch = watching(rv, told, lambda: times[0])
    changed(rv)
    commit, broken = rv.store.commit, [True]

    def failing(table: str, *rest: Any, **more: Any) -> Any:
        if broken[0] and table == "__rollview_delta_pairs":
            raise OSError("the disk is full")
        return commit(table, *rest, **more)

    monkeypatch.setattr(rv.store, "commit", failing)
    watch.look()
    assert told.events == [("failed, again in 2", "pairs"), ("propagated", "total")]
    watch.look()  # it rests
    times[0] = 3.0
    watch.look()
    assert told.events[2:] == [("failed, again in 4", "pairs")]
    broken[0], times[0] = False, 8.0
    watch.look()
    assert told.events[3:] == [("propagated", "pairs")]

    def unreadable() -> list[str]:
        raise OSError("the folder is gone")

    lost = watching(rv, told, lambda: times[0], unreadable)
    assert lost.look() == 2.0
    assert told.events[-1] == ("failed, again in 2", None)


def test_a_view_that_is_recomputed_while_it_is_watched_goes_on(rv: Rollview) -> None:
    times, told = [0.0], Told()
    watch = watching(rv, told, lambda: times[0])
    changed(rv)
    watch.look()
    rv.refresh("pairs", full=True)
    changed(rv, 10)
    times[0] = 61.0
    watch.look()
    assert ("apply", "pairs") in told.events
    assert rv.verify("pairs").ok
    assert rv.verify("total").ok


def test_ctrl_c_ends_a_watch_cleanly(run: Run, rv: Rollview, monkeypatch: pytest.MonkeyPatch) -> None:
    changed(rv)

    class Interrupted(RollingWatch):
        def look(self) -> float:
            super().look()
            try:
                raise KeyboardInterrupt
            except KeyboardInterrupt:
                logging.exception("Exception while sending command.")
                raise

    monkeypatch.setattr(rolling, "RollingWatch", Interrupted)
    done = run("watch", "--propagate")
    assert done.exit_code == 0
    assert "pairs  propagated" in done.stdout
    assert "Traceback" not in done.output


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("30s", 30), ("5m", 300), ("1.5h", 5400), (" 2 d ", 172_800)]
)
def test_intervals(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "0", "0m", "-5", "5 minutes", "m", "5m5"])
def test_what_is_no_interval(text: str) -> None:
    with pytest.raises(UserError):
        seconds_of(text)
