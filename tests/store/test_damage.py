"""Damage stays where it is: what cannot be read is listed, and can be dropped or repaired; all else goes on."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from compare import rows
from folder import make_folder, touch
from rollview import Rollview, UserError, connect
from rollview.cli.main import app
from rollview.engine.sources import LocalSpark
from rollview.errors import (
    BadName,
    Damaged,
    InUse,
    NotAWarehouse,
    RollviewError,
    StorageFailed,
    TableNotFound,
    VersionGone,
    ViewNotFound,
)
from rollview.store.embedded import EmbeddedStore
from rollview.store.embedded.checks import check_key
from rollview.store.embedded.entries import too_few
from rollview.store.embedded.files import write_rows
from rollview.store.embedded.log import Log
from rollview.store.protocol import NO_STAMP
from rollview.store.row_counts import RowCounts
from stores import KINDS, need_delta

# what can happen to a log


def log_of(table: Path) -> list[Path]:
    return sorted((table / "_delta_log").glob("*.json"))


def truncated(table: Path) -> None:
    last = log_of(table)[-1]
    last.write_bytes(last.read_bytes()[:-30])


def emptied(table: Path) -> None:
    log_of(table)[-1].write_bytes(b"")


def blank(table: Path) -> None:
    log_of(table)[-1].write_text("\n  \n{}\n")


def no_json(table: Path) -> None:
    log_of(table)[-1].write_text("hello\n")


def no_text(table: Path) -> None:
    log_of(table)[-1].write_bytes(b"\xff\xfe\x00")


def no_object(table: Path) -> None:
    log_of(table)[-1].write_text("[1]\n")


def no_beginning(table: Path) -> None:
    log_of(table)[0].unlink()


def no_data(table: Path) -> None:
    for file in table.rglob("*.parquet"):
        if "_change_data" not in file.parts:
            file.unlink()


STORES: tuple[Literal["embedded", "delta"], ...] = ("embedded", "delta")

LAST_ENTRY = [truncated, emptied, blank, no_json, no_text, no_object]


def small_table(folder: Path) -> Path:
    for number in range(3):
        write_deltalake(str(folder), pa.table({"id": [number]}), mode="append")
    return folder


@pytest.mark.parametrize("harm", LAST_ENTRY)
def test_a_damaged_last_entry_is_named_and_is_no_raw_error(harm: Callable[[Path], None], tmp_path: Path) -> None:
    log = Log(small_table(tmp_path / "t"))
    assert (log.snapshot().version, log.info(2).version) == (2, 2)
    harm(log.root)
    for read in (
        log.snapshot,
        lambda: log.info(2),
        lambda: log.actions(2),
        log.check,
        lambda: Log(log.root).snapshot(),
    ):
        with pytest.raises(
            Damaged, match=r"The table t is damaged\nWhy: its log entry 0{19}2\.json (.|\n)*DROP TABLE t"
        ):
            read()
    assert log.exists()
    assert log.snapshot(1).version == 1  # what was before is there


def without_lines(table: Path, number: int) -> None:
    """Cuts an entry at the end of a line: what is left can be read."""
    entry = log_of(table)[number]
    entry.write_text("".join(entry.read_text().splitlines(keepends=True)[:-1]))


EARLIER: list[tuple[Callable[[Path], object], str]] = [
    (no_beginning, r"its log entry 0{20}\.json is missing"),
    (lambda table: log_of(table)[1].unlink(), r"its log entry 0{19}1\.json is missing"),
    (lambda table: log_of(table)[1].write_bytes(b""), r"its log entry 0{19}1\.json is empty"),
    (lambda table: log_of(table)[1].write_text("{"), r"its log entry 0{19}1\.json "),
    (lambda table: without_lines(table, 1), r"its log entry 0{19}1\.json has \d+ bytes, and had \d+ when"),
    (lambda table: without_lines(table, 2), r"its log entry 0{19}2\.json has \d+ bytes, and had \d+ when"),
]


@pytest.mark.parametrize(("harm", "said"), EARLIER)
def test_any_entry_that_is_lost_or_cut_after_it_was_read_is_damage(
    harm: Callable[[Path], object], said: str, tmp_path: Path
) -> None:
    log = Log(small_table(tmp_path / "t"))
    log.check()
    assert log.snapshot().version == 2
    whole = {entry: entry.read_bytes() for entry in log_of(log.root)}
    harm(log.root)
    reading: list[Callable[[], object]] = [log.snapshot, log.check]
    if "when" not in said:
        reading.append(lambda: Log(log.root).snapshot())
    for read in reading:
        with pytest.raises(Damaged, match=rf"The table t is damaged\nWhy: {said}(.|\n)*restore the file") as caught:
            read()
        assert "kernel" not in str(caught.value).lower()
    for entry, text in whole.items():
        entry.write_bytes(text)
    log.check()
    assert log.snapshot().version == 2


def test_another_table_of_the_same_name_with_shorter_entries_is_whole(tmp_path: Path) -> None:
    log = Log(small_table(tmp_path / "t"))
    assert log.snapshot().version == 2
    shutil.rmtree(log.root)
    for _ in range(2):
        write_deltalake(str(log.root), pa.table({"i": pa.array([None], pa.int8())}), mode="append")
    log.check()
    assert log.snapshot().version == 1


@pytest.mark.parametrize("number", [0, 1, 2])
def test_an_entry_of_rollview_tells_a_new_session_that_it_was_cut(number: int, tmp_path: Path) -> None:
    make_folder(tmp_path)
    store = EmbeddedStore(LocalSpark(), tmp_path)
    touch(store, "raw")
    touch(store, "raw")
    without_lines(tmp_path / "raw", number)
    log = Log(tmp_path / "raw")
    for read in (log.snapshot, log.check, lambda: log.actions(number), lambda: log.info(number)):
        with pytest.raises(Damaged, match=rf"log entry 0{{19}}{number}\.json has \d actions and should have \d"):
            read()


def entry_of_delta(operation: str, told: dict[str, str], *actions: dict[str, object], **parameters: str) -> list[Any]:
    """The actions of an entry as Delta's own writer writes them."""
    info = {"operation": operation, "operationMetrics": told, "operationParameters": parameters}
    return [{"commitInfo": {**info, "engineInfo": "Apache-Spark/4.1.0 Delta-Lake/4.1.0"}}, *actions]


ADDED: dict[str, object] = {"add": {"path": "a", "stats": '{"numRecords":2}'}}
REMOVED: dict[str, object] = {"remove": {"path": "b"}}
FEED: dict[str, object] = {"cdc": {"path": "c"}}
TOLD = {"numAddedFiles": "1", "numRemovedFiles": "2", "numAddedChangeFiles": "1"}
MERGED = {"numTargetFilesAdded": "1", "numTargetFilesRemoved": "2", "numTargetChangeFilesAdded": "0"}

CUT = [
    (entry_of_delta("WRITE", {"numFiles": "2", "numOutputRows": "4"}, ADDED, ADDED), "adds 2 rows and should add 4"),
    (entry_of_delta("CREATE TABLE AS SELECT", {"numOutputRows": "2"}, ADDED), "adds 0 rows and should add 2"),
    (entry_of_delta("UPDATE", TOLD, ADDED, REMOVED, REMOVED, FEED), "has 0 cdc actions and should have 1"),
    (entry_of_delta("DELETE", TOLD, FEED, ADDED, REMOVED, REMOVED), "has 1 remove actions and should have 2"),
    (entry_of_delta("MERGE", MERGED, REMOVED, REMOVED, ADDED), "has 0 add actions and should have 1"),
]


@pytest.mark.parametrize(("actions", "said"), CUT)
def test_an_entry_of_deltas_own_writer_tells_that_it_was_cut(actions: list[Any], said: str) -> None:
    assert too_few(actions) == ""
    assert too_few(actions[:-1]) == said


WHOLE = [
    entry_of_delta("WRITE", {"numFiles": "1", "numOutputRows": "0"}),  # an empty file is not added
    entry_of_delta(
        "WRITE", {"numOutputRows": "9"}, ADDED, mode="Overwrite", predicate="[]"
    ),  # counts those of the feed
    entry_of_delta("WRITE", {"numOutputRows": "9"}, {"add": {"path": "a"}}),  # no statistics
    entry_of_delta("MERGE", MERGED | {"numTargetFilesAdded": "2"}, ADDED, REMOVED),  # tried twice
    entry_of_delta("SET TBLPROPERTIES", {}, {"metaData": {}}),
    [{"commitInfo": {"engineInfo": "Delta-Lake/4.1.0", "operation": "WRITE"}}, ADDED],
]


@pytest.mark.parametrize("actions", WHOLE)
def test_an_entry_of_which_less_is_told_than_it_seems_is_whole(actions: list[Any]) -> None:
    assert too_few(actions) == ""


def test_an_unreadable_checkpoint_is_named(tmp_path: Path) -> None:
    log = Log(small_table(tmp_path / "t"))
    DeltaTable(log.root.as_uri()).create_checkpoint()
    assert log.snapshot().version == 2
    (checkpoint,) = (log.root / "_delta_log").glob("*.checkpoint.parquet")
    for text in (b"", b"hello"):
        checkpoint.write_bytes(text)
        with pytest.raises(Damaged, match=r"Why: the checkpoint 0{19}2\.checkpoint\.parquet of its log cannot be read"):
            log.snapshot()


def test_a_table_that_was_read_is_looked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "t"
    for number in range(25):
        write_deltalake(str(root), pa.table({"id": [number]}), mode="append")
        if number == 20:
            DeltaTable(str(root)).create_checkpoint()
    log = Log(root)
    log.check()
    newest = log.snapshot()
    looks: list[str] = []
    scandir = os.scandir

    def look(path: Path, *_: object, **__: object) -> Any:
        looks.append(str(path))
        return scandir(path)

    for name in ("os.scandir", "pathlib.Path.read_bytes", "pathlib.Path.read_text"):
        monkeypatch.setattr(name, look)
    assert log.snapshot() is newest
    assert looks == [str(root / "_delta_log")]
    log.check()
    assert looks == [str(root / "_delta_log")] * 2


def test_a_line_separator_inside_a_text_does_not_end_an_action(tmp_path: Path) -> None:
    log = Log(small_table(tmp_path / "t"))
    entry = log_of(log.root)[-1]
    entry.write_text(json.dumps({"commitInfo": {"note": "a\u2028b"}}, ensure_ascii=False) + "\n", encoding="utf-8")
    assert log.actions(2) == [{"commitInfo": {"note": "a\u2028b"}}]


# views without Spark: their logs tell what they are


def folder_of_views(folder: Path) -> Rollview:
    """A folder with the tables t and u and the views v over t, w over u and x over v, as their logs tell of them."""
    made = connect("duckdb:")
    made.sql("CREATE TABLE t (id INT, g STRING, PRIMARY KEY (id)); INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    made.sql("CREATE TABLE u (id INT, PRIMARY KEY (id)); INSERT INTO u VALUES (1)")
    made.create("v", "SELECT g, count(*) AS n FROM t GROUP BY g", comment="counts")
    made.create("w", "SELECT id FROM u")
    made.create("x", "SELECT g FROM v")
    ids: dict[str, str] = {}
    for table in ("t", "u", "__rollview__v", "__rollview__w", "__rollview__x"):
        path = folder / table
        commit = made.store.last_commit(table)
        vector = {t: [ids[t], 0] for t in commit.metadata.get("rollview.vector", {})}
        metadata = {**commit.metadata, "rollview.vector": vector} if vector else {}
        write_deltalake(str(path), pa.table({"id": pa.array([1], pa.int32())}))
        entry = log_of(path)[0]
        actions = [json.loads(line) for line in entry.read_text().splitlines()]
        for action in actions:
            if "commitInfo" in action:
                action["commitInfo"] |= {"userMetadata": json.dumps(metadata)}
            if "metaData" in action:
                action["metaData"]["configuration"] = dict(made.store.properties(table))
                ids[table.removeprefix("__rollview__")] = action["metaData"]["id"]
        entry.write_text("".join(json.dumps(action) + "\n" for action in actions))
    return connect(folder)


@pytest.mark.parametrize("harm", [truncated, emptied, no_json, no_text])
def test_a_damaged_view_is_listed_and_dropped_and_the_others_are_as_they_were(
    harm: Callable[[Path], None], tmp_path: Path
) -> None:
    rv = folder_of_views(tmp_path)
    assert [(view.name, view.damage, view.fresh) for view in rv.views()] == [
        ("v", None, True),
        ("w", None, True),
        ("x", None, True),
    ]
    harm(tmp_path / "__rollview__x")
    found = {view.name: view for view in rv.views()}
    assert [found[name].damage for name in ("v", "w")] == [None, None]
    assert "log" in (found["x"].damage or "")
    assert (found["x"].fresh, found["x"].last_refresh, found["v"].fresh) == (False, None, True)
    with pytest.raises(Damaged, match=r"The materialized view x is damaged(.|\n)*REFRESH MATERIALIZED VIEW x FULL"):
        rv.refresh("x")
    assert [rv.refresh(name).strategy for name in ("v", "w")] == ["no_op", "no_op"]
    assert {each.view: each.ok for each in rv.refresh_all()} == {"v": True, "w": True, "x": False}
    shown = CliRunner().invoke(app, ["status", "-w", str(tmp_path)])
    assert "damaged" in shown.stdout
    assert shown.exit_code == 0
    rv.drop("w")
    rv.drop("x")
    assert [view.name for view in rv.views()] == ["v"]
    with pytest.raises(ViewNotFound):
        rv.refresh("x")
    assert not list(tmp_path.glob(".dropped-*"))


@pytest.mark.parametrize("left", [0, 100])
def test_a_data_file_that_is_cut_off_is_damage(left: int, tmp_path: Path) -> None:
    rv = folder_of_views(tmp_path)
    (file,) = (tmp_path / "u").glob("*.parquet")
    file.write_bytes(file.read_bytes()[:left])
    assert f"has {left} bytes and should have" in str(rv.store.damage("u"))
    with pytest.raises(Damaged, match="The table u is damaged"):
        rv.store.read("u")
    assert "The table u is damaged" in ({view.name: view.damage for view in rv.views()}["w"] or "")


def test_views_over_a_damaged_table_say_which_and_can_be_dropped(tmp_path: Path) -> None:
    rv = folder_of_views(tmp_path)
    no_data(tmp_path / "u")
    truncated(tmp_path / "t")
    found = {view.name: view.damage or "" for view in rv.views()}
    assert found["v"].startswith("The table t is damaged: its log entry")
    assert found["w"].startswith("The table u is damaged: its data file part-")
    assert found["x"] == ""
    assert not any(view.fresh for view in rv.views())  # x shows what v shows, and v is not known to be fresh
    with pytest.raises(Damaged, match="The table t is damaged"):
        rv.refresh("v")
    assert rv.tables() == ["t", "u"]
    rv.drop("w")
    rv.answer("DROP TABLE t")
    assert rv.tables() == ["u"]


def test_a_view_is_not_behind_because_rows_that_it_shows_are_lost_below_it(tmp_path: Path) -> None:
    """Its own refresh says that nothing has changed, and that is true: the view shows the newest version."""
    rv = folder_of_views(tmp_path)
    no_data(tmp_path / "t")
    assert [(rv.refresh(name).strategy, rv.refresh(name).stale) for name in ("v", "x")] == [("no_op", ())] * 2
    found = {view.name: view for view in rv.views()}
    assert (found["v"].fresh, found["x"].fresh, found["x"].stale) == (False, True, ())  # v is listed as damaged
    assert "its data file" in (found["v"].damage or "")
    truncated(tmp_path / "t")
    result = rv.refresh("x")
    assert (result.strategy, result.stale) == ("no_op", ("v",))
    assert "upstream, v cannot be refreshed (The table t is damaged: its log entry" in result.explanation
    assert "v cannot be refreshed (The table t is damaged: its log entry" in rv.explain("x")
    told = json.loads(CliRunner().invoke(app, ["status", "--json", "-w", str(tmp_path)]).stdout)
    assert [list(each["stuck"]) for each in told if each["name"] == "x"] == [["v"]]


def test_a_damaged_view_that_reads_another_still_keeps_it(tmp_path: Path) -> None:
    rv = folder_of_views(tmp_path)
    truncated(tmp_path / "__rollview__x")
    with pytest.raises(UserError, match="x read it"):
        rv.drop("v")
    rv.drop("x")
    rv.drop("v")


# a view without a definition, on DuckDB


def test_a_view_whose_definition_is_lost_is_replaced(tmp_path: Path) -> None:
    rv = connect("duckdb:")
    rv.sql("CREATE TABLE t (id INT, g STRING, PRIMARY KEY (id)); INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    rv.create("v", "SELECT g, count(*) AS n FROM t GROUP BY g")
    rv.create("w", "SELECT n FROM v")
    rv.create("other", "SELECT id FROM t")
    for lost in ("{}", '{"rollview.view": "{}"}', '{"rollview.view": "no json"}', "no json"):
        rv.store.data.db.execute("UPDATE rv_meta.tables SET properties = ? WHERE name = '__rollview__v'", [lost])  # type: ignore[attr-defined]
        rv.store.data.forget()  # type: ignore[attr-defined]
        found = {view.name: view.damage or "" for view in rv.views()}
        assert found["other"] == ""
        assert found["w"].startswith("The materialized view v is damaged: its ")
        assert [row[0] for row in rows(rv.sql("SHOW MATERIALIZED VIEWS")) if row[-1]] == ["v", "w"]
        with pytest.raises(Damaged, match=r"its definition is lost(.|\n)*CREATE OR REPLACE MATERIALIZED VIEW v AS"):
            rv.refresh("v", full=True)
        with pytest.raises(InUse, match="other columns"):
            rv.create("v", "SELECT id FROM t", or_replace=True)
        assert rv.create("v", "SELECT g, count(*) AS n FROM t GROUP BY g", or_replace=True).reason == "replaced"
        assert rv.verify("v").ok
        rv.sql("INSERT INTO t SELECT max(id) + 1, 'a' FROM t")
        assert rv.refresh("v").strategy == "aggregate_merge"


def test_verify_reports_each_view_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rv = connect("duckdb:")
    rv.sql("CREATE TABLE t (id INT, PRIMARY KEY (id)); INSERT INTO t VALUES (1), (2)")
    for name in ("a", "b", "c"):
        rv.create(name, "SELECT id FROM t")
    rv.store.data.db.execute("UPDATE rv_meta.tables SET properties = '{}' WHERE name = '__rollview__a'")  # type: ignore[attr-defined]
    rv.store.data.forget()  # type: ignore[attr-defined]
    found = {each.view: each for each in rv.verify_all()}
    assert {name: (each.ok, each.error is None) for name, each in found.items()} == {
        "a": (False, False), "b": (True, True), "c": (True, True),
    }  # fmt: skip
    assert isinstance(found["a"].error, Damaged)
    assert [each.view for each in rv.verify_all(["c", "b", "c"])] == ["c", "b"]
    with pytest.raises(ViewNotFound):
        rv.verify_all(["b", "none"])
    with pytest.raises(Damaged):
        rv.verify("a")
    monkeypatch.setattr("rollview.cli.app.connect", lambda *_, **__: rv)
    shown = CliRunner().invoke(app, ["verify", "-w", str(tmp_path)])
    assert shown.exit_code == 1
    verdicts = [line.split() for line in shown.stdout.splitlines()]
    assert [row for row in verdicts if row and row[0] in "abc"] == [
        ["a", "failed"], ["b", "equal", "0", "0"], ["c", "equal", "0", "0"],
    ]  # fmt: skip
    assert "error: a: The materialized view a is damaged" in shown.stderr
    told = json.loads(CliRunner().invoke(app, ["verify", "--json", "-w", str(tmp_path)]).stdout)
    assert [(each["view"], each["ok"], each.get("error")) for each in told] == [
        ("a", False, "damaged"), ("b", True, None), ("c", True, None),
    ]  # fmt: skip
    rv.store.data.db.execute("DELETE FROM rv_data.__rollview__b")  # type: ignore[attr-defined]
    assert CliRunner().invoke(app, ["verify", "-w", str(tmp_path)]).exit_code == 3
    assert CliRunner().invoke(app, ["verify", "a", "-w", str(tmp_path)]).exit_code == 1


# what the file system or the caller does wrong


@pytest.mark.parametrize("address", ["s3://bucket/x", "s3a://bucket/x", "abfss://c@a.dfs.core.windows.net/x",
                                     "hdfs:/x", "file:///tmp/x", "dbfs:/x", "jdbc:postgresql://h/d"])  # fmt: skip
def test_an_address_is_no_folder(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for given in (address, Path(address)):
        for store in STORES:
            with pytest.raises(NotAWarehouse, match=r"scheme of an address(.|\n)*connect\(spark=spark\)"):
                connect(given, store=store)
    assert not list(tmp_path.iterdir())


def test_what_is_no_text_is_told_as_that(tmp_path: Path) -> None:
    rv = connect("duckdb:")
    calls: list[Callable[[], Any]] = [
        lambda: rv.create("v", rv.sql("SELECT 1 AS a")),  # type: ignore[arg-type]
        lambda: rv.create(None, "SELECT 1 AS a"),  # type: ignore[arg-type]
        lambda: rv.create("v", "SELECT 1 AS a", policy=5),  # type: ignore[arg-type]
        lambda: rv.sql(None),  # type: ignore[arg-type]
        lambda: rv.refresh(5),  # type: ignore[arg-type]
        lambda: rv.table(["v"]),  # type: ignore[arg-type]
        lambda: rv.verify(None),  # type: ignore[arg-type]
        lambda: rv.explain(5),  # type: ignore[arg-type]
        lambda: rv.drop(b"v"),  # type: ignore[arg-type]
        lambda: rv.declare_deterministic(5),  # type: ignore[arg-type]
        lambda: connect(5),  # type: ignore[arg-type]
    ]
    for call in calls:
        with pytest.raises(UserError) as caught:
            call()
        assert caught.value.todo
        assert caught.value.code in ("user_error", "not_a_warehouse")


def test_a_folder_that_cannot_be_made_or_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(RollviewError, match="cannot be made"):
        connect(tmp_path / "file" / "warehouse")
    log = Log(small_table(tmp_path / "t"))

    def refused(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", str(log.root))

    with monkeypatch.context() as patch:
        patch.setattr("os.link", refused)
        with pytest.raises(StorageFailed, match=r"t cannot be written\nWhy: Permission denied: .*\nWhat to do"):
            log.commit(3, [], "WRITE", NO_STAMP, RowCounts())
    assert log.latest() == 2
    with monkeypatch.context() as patch:
        patch.setattr("os.scandir", refused)
        with pytest.raises(Damaged, match="its log cannot be read: Permission denied"):
            log.snapshot()
        assert log.exists()


def test_a_table_whose_folder_is_a_file_is_not_there(tmp_path: Path) -> None:
    rv = connect(tmp_path / "w")
    (tmp_path / "w" / "t").write_text("x")
    assert rv.tables() == []
    assert not rv.store.exists("t")


def test_drop_says_what_it_could_not_remove(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rv = folder_of_views(tmp_path)

    def refused(path: Path, *_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    with monkeypatch.context() as patch:
        patch.setattr("os.rename", refused)
        with pytest.raises(StorageFailed, match="u cannot be dropped; it is as it was"):
            rv.sql("DROP TABLE u")
    assert rv.tables() == ["t", "u"]
    with monkeypatch.context() as patch:
        patch.setattr("shutil.rmtree", refused)
        with pytest.raises(StorageFailed, match=r"u is dropped, but not all of its files(.|\n)*\.dropped-"):
            rv.sql("DROP TABLE u")
    assert rv.tables() == ["t"]


def test_the_name_of_a_log_is_no_table(tmp_path: Path) -> None:
    rv = connect(tmp_path / "w")
    for sql in ("CREATE TABLE `_delta_log` (a INT)", "CREATE MATERIALIZED VIEW `_DELTA_LOG` AS SELECT 1 AS a"):
        with pytest.raises(BadName, match="the folder of a table's log"):
            rv.sql(sql)


def test_an_old_version_whose_file_is_gone_is_gone_and_the_newest_is_damaged(tmp_path: Path) -> None:
    rv = folder_of_views(tmp_path)
    assert rv.store.damage("t") is None
    no_data(tmp_path / "t")
    with pytest.raises(Damaged, match=r"The table t is damaged\nWhy: its data file part-.* is missing in .*/t"):
        rv.store.read("t")
    with pytest.raises(VersionGone):
        rv.store.read("t", 7)


def test_a_file_that_cannot_be_read_is_named_when_keys_are_compared(tmp_path: Path) -> None:
    new, kept = (write_rows(pa.table({"id": [1]}), tmp_path).path for _ in range(2))
    path = tmp_path / kept
    for harm, why in ((lambda: path.write_bytes(b"PAR1"), "cannot be read"), (path.unlink, f"{kept} is missing in")):
        harm()
        with pytest.raises(Damaged, match=f"The table t is damaged\nWhy: its data file.* {why}"):
            check_key("t", ["id"], [str(path)], [str(tmp_path / new)])


# on Spark: rows are read, and what is damaged is stored again


def test_a_lost_file_of_a_keyed_table_that_was_read_is_damage(rv: Rollview) -> None:
    rv.sql("CREATE TABLE t (id INT, v STRING, PRIMARY KEY (id))")
    for number in range(3):
        rv.sql(f"INSERT INTO t VALUES ({number}, 'a')")
    assert rows(rv.sql("SELECT count(*) FROM t")) == [(3,)]
    no_data(folder_of(rv, "t"))
    for sql in ("INSERT INTO t VALUES (200, 'b')", "UPDATE t SET v = 'b'", "DELETE FROM t WHERE id = 2"):
        with pytest.raises(Damaged, match=r"The table t is damaged\nWhy: its data file .* is missing in .*t"):
            rv.sql(sql)


def test_an_insert_through_delta_that_was_cut_is_damage(opened: Callable[..., Rollview]) -> None:
    rv = opened("delta")
    rv.sql("CREATE TABLE t (id INT); INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)")
    rv.close()
    without_lines(folder_of(opened("embedded"), "t"), -1)
    for path in log_of(folder_of(opened("embedded"), "t"))[-1].parent.glob("*.crc"):
        path.unlink()
    for kind in KINDS:
        with pytest.raises(Damaged, match=r"its log entry 0*2\.json adds 0 rows and should add 1"):
            opened(kind).sql("SELECT * FROM t").collect()


def two_views(rv: Rollview) -> Rollview:
    rv.sql("CREATE TABLE t (id INT, g STRING, PRIMARY KEY (id)); INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    rv.sql("CREATE TABLE u (id INT, PRIMARY KEY (id)); INSERT INTO u VALUES (1)")
    rv.create("v", "SELECT g, count(*) AS n FROM t GROUP BY g", comment="counts")
    rv.create("w", "SELECT id FROM u")
    return rv


def folder_of(rv: Rollview, table: str) -> Path:
    return Path(rv.store.root / table)  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_damaged_is_stored_again(kind: str, opened: Callable[..., Rollview]) -> None:
    rv = two_views(opened(kind))
    for number, harm in enumerate((truncated, emptied)):
        rv.sql(f"INSERT INTO t VALUES ({number + 3}, 'a')")
        rv.refresh("v")
        harm(folder_of(rv, "__rollview__v"))
        for read in (
            lambda: rv.refresh("v"),
            lambda: rv.table("v"),
            lambda: rv.sql("SELECT * FROM v"),
            lambda: rv.verify("v"),
        ):
            with pytest.raises(Damaged, match=r"The materialized view v is damaged\nWhy: its log entry"):
                read()
        assert rows(rv.sql("SELECT * FROM w")) == [(1,)]
        if number:
            assert rv.create("v", "SELECT g, count(*) AS n FROM t GROUP BY g", or_replace=True).reason == "replaced"
        else:
            assert rv.sql("REFRESH MATERIALIZED VIEW v FULL").collect()[0].reason == "damaged"
        assert rows(rv.sql("SELECT * FROM v")) == [("a", 2 + number), ("b", 1)]
        assert rv.verify("v").ok
    assert not list(folder_of(rv, "t").parent.glob(".*-*"))
    no_data(folder_of(rv, "__rollview__v"))
    assert "data file" in (rv.views()[0].damage or "")
    with pytest.raises(Damaged, match=r"its data file .* is missing in .*__rollview__v"):
        rv.sql("SELECT * FROM v")
    result = rv.refresh("v")
    assert (result.strategy, result.reason) == ("full", "damaged")
    assert rows(rv.sql("SELECT * FROM v")) == [("a", 3), ("b", 1)]
    assert all(view.fresh for view in rv.views())
    # a session that has read the rows of a table does not go on showing them
    assert rows(rv.sql("SELECT count(*) FROM t")) == [(4,)]
    emptied(folder_of(rv, "t"))
    for sql in ("SELECT * FROM t", "INSERT INTO t VALUES (9, 'z')", "UPDATE t SET g = 'q'", "SELECT * FROM u, t"):
        with pytest.raises(Damaged, match=r"The table t is damaged\nWhy: its log entry \d+\.json is empty"):
            rv.sql(sql)
    assert rows(rv.sql("SELECT id AS t FROM u")) == [(1,)]
    assert "The table t is damaged" in (rv.views()[0].damage or "")
    with pytest.raises(Damaged, match="The table t is damaged"):
        rv.refresh("v", full=True)
    rv.drop("v")
    rv.sql("DROP TABLE t; CREATE TABLE t (id INT); INSERT INTO t VALUES (7)")
    assert rows(rv.sql("SELECT * FROM t")) == [(7,)]


@pytest.mark.parametrize(("one", "other"), [("embedded", "embedded"), ("delta", "delta"), ("embedded", "delta")])
def test_a_name_means_what_the_warehouse_that_is_asked_says(
    one: str, other: str, spark: SparkSession, tmp_path: Path
) -> None:
    if "delta" in (one, other):
        need_delta(spark)
    session = spark.newSession()
    a = connect(tmp_path / "a", spark=session, store=one)  # type: ignore[arg-type]
    b = connect(tmp_path / "b", spark=session, store=other)  # type: ignore[arg-type]
    for rv, first in ((a, 1), (b, 100)):
        rv.sql(f"CREATE TABLE both (id INT); INSERT INTO both VALUES ({first})")
        rv.create("seen", "SELECT id + 1 AS id FROM both")
    a.sql("CREATE TABLE mine (id INT); INSERT INTO mine VALUES (5)")
    a.sql("CREATE TABLE `my own` (id INT); INSERT INTO `my own` VALUES (5)") if one == "embedded" else None
    a.create("just_here", "SELECT id FROM mine")
    for _ in range(2):
        for rv, first in ((a, 1), (b, 100)):
            assert rows(rv.sql("SELECT both.id, seen.id FROM both, seen")) == [(first, first + 1)]
        assert rows(a.sql("SELECT * FROM mine UNION ALL SELECT * FROM just_here")) == [(5,), (5,)]
        for sql in (
            "SELECT * FROM mine",
            "INSERT INTO both SELECT * FROM mine",
            "SELECT * FROM just_here",
            "SELECT * FROM `my own`",
            "UPDATE both SET id = 0 WHERE id IN (SELECT id FROM mine)",
        ):
            with pytest.raises(TableNotFound):
                b.sql(sql)
        assert b.tables() == ["both"]
    frame = a.sql("SELECT * FROM both")  # what was asked of one is not what the other says
    b.sql("SELECT * FROM both")
    assert rows(frame) == [(1,)]
    session.range(3).createOrReplaceTempView("of_the_user")
    assert a.sql("SELECT * FROM of_the_user").count() == b.sql("SELECT * FROM of_the_user").count() == 3
    with ThreadPoolExecutor(max_workers=4) as pool:
        asked = [a, b] * 6
        found = pool.map(lambda rv: rows(rv.sql("SELECT min(id) FROM both")), asked)
        assert list(found) == [[(1 if rv is a else 100,)] for rv in asked]


@pytest.mark.parametrize(
    ("store", "kind"),
    [("embedded", "classic"), ("embedded", "connect"), pytest.param("delta", "connect", marks=pytest.mark.slow)],
)
def test_rows_that_are_fetched_later_are_those_of_the_warehouse_that_was_asked(
    store: str, kind: str, opened: Callable[..., Rollview], tmp_path: Path
) -> None:
    a, b = (opened(store, kind, tmp_path / name) for name in "ab")
    for rv, first in ((a, 1), (b, 100)):
        rv.sql(f"CREATE TABLE t (id INT); INSERT INTO t VALUES ({first})")
        rv.create("v", "SELECT id + 1 AS id FROM t")
        rv.create("odd name", "SELECT id + 2 AS id FROM t")
    odd = [rv.sql("SELECT `odd name`.id FROM `odd name`, t") for rv in (a, b)]
    assert [rows(frame) for frame in odd] == [[(3,)], [(102,)]]
    asked = [rv.sql("WITH t2 AS (SELECT id FROM t) SELECT t2.id, V.id AS v FROM t2, v AS V") for rv in (a, b)]
    assert [rows(frame) for frame in asked] == [[(1, 2)], [(100, 101)]]
    assert rows(a.sql("SELECT count(*) FROM t TABLESAMPLE (100 PERCENT)")) == [(1,)]
