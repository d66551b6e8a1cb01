"""What is particular to the DuckDB store: its metadata is read once, and sessions of one file see each other's commits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

from compare import rows
from rollview import Rollview, connect
from rollview.engine.duck import DuckEngine
from rollview.errors import RollviewError, TableNotFound
from rollview.store.duck import DuckStore


class Recorded:
    """A connection that notes the statements it executes."""

    def __init__(self) -> None:
        self.connection, self.statements = duckdb.connect(), list[str]()

    def execute(self, sql: str, *values: Any) -> Any:
        self.statements.append(sql)
        return self.connection.execute(sql, *values)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.connection, name)


def test_a_refresh_reads_no_metadata_that_the_session_knows() -> None:
    recorded = Recorded()
    engine = DuckEngine(recorded)  # type: ignore[arg-type]
    rv = Rollview(engine, DuckStore(engine))
    rv.sql("CREATE TABLE t (id INT, g INT, PRIMARY KEY (id))")
    rv.sql("CREATE MATERIALIZED VIEW v AS SELECT g, count(*) AS n FROM t GROUP BY g")
    rv.sql("INSERT INTO t VALUES (1, 1), (2, 1)")
    recorded.statements.clear()
    assert rv.refresh("v").strategy == "aggregate_merge"
    asked = [text for text in recorded.statements if text.startswith("SELECT") and "rv_meta" in text]
    assert [text for text in asked if "max(sequence)" not in text and "max(time)" not in text] == []


@pytest.fixture
def two(tmp_path: Path) -> tuple[Rollview, Rollview]:
    return connect(f"duckdb:{tmp_path / 'file.db'}"), connect(f"duckdb:{tmp_path / 'file.db'}")


def test_a_session_sees_the_commits_of_another_one(two: tuple[Rollview, Rollview]) -> None:
    one, other = two
    one.sql("CREATE TABLE t (id INT, PRIMARY KEY (id))")
    one.create("v", "SELECT id FROM t")
    assert one.refresh("v").strategy == "no_op"
    other.sql("INSERT INTO t VALUES (1)")
    assert not one.views()[0].fresh
    assert one.refresh("v").rows_changed == 1
    assert other.refresh("v").strategy == "no_op"
    other.sql("DROP MATERIALIZED VIEW v")
    other.sql("CREATE OR REPLACE TABLE t (id INT, x STRING)")
    assert one.views() == []
    one.sql("INSERT INTO t VALUES (2, 'b')")
    assert rows(other.table("t")) == [(2, "b")]


def test_what_a_failed_statement_did_is_forgotten() -> None:
    rv = connect("duckdb:")
    rv.sql("CREATE TABLE t (id INT, PRIMARY KEY (id))")
    rv.sql("INSERT INTO t VALUES (1)")
    for text in (
        "INSERT INTO t VALUES (1)",
        "INSERT INTO t VALUES (NULL)",
        "CREATE OR REPLACE TABLE t AS SELECT 1 / 'x' AS y",
    ):
        with pytest.raises(RollviewError):
            rv.sql(text)
        assert rows(rv.table("t")) == [(1,)]
        assert rv.store.version("t") == 1
    with pytest.raises(TableNotFound):
        rv.table("u")
