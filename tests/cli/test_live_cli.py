"""``rollview watch --live``: diffs as they come, on an embedded warehouse, without Spark."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from typer.testing import CliRunner

from rollview import Rollview, connect
from rollview.cli.main import app
from rollview.store.edits import Append
from seeds import numbers

QUERY = "SELECT g.name, t.x FROM t JOIN g ON t.g = g.g"


def rows(*given: tuple[int, int]) -> pa.Table:
    groups, values = zip(*given, strict=True)
    return pa.table({"g": pa.array(groups, pa.int32()), "x": pa.array(values, pa.int32())})


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    rv = connect(tmp_path / "w")
    rv.store.create("t", rows((1, 10), (2, 5)))
    rv.store.create("g", pa.table({"g": pa.array([1, 2], pa.int32()), "name": ["one", "two"]}))
    return tmp_path / "w"


def run(warehouse: Path, *arguments: str) -> Any:
    return CliRunner().invoke(app, ["watch", QUERY, "--live", "--rounds", "1", "-w", str(warehouse), *arguments])


def documents(done: Any) -> list[dict[str, Any]]:
    assert done.exit_code == 0, done.output
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_each_diff_is_one_line_and_a_token_resumes(warehouse: Path) -> None:
    (first,) = documents(run(warehouse, "--json", "--snapshot"))
    assert first["rows"] == [{"name": "one", "x": 10, "__w": 1}, {"name": "two", "x": 5, "__w": 1}]
    assert (first["complete"], first["snapshot"], first["vector"]) == (True, True, {"t": 0, "g": 0})
    assert documents(run(warehouse, "--json", "--since", first["token"])) == []
    connect(warehouse).store.commit("t", [Append(rows((1, 7)))])
    write_deltalake(warehouse / "t", rows((2, 8), (3, 9)), mode="append")
    (second,) = documents(run(warehouse, "--json", "--since", first["token"]))
    assert second["rows"] == [{"name": "one", "x": 7, "__w": 1}, {"name": "two", "x": 8, "__w": 1}]
    assert second["vector"] == {"t": 2, "g": 0}
    (only,) = documents(run(warehouse, "--json", "--since", first["token"], "--where", "name = 'two'"))
    assert [row["x"] for row in only["rows"]] == [8]


def test_a_table_shows_what_comes_and_goes(warehouse: Path) -> None:
    shown = run(warehouse, "--snapshot")
    assert shown.exit_code == 0
    assert "snapshot  t 0, g 0" in shown.stdout
    lines = [line.split() for line in shown.stdout.splitlines()]
    assert ["one", "10"] in lines
    token = shown.stderr.split("--since ")[1].split()[0]
    connect(warehouse).store.commit("t", [Append(rows(*[(1, n) for n in range(30)]))])
    shown = run(warehouse, "--since", token)
    assert ["+", "one", "0"] in [line.split() for line in shown.stdout.splitlines()]
    assert "and 10 more rows" in shown.stdout


def test_what_cannot_be_watched_so_is_an_error(warehouse: Path) -> None:
    for arguments, said in (
        (["watch", "--live"], "one view"),
        (["watch", "t", "g", "--live"], "one view"),
        (["watch", "nowhere", "--live"], "no materialized view named nowhere"),
        (["watch", "SELECT DISTINCT x FROM t", "--live"], "DISTINCT"),
        (["watch", QUERY, "--live", "--since", "x"], "is no token"),
        (["watch", "--snapshot"], "belong to --live"),
    ):
        done = CliRunner().invoke(app, [*arguments, "-w", str(warehouse), "--rounds", "1"])
        assert done.exit_code == 1
        assert said in " ".join(done.stderr.split()), done.stderr


def test_it_ends_when_nobody_reads_what_it_prints(warehouse: Path) -> None:
    command = [sys.executable, "-m", "rollview.cli.main", "watch", QUERY, "--live", "--json", "--every", "0.05"]
    child = subprocess.Popen([*command, "--snapshot", "-w", str(warehouse)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    child.stdout.readline()
    child.stdout.close()
    write_deltalake(warehouse / "t", rows((1, 8)), mode="append")
    try:
        child.wait(30)
    finally:
        child.kill()


def test_a_condition_that_fails_over_a_row_is_an_error(warehouse: Path) -> None:
    connect(warehouse).store.commit("t", [Append(rows((1, 0)))])
    done = run(warehouse, "--where", "1 / x > 0", "--snapshot")
    assert done.exit_code == 1
    assert "DIVIDE_BY_ZERO" in done.stderr


def _taken(lines: list[str], stored: Counter[Any], token: str | None) -> str | None:
    """What a consumer has stored after the lines that it got: a cut-off line is lost."""
    pending: Counter[Any] = Counter()
    for line in lines:
        with contextlib.suppress(ValueError):
            batch = json.loads(line)
            for row in batch["rows"]:
                pending[row["name"], row["x"]] += row["__w"]
            if batch["complete"]:
                stored.update(pending)
                pending, token = Counter(), batch["token"]
    return token


@pytest.mark.slow
def test_a_process_that_is_killed_at_any_point_resumes_by_its_token(warehouse: Path) -> None:
    rng = random.Random(numbers(1)[0])
    stop = threading.Event()

    def write() -> None:
        for n in range(1000):
            if stop.wait(0.02):
                return
            write_deltalake(warehouse / "t", rows((rng.choice([1, 2, 3]), n)), mode="append")
            if n % 9 == 8:
                DeltaTable(warehouse / "t").delete(f"x = {n - 4}")

    writer = threading.Thread(target=write)
    writer.start()
    stored: Counter[Any] = Counter()
    token: str | None = None
    try:
        for _ in range(8):
            begin = ["--snapshot"] if token is None else ["--since", token]
            command = [sys.executable, "-m", "rollview.cli.main", "watch", QUERY, "--live", "--json", "--every", "0.01"]
            child = subprocess.Popen(
                [*command, "-w", str(warehouse), *begin], stdout=subprocess.PIPE, text=True, env=dict(os.environ)
            )
            assert child.stdout is not None
            lines = [child.stdout.readline()]  # it has begun
            time.sleep(rng.random() / 2)
            os.kill(child.pid, signal.SIGKILL)
            lines += child.stdout.read().splitlines()
            child.wait()
            token = _taken(lines, stored, token)
    finally:
        stop.set()
        writer.join()
    assert token is not None
    done = run(warehouse, "--json", "--since", token)
    _taken(done.stdout.splitlines(), stored, token)
    rv: Rollview = connect(warehouse)
    expected: Counter[Any] = Counter()
    for row in rv.live(QUERY).table().to_pylist():
        expected[row["name"], row["x"]] += 1
    assert Counter({row: n for row, n in stored.items() if n}) == expected
