"""A table whose log lost its newest entries: the views over it show rows that it never had."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from typer.testing import CliRunner

from compare import rows
from folder import make_folder, shown
from rollview import Rollview, connect
from rollview.cli.main import app
from rollview.engine.sources import LocalSpark
from rollview.errors import NotIncremental
from rollview.store.embedded import EmbeddedStore
from stores import KINDS

VIEW = "SELECT id, v FROM t"


def three_rows(rv: Rollview) -> Rollview:
    rv.sql("CREATE TABLE t (id INT, v STRING, PRIMARY KEY (id))")
    for number in range(3):
        rv.sql(f"INSERT INTO t VALUES ({number}, 'a')")
    rv.create("va", VIEW)
    rv.create("strict", VIEW, policy="INCREMENTAL STRICT")
    rv.create("over", "SELECT count(*) AS n FROM va")
    return rv


def without_last_commit(file: Path) -> None:
    """Takes the newest commit of ``t`` from a DuckDB file, as a copy of the file that is older would."""
    with duckdb.connect(str(file)) as db:
        newest = "(SELECT max(version) FROM rv_meta.commits JOIN rv_meta.tables USING (id) WHERE name = 't')"
        db.execute(f"DELETE FROM rv_data.t WHERE __from = {newest}")
        own = "(SELECT id FROM rv_meta.tables WHERE name = 't')"
        db.execute(f"DELETE FROM rv_meta.commits WHERE id = {own} AND version = {newest}")


def check_followed(rv: Rollview, held: list[tuple[object, ...]]) -> None:
    """The views say that the table went back, and show what it has when they are refreshed."""
    status = {view.name: view for view in rv.views()}
    assert not any(view.fresh for view in status.values())
    assert (status["va"].went_back, status["va"].behind) == (("t",), {"t": None})
    told = rv.explain("va")
    assert "back at an earlier version" in told
    assert "because table_went_back: " in told
    with pytest.raises(NotIncremental, match="table_went_back"):
        rv.refresh("strict")
    result = rv.refresh("va")
    assert (result.strategy, result.reason) == ("full", "table_went_back")
    rv.refresh("strict", full=True)
    rv.refresh_all()
    assert sorted(rows(rv.sql("SELECT * FROM va"))) == held
    assert rows(rv.sql("SELECT * FROM over")) == [(len(held),)]
    assert rv.verify("va").ok
    assert all(view.fresh for view in rv.views())
    assert rv.refresh("va").strategy == "no_op"


def test_views_follow_a_duckdb_table_back(tmp_path: Path) -> None:
    file = tmp_path / "w.duckdb"
    three_rows(connect(f"duckdb:{file}")).close()
    without_last_commit(file)
    rv = connect(f"duckdb:{file}")
    check_followed(rv, [(0, "a"), (1, "a")])
    rv.sql("INSERT INTO t VALUES (7, 'b')")
    assert rv.refresh("va").strategy == "append"
    rv.close()


@pytest.mark.parametrize("more", [1, 2], ids=["the same version", "a later version"])
def test_another_commit_of_the_same_version_is_another(more: int, tmp_path: Path) -> None:
    file = tmp_path / "w.duckdb"
    three_rows(connect(f"duckdb:{file}")).close()
    without_last_commit(file)
    rv = connect(f"duckdb:{file}")
    for number in range(more):
        rv.sql(f"INSERT INTO t VALUES ({70 + number}, 'z')")
    check_followed(rv, [(0, "a"), (1, "a"), *((70 + number, "z") for number in range(more))])
    rv.close()


def test_status_without_spark_says_that_a_log_went_back(tmp_path: Path) -> None:
    store = EmbeddedStore(LocalSpark(), make_folder(tmp_path / "w"))
    entry = tmp_path / "w" / "raw" / "_delta_log" / f"{0:020}.json"
    entry.write_text(entry.read_text().replace('"operation"', '"Operation"'))  # another commit of the same version
    assert shown(store, "raw").version == 0
    told = CliRunner().invoke(app, ["status", "-w", str(store.root)], env={"COLUMNS": "200"}).output
    assert "raw back at an earlier version" in told
    fresh = [line.split()[0] for line in told.splitlines() if " fresh " in line]
    assert fresh == ["other"]


BACK = [(kind, more) for kind in KINDS for more in (0, 1, 2)]


@pytest.mark.parametrize(
    ("kind", "more"),
    [pytest.param(*each, marks=[pytest.mark.slow] * (each in (("delta", 0), ("delta", 1)))) for each in BACK],
)
@pytest.mark.one_in(2)
def test_views_follow_a_log_back(kind: str, more: int, opened: Callable[..., Rollview], tmp_path: Path) -> None:
    three_rows(opened(kind)).close()
    last = tmp_path / "warehouse" / "t" / "_delta_log" / f"{3:020}.json"
    last.unlink()
    last.with_name(f".{last.stem}.json.crc").unlink(missing_ok=True)
    last.with_name(f"{last.stem}.crc").unlink(missing_ok=True)
    rv = opened(kind)
    for number in range(more):
        rv.sql(f"INSERT INTO t VALUES ({70 + number}, 'z')")
    check_followed(rv, [(0, "a"), (1, "a"), *((70 + number, "z") for number in range(more))])
