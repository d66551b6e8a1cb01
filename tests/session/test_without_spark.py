"""What the logs of an embedded warehouse tell takes no Spark: all of this runs where no Java is to be found."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner, Result

from folder import make_folder, touch
from rollview import UserError, connect
from rollview.cli.main import app
from rollview.cli.watch import LONGEST_PAUSE, Pauses
from rollview.engine.sources import LocalSpark
from rollview.errors import JavaMissing, SchemaChanged
from rollview.store.embedded import EmbeddedStore
from rollview.views.catalog import Catalog


@pytest.fixture(autouse=True)
def no_java(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if request.node.get_closest_marker("spark"):
        return
    if SparkSession.getActiveSession() is not None:
        pytest.skip("there is a Spark in this process already")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "160")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("made") / "w")


@pytest.fixture
def store(made: Path, tmp_path: Path) -> EmbeddedStore:
    return EmbeddedStore(LocalSpark(), shutil.copytree(made, tmp_path / "w"))


@pytest.fixture
def run(store: EmbeddedStore) -> Any:
    def invoke(*arguments: str) -> Result:
        return CliRunner().invoke(app, [*arguments, "-w", str(store.root)])

    return invoke


QUIET = [
    (["status"], 0, "other"),
    (["refresh"], 0, "nothing that the view uses has changed"),
    (["refresh", "gold", "silver"], 0, "nothing that the view uses has changed"),
    (["refresh", "gould"], 1, "did you mean `gold`?"),
    (["verify", "gould"], 1, "did you mean `gold`?"),
    (["explain", "gould"], 1, "did you mean `gold`?"),
    (["watch", "gould"], 1, "did you mean `gold`?"),
    (["explain", "gold"], 0, "one row for each group"),
    (["watch", "--rounds", "2", "--every", "0.01"], 0, ""),
    (["sql", "-e", "SELECT * FROM gould"], 1, "There is no table or view named `gould`"),
    (["sql", "-e", ""], 0, ""),
    (["sql", "-e", "-- nothing;"], 0, ""),
    (["sql", "-e", "SHOW MATERIALIZED VIEWS"], 0, "4 rows"),
    (["sql", "-e", "SHOW TABLES"], 0, "more"),
    (["sql", "-e", "DESCRIBE MATERIALIZED VIEW gold"], 0, "string"),
    (["sql", "-e", "EXPLAIN MATERIALIZED VIEW gold"], 0, "one row for each group"),
    (["sql", "-e", "REFRESH MATERIALIZED VIEW gold"], 0, "no_op"),
    (["sql", "-e", "DROP MATERIALIZED VIEW gold"], 1, "platinum read it"),
    (["sql", "-e", "DROP MATERIALIZED VIEW platinum; DROP MATERIALIZED VIEW gold"], 0, "gold"),
    (["sql", "-e", "DROP MATERIALIZED VIEW IF EXISTS gould; DROP TABLE IF EXISTS less"], 0, "0 rows"),
    (["sql", "-e", "DROP TABLE more"], 0, ""),
    (
        ["sql", "-e", "CREATE MATERIALIZED VIEW gold AS SELECT 1 AS a"],
        1,
        "There is a materialized view named gold already",
    ),
]


@pytest.mark.parametrize(("arguments", "code", "said"), QUIET, ids=[" ".join(each[0]) for each in QUIET])
def test_commands_that_move_no_rows_need_no_spark(run: Any, arguments: list[str], code: int, said: str) -> None:
    done = run(*arguments)
    assert (done.exit_code, said in done.output) == (code, True), done.output


@pytest.mark.slow
def test_a_process_that_moves_no_rows_takes_little_more_than_the_import(store: EmbeddedStore) -> None:
    """Two seconds where the import takes 0.7, as a ratio, so that it holds on a slow machine and on a busy one."""

    def seconds(*command: str) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert (done.returncode, done.stderr) == (0, "")
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    imported = [seconds("-c", "import rollview") for _ in range(2)]
    status = [seconds("-m", "rollview.cli.main", "status", "-w", str(store.root)) for _ in range(2)]
    assert min(status) / min(imported) < 2.0 / 0.7


def test_where_rows_move_the_missing_java_is_told(run: Any, store: EmbeddedStore) -> None:
    for arguments in (
        ["sql", "-e", "SELECT 1"],
        ["verify"],
        ["refresh", "--full", "gold"],
        ["sql", "-e", "SELECT * FROM raw"],
    ):
        done = run(*arguments)
        assert (done.exit_code, "Spark needs Java 17 or newer, and none was found" in done.stderr) == (1, True)
    touch(store, "raw")
    done = run("refresh", "--json")
    found = {each["view"]: each for each in json.loads(done.stdout)}
    assert done.exit_code == 1
    assert (found["silver"]["outcome"], found["silver"]["error"]) == ("failed", "java_missing")
    assert (found["gold"]["outcome"], found["gold"]["because"]) == ("skipped", "silver")
    assert found["other"]["outcome"] == "refreshed"
    rv = connect(store.root)
    with pytest.raises(JavaMissing):
        rv.table("raw")
    with pytest.raises(JavaMissing):
        rv.spark  # noqa: B018


def test_the_outcomes_of_a_refresh_are_shown_and_a_failure_is_exit_code_1(run: Any, store: EmbeddedStore) -> None:
    store.drop("raw")
    done = run("refresh")
    assert done.exit_code == 1
    lines = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines() if len(line.split()) > 1}
    assert lines["other"][:4] == ["refreshed", "no_op", "0", "0"]
    assert " ".join(lines["silver"]) == "failed A table that silver reads is gone: There is no table named raw"
    assert " ".join(lines["gold"]) == "skipped it reads silver, which failed"
    assert "error: silver: A table that silver reads is gone" in done.stderr
    assert "What to do: create the table again" in done.stderr
    alone = run("refresh", "silver")
    assert (alone.exit_code, alone.stdout) == (1, "")
    assert "error: A table that silver reads is gone" in alone.stderr
    some = run("refresh", "gold", "other", "--json")
    assert some.exit_code == 0
    assert [(each["view"], each["outcome"], each["stale"]) for each in json.loads(some.stdout)] == [
        ("gold", "refreshed", ["silver"]),
        ("other", "refreshed", []),
    ]
    (told,) = json.loads(run("refresh", "gold", "--json").stdout)
    assert told["explanation"].endswith("upstream, silver cannot be refreshed (raw, which it reads, is gone)")


def test_status_is_by_base_tables_through_all_levels(run: Any, store: EmbeddedStore) -> None:
    touch(store, "raw")
    found = {view["name"]: view for view in json.loads(run("status", "--json").stdout)}
    assert {name: view["fresh"] for name, view in found.items()} == {
        "silver": False, "gold": False, "platinum": False, "other": True,
    }  # fmt: skip
    assert (found["gold"]["behind"], found["gold"]["stale"]) == ({}, ["silver"])
    shown = run("status").stdout
    assert "stale: raw +1" in shown
    assert "stale: upstream, gold, silver are behind the base tables" in shown
    rows = json.loads(run("sql", "--json", "-e", "SHOW MATERIALIZED VIEWS").stdout)["rows"]
    assert {row["name"]: row["fresh"] for row in rows} == {name: view["fresh"] for name, view in found.items()}
    assert (
        json.loads(run("sql", "--json", "-e", "REFRESH MATERIALIZED VIEW gold").stdout)["rows"][0]["stale"] == "silver"
    )


def test_seconds_are_told_to_the_millisecond(run: Any, store: EmbeddedStore) -> None:
    documents = json.loads(run("refresh", "--json").stdout)
    seconds = [each["seconds"] for each in documents]
    assert all(value == round(value, 3) for value in seconds)
    row = json.loads(run("sql", "--json", "-e", "REFRESH MATERIALIZED VIEW gold").stdout)["rows"][0]
    assert row["seconds"] == round(row["seconds"], 3)


# Watching


def test_watching_goes_on_where_a_view_fails_and_tries_it_again_later_and_later(run: Any, store: EmbeddedStore) -> None:
    store.drop("raw")
    done = run("watch", "--json", "--rounds", "12", "--every", "0.04")
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.exit_code == 0
    assert {(each["view"], each["outcome"], each["error"]) for each in found} == {
        ("silver", "failed", "schema_changed")
    }
    assert [each["again_in"] for each in found] == [0.1, 0.2, 0.4][: len(found)]
    assert 2 <= len(found) <= 3  # in half a second
    shown = run("watch", "--rounds", "1", "--every", "0.01")
    assert "error: silver: A table that silver reads is gone" in shown.stderr
    assert "tried again in 0.1 s" in shown.stderr


def test_watching_survives_a_catalog_that_cannot_be_read(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plain, fails = Catalog.names, iter([True, True])

    def names(self: Catalog) -> list[str]:
        if next(fails, False):
            raise OSError("the disk is away")
        return plain(self)

    monkeypatch.setattr(Catalog, "names", names)
    done = run("watch", "--json", "--rounds", "4", "--every", "0.01")
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.exit_code == 0
    assert [(each["view"], each["outcome"], each["again_in"]) for each in found] == [
        (None, "failed", 0.1),
        (None, "failed", 0.2),
    ]
    assert "the disk is away" in found[0]["what"]


def test_watching_with_nothing_to_do_gives_a_document(run: Any) -> None:
    done = run("watch", "--json", "--rounds", "2", "--every", "0.01")
    assert json.loads(done.stdout) == {"outcome": "no_op", "looks": 2}


def test_watching_ends_with_ctrl_c(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(time, "sleep", interrupted)
    done = run("watch", "--json")
    assert (done.exit_code, json.loads(done.stdout)) == (0, {"outcome": "no_op", "looks": 1})


def test_pauses_double_up_to_a_minute_and_end_with_a_success() -> None:
    now = [0.0]
    pauses = Pauses(1.0, lambda: now[0])
    assert [pauses.failed("v") for _ in range(8)] == [2, 4, 8, 16, 32, 60, LONGEST_PAUSE, 60]
    assert (pauses.failed("w"), pauses.resting()) == (2, {"v", "w"})
    now[0] = 2.0
    assert pauses.resting() == {"v"}
    pauses.worked("v")
    assert (pauses.resting(), pauses.failed("v")) == (set(), 2)
    assert Pauses(120.0).failed("v") == 120


# Closing


def test_a_closed_session_says_so(store: EmbeddedStore, tmp_path: Path) -> None:
    with connect(store.root) as rv:
        assert len(rv.views()) == 4
    rv.close()
    duck = connect(f"duckdb:{tmp_path / 'file.db'}")
    duck.sql("CREATE TABLE t (id INT)")
    duck.close()
    duck.close()
    for closed in (rv, duck):
        for use in (
            lambda rv=closed: rv.views(),
            lambda rv=closed: rv.sql("SELECT 1"),
            lambda rv=closed: rv.sql(""),
            lambda rv=closed: rv.refresh_all(),
            lambda rv=closed: rv.refresh("v"),
            lambda rv=closed: rv.table("t"),
            lambda rv=closed: rv.create("v", "SELECT 1 AS a"),
            lambda rv=closed: rv.explain("v"),
            lambda rv=closed: rv.spark,
        ):
            with pytest.raises(UserError, match="This session is closed"):
                use()  # type: ignore[no-untyped-call]
    again = connect(f"duckdb:{tmp_path / 'file.db'}")  # DuckDB lets go of the file
    assert again.tables() == ["t"]


def test_a_session_is_closed_if_its_block_fails(store: EmbeddedStore) -> None:
    store.drop("raw")
    rv = connect(store.root)
    with pytest.raises(SchemaChanged), rv:
        rv.refresh("silver")
    with pytest.raises(UserError, match="This session is closed"):
        rv.tables()


@pytest.mark.spark
def test_spark_ends_with_the_last_session_that_uses_it(tmp_path: Path) -> None:
    """In a process of its own: this one may have a Spark that is not ours."""
    script = textwrap.dedent(f"""
        import rollview
        from pyspark.sql import SparkSession
        folder = {str(tmp_path / "made")!r}
        running = lambda: SparkSession.getActiveSession() is not None
        one, two, never = rollview.connect(folder), rollview.connect(folder), rollview.connect(folder)
        assert not running()
        one.sql("CREATE TABLE t (id INT); INSERT INTO t VALUES (1)")
        assert two.table("t").count() == 1 and two.spark is not one.spark
        one.close()
        assert running() and two.sql("SELECT * FROM t").count() == 1
        never.close()
        assert running()
        two.close()
        assert not running()
        with rollview.connect(folder) as again:
            assert again.table("t").count() == 1
        assert not running()
        given = SparkSession.builder.master("local[1]").getOrCreate()
        for each in (rollview.connect(folder), rollview.connect(folder, spark=given)):
            with each:
                assert each.table("t").count() == 1
        assert given.range(3).count() == 3
        print("held")
    """)
    done = subprocess.run([sys.executable, "-c", script], env=os.environ, capture_output=True, text=True, check=False)
    assert done.stdout == "held\n", done.stderr
