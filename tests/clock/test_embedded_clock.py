"""The commit clock in a folder, without Spark: processes, kills, copies, other writers, many commits."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from rollview.clock import CommitClock, Unit
from rollview.engine.sources import LocalSpark
from rollview.engine.spark import SparkEngine
from rollview.errors import Damaged
from rollview.limits import DEFAULT, Limits
from rollview.parse.stored_names import CLOCK
from rollview.store.edits import Append
from rollview.store.embedded import EmbeddedStore
from rollview.store.embedded.commits import Commits
from rollview.store.embedded.entries import Listing

ROWS = pa.table({"id": pa.array([1, 2], pa.int64())})


def opened(folder: Path, limits: Limits = DEFAULT) -> tuple[EmbeddedStore, CommitClock]:
    source = LocalSpark()
    store = EmbeddedStore(source, folder)
    return store, CommitClock(store, SparkEngine(source), limits)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "warehouse"


def insert(store: EmbeddedStore, table: str, times: int = 1) -> None:
    if not store.exists(table):
        store.create(table, ROWS.slice(0, 0))
    for _ in range(times):
        store.commit(table, [Append(ROWS)])


def told(units: list[Unit]) -> list[str]:
    return [" ".join(f"{table}{identity.version}" for table, identity in unit.tables.items()) for unit in units]


def test_commits_are_numbered_without_spark(folder: Path) -> None:
    store, clock = opened(folder)
    insert(store, "a", 2)
    insert(store, "b")
    insert(store, "a")
    clock.look(["a", "b"])
    assert told(clock.units()) == ["a0", "a1", "a2", "b0", "b1", "a3"]
    assert [unit.rows for unit in clock.units()] == [0, 2, 2, 0, 2, 2]
    assert clock.vector(6) == {"a": store.identity("a"), "b": store.identity("b")}
    again = opened(folder)[1]
    assert again.units() == clock.units()
    assert again.of({"a": 2, "b": 0}) == 4


def test_a_position_has_the_time_of_its_commit(folder: Path) -> None:
    store, clock = opened(folder)
    insert(store, "a", 3)
    clock.look(["a"])
    assert [unit.time for unit in clock.units()] == [commit.time for commit in reversed(store.history("a"))]


def test_a_copied_folder_has_the_same_clock(folder: Path, tmp_path: Path) -> None:
    """Copying gives every file a new time, and in any order."""
    store, clock = opened(folder)
    insert(store, "a", 3)
    _by_another_writer(folder, "b", 3)
    clock.look(["a", "b"])
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy, copy_function=shutil.copyfile)
    for number, file in enumerate(sorted((copy / "b" / "_delta_log").glob("*.json"), reverse=True)):
        os.utime(file, (number * 1000, number * 1000))
    other, copied = opened(copy)
    assert copied.units() == clock.units()
    copied.look(["a", "b"])
    assert copied.units() == clock.units()
    shutil.rmtree(copy / CLOCK)
    afresh = opened(copy)[1]
    afresh.look(["a", "b"])
    assert [(u.time, u.tables) for u in afresh.units()] == [(u.time, u.tables) for u in clock.units()]
    for each in (store, other):
        times = [commit.time for commit in each.history("b")]
        assert times == sorted(times, reverse=True)


def _by_another_writer(folder: Path, table: str, commits: int) -> None:
    for _ in range(commits):
        write_deltalake(str(folder / table), ROWS, mode="append")


def _rewrite(file: Path, **changes: Any) -> None:
    """Changes what a log entry says of its commit; None removes a field."""
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    for line in lines:
        if "commitInfo" in line:
            line["commitInfo"] |= changes
            line["commitInfo"] = {name: value for name, value in line["commitInfo"].items() if value is not None}
    file.write_text("\n".join(map(json.dumps, lines)) + "\n")


def test_times_of_another_writer_never_decrease(folder: Path) -> None:
    """Its clock may go back, its entries may have no time, and with in-commit timestamps these count."""
    _by_another_writer(folder, "b", 6)
    files = sorted((folder / "b" / "_delta_log").glob("*.json"))
    told: list[dict[str, int | None]] = [
        {"timestamp": 5_000},
        {"timestamp": 3_000},
        {"timestamp": None},
        {"timestamp": 4_000},
        {"timestamp": 1_000, "inCommitTimestamp": 9_000},
        {"timestamp": 8_000},
    ]
    for file, changes in zip(files, told, strict=True):
        _rewrite(file, **changes)
    os.utime(files[2], (6, 6))
    store, clock = opened(folder)
    expected = [5, 5, 6, 6, 9, 9]
    assert [commit.time.timestamp() for commit in reversed(store.history("b"))] == expected
    assert [store.history("b", limit=1)[0].time.timestamp(), store.last_commit("b").time.timestamp()] == [9, 9]
    clock.look(["b"])
    assert [unit.time.timestamp() for unit in clock.units()] == expected
    insert(store, "b")
    assert store.last_commit("b").time > clock.units()[-1].time


def test_compaction_and_properties_have_no_position(folder: Path) -> None:
    store, clock = opened(folder)
    insert(store, "a", 3)
    clock.look(["a"])
    before = clock.units()
    DeltaTable(str(folder / "a")).optimize.compact()
    store.set_properties("a", {"x": "y"})
    clock.look(["a"])
    assert clock.units() == before
    assert clock.of({"a": store.version("a")}) == clock.newest()
    insert(store, "a")
    clock.look(["a"])
    assert told(clock.units())[-1] == f"a{store.version('a')}"


def test_a_table_that_is_dropped_and_created_again_goes_on(folder: Path) -> None:
    store, clock = opened(folder)
    insert(store, "a", 2)
    clock.look(["a"])
    store.drop("a")
    clock.look(["a"])
    insert(store, "a", 4)
    clock.look(["a"])
    assert told(clock.units()) == ["a0", "a1", "a2", "a0", "a1", "a2", "a3", "a4"]
    assert clock.of({"a": 2}) == 6


def test_a_log_that_was_restored_from_a_copy_goes_on(folder: Path, tmp_path: Path) -> None:
    store, clock = opened(folder)
    insert(store, "a", 2)
    clock.look(["a"])
    shutil.copytree(folder / "a", tmp_path / "saved")
    insert(store, "a", 3)
    clock.look(["a"])
    before = clock.units()
    shutil.rmtree(folder / "a")
    shutil.copytree(tmp_path / "saved", folder / "a")
    insert(store, "a", 1)
    for each in (clock, opened(folder)[1]):
        each.look(["a"])
        assert each.units(upto=len(before)) == before
        assert told(each.units(after=len(before))) == ["a3"]
        assert each.of({"a": 3}) == len(before) + 1


def test_a_damaged_clock_is_named(folder: Path) -> None:
    store, clock = opened(folder)
    insert(store, "a")
    clock.look(["a"])
    for file in (folder / CLOCK / "_delta_log").glob("*.json"):
        file.write_text("")
    with pytest.raises(Damaged, match="commit clock"):
        opened(folder)[1].look(["a"])


@pytest.mark.parametrize("how", ["missing", "short", "of other bytes"])
def test_a_damaged_file_of_the_clock_is_told(folder: Path, how: str) -> None:
    store, clock = opened(folder)
    insert(store, "a")
    clock.look(["a"])
    for file in (folder / CLOCK).glob("*.parquet"):
        if how == "missing":
            file.unlink()
        else:
            file.write_bytes(b"?" * (1 if how == "short" else file.stat().st_size))
    with pytest.raises(Damaged, match="commit clock is damaged"):
        opened(folder)[1].look(["a"])


_NUMBER = """
import sys
from pathlib import Path
sys.path[:0] = {path!r}
from test_embedded_clock import insert, opened
store, clock = opened(Path({folder!r}))
for round in range({rounds}):
    insert(store, {table!r})
    clock.look(["a", "b", "c"])
"""


def _process(code: str, folder: Path, **values: Any) -> subprocess.Popen[bytes]:
    here = Path(__file__)
    path = [str(here.parent), str(here.parents[1] / "support")]
    return subprocess.Popen([sys.executable, "-c", code.format(path=path, folder=str(folder), **values)])


def test_processes_that_number_at_once_come_to_one_clock(folder: Path) -> None:
    store, clock = opened(folder)
    for table in "abc":
        insert(store, table)
    rounds = 25
    running = [_process(_NUMBER, folder, table=table, rounds=rounds) for table in "ab"]
    known: list[Unit] = []
    while any(process.poll() is None for process in running):
        insert(store, "c")
        clock.look(["a", "b", "c"])
        units = clock.units()
        assert units[: len(known)] == known
        known = units
        time.sleep(0.05)
    assert [process.returncode for process in running] == [0, 0]
    clock.look(["a", "b", "c"])
    units = opened(folder)[1].units()
    assert units == clock.units()
    assert [unit.position for unit in units] == list(range(1, len(units) + 1))
    for table in "abc":
        versions = [i.version for u in units for t, i in u.tables.items() if t == table]
        assert versions == list(range(store.version(table) + 1))
    assert [unit.time for unit in units] == sorted(unit.time for unit in units)


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
@pytest.mark.one_in(2)
def test_a_kill_between_any_two_writes_loses_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, before: bool
) -> None:
    """A look is killed at every third of its writes until one ends, and the next one at others. Tidying is part of it."""
    often = Limits(clock_commits=3)
    store, _ = opened(folder)
    known: list[Unit] = []
    ended = kills = 0
    at = 1
    while ended < 16:
        insert(store, "a")
        clock = opened(folder, often)[1]
        with monkeypatch.context() as patched:
            _kill(patched, at, before)
            try:
                clock.look(["a"])
                ended += 1
                at = 1 + ended % 3
            except Killed:
                at, kills = at + 3, kills + 1
        again = opened(folder)[1]
        units = again.units()
        assert units[: len(known)] == known
        known = units
    clock = opened(folder)[1]
    clock.look(["a"])
    assert [i.version for u in clock.units() for i in u.tables.values()] == list(range(store.version("a") + 1))
    assert kills > 20


def _kill(patched: pytest.MonkeyPatch, at: int, before: bool) -> None:
    """Ends the process before or after its ``at``-th change of the folder."""
    count = 0

    def killing(work: Callable[..., Any]) -> Callable[..., Any]:
        def done(*args: Any, **kwargs: Any) -> Any:
            nonlocal count
            count += 1
            if count > at:  # it is dead: cleaning up does nothing
                raise Killed
            if count == at and before:
                raise Killed
            found = work(*args, **kwargs)
            if count == at:
                raise Killed
            return found

        return done

    for module, name in (
        (os, "link"),
        (os, "rename"),
        (Path, "unlink"),
        (Path, "mkdir"),
        (DeltaTable, "create_checkpoint"),
    ):
        patched.setattr(module, name, killing(getattr(module, name)))


def test_a_clock_of_many_looks_stays_small(folder: Path) -> None:
    """Each look is a commit, with a file of its own; these are merged, and what is old is removed."""
    store, clock = opened(folder, Limits(clock_commits=5))
    reader = opened(folder)[1]
    for number in range(60):
        insert(store, "a")
        clock.look(["a"])
        if number % 18 == 0:  # idle for longer than entries are kept
            assert reader.units() == clock.units()
    assert len(clock.units()) == 61
    assert opened(folder)[1].units() == reader.units() == clock.units()
    assert len(list((folder / CLOCK).glob("*.parquet"))) < 25
    assert len(list((folder / CLOCK / "_delta_log").iterdir())) < 22


def _pretend(folder: Path, table: str, commits: int) -> None:
    """Commits without files, as many as are wanted, quickly."""
    store, _ = opened(folder)
    if not store.exists(table):
        insert(store, table)
    log = folder / table / "_delta_log"
    begin = store.version(table) + 1
    now = time.time_ns() // 1_000_000
    for version in range(begin, begin + commits):
        info = {"timestamp": now, "operation": "DELETE", "operationMetrics": {"numDeletedRows": "1"}}
        remove = {"path": f"gone-{version}.parquet", "deletionTimestamp": now, "dataChange": True}
        lines = [{"commitInfo": info}, {"remove": remove}]
        (log / f"{version:020}.json").write_text("\n".join(map(json.dumps, lines)) + "\n")


@pytest.mark.parametrize(
    "commits", [1_000, pytest.param(10_000, marks=pytest.mark.slow)], ids=["a-thousand", "ten-thousand"]
)
def test_numbering_after_many_commits_reads_what_it_reads_after_few(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, commits: int
) -> None:
    """The entries read, the rows of the clock read, and the names listed, for 100 commits in ten looks."""
    work = []
    for number, size in enumerate((100, commits)):
        place = tmp_path / str(number)
        _pretend(place, "a", size)
        _, clock = opened(place)
        clock.look(["a"])
        assert clock.newest() == size + 2
        counts = {"entries": 0, "names": 0}
        with monkeypatch.context() as patched:
            _count(patched, counts)
            for _ in range(10):
                _pretend_more(place, "a", 10)
                clock.look(["a"])
        assert clock.newest() == size + 102
        work.append(counts)
    few, many = work
    assert many["entries"] <= 1.1 * few["entries"]
    assert many["names"] <= 1.5 * few["names"]


def _pretend_more(folder: Path, table: str, commits: int) -> None:
    log = folder / table / "_delta_log"
    newest = max(log.glob("*.json"))
    for version in range(int(newest.stem) + 1, int(newest.stem) + 1 + commits):
        (log / f"{version:020}.json").write_text(newest.read_text())


def _count(patched: pytest.MonkeyPatch, counts: dict[str, int]) -> None:
    lines, listing = Commits._lines, Listing.of

    def counted(self: Commits, version: int) -> Any:
        counts["entries"] += 1
        return lines(self, version)

    def listed(root: Path) -> Listing:
        found = listing(root)
        counts["names"] += len(found.commits) + len(found.checkpoints)
        return found

    patched.setattr(Commits, "_lines", counted)
    patched.setattr(Listing, "of", staticmethod(listed))
