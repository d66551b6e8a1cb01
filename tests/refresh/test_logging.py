"""The logger ``rollview`` reports the strategy of each refresh, CREATE and apply at level INFO, once."""

from __future__ import annotations

import logging

import pytest

from rollview import Rollview, connect


@pytest.fixture
def rv() -> Rollview:
    rv = connect("duckdb:")
    rv.sql("CREATE TABLE t (id INT, n INT, unused INT, PRIMARY KEY (id)); INSERT INTO t VALUES (1, 1, 1)")
    rv.create("v", "SELECT id, n FROM t")
    return rv


def logged(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The messages at level INFO since the last call."""
    found = [record.getMessage() for record in caplog.records if record.levelno == logging.INFO]
    caplog.clear()
    return found


def test_the_strategy_of_each_refresh_is_logged(rv: Rollview, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "rollview")
    no_op = "v: no_op, because it already shows these versions"
    for sql, message in (
        (None, no_op),
        ("INSERT INTO t VALUES (2, 2, 2), (3, 3, 3)", "v: append of 2 changed rows"),
        ("UPDATE t SET n = n + 1", "v: row_delta of 6 changed rows"),
        ("UPDATE t SET unused = 0", "v: no_op of 0 changed rows"),
    ):
        if sql is not None:
            rv.sql(sql)
        assert rv.refresh("v").strategy in message
        assert logged(caplog) == [message]
    rv.refresh("v", full=True)
    assert logged(caplog) == ["v: full, because requested"]
    rv.refresh_all()
    rv.refresh("v", upstream=True)
    rv.refresh("v", step_rows=1)
    rv.sql("REFRESH MATERIALIZED VIEW v")
    assert [line for line in logged(caplog) if ": step" not in line] == [no_op] * 4


def test_create_is_logged(rv: Rollview, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "rollview")
    rv.sql("CREATE MATERIALIZED VIEW w AS SELECT n FROM t")
    assert logged(caplog) == ["w: full, because created"]
    rv.sql("CREATE MATERIALIZED VIEW IF NOT EXISTS w AS SELECT n FROM t")
    assert logged(caplog) == ["w: no_op, because it exists"]
    rv.sql("CREATE OR REPLACE MATERIALIZED VIEW w AS SELECT id FROM t")
    assert logged(caplog) == ["w: full, because replaced"]


def test_apply_is_logged(rv: Rollview, caplog: pytest.LogCaptureFixture) -> None:
    begin = rv.propagate("v").mark
    rv.sql("INSERT INTO t VALUES (3, 3, 3)")
    mark = rv.propagate("v").mark
    caplog.set_level(logging.INFO, "rollview")
    assert rv.apply("v").strategy == "apply"
    assert logged(caplog) == [f"v: apply from position {begin} to {mark}, 1 changed row"]
    assert rv.apply("v").strategy == "no_op"
    assert logged(caplog) == [f"v: no_op from position {mark} to {mark}, 0 changed rows"]
    rv.sql("INSERT INTO t VALUES (4, 4, 4)")
    rv.propagate("v")
    assert rv.refresh("v").strategy == "apply"
    assert [line.split(" ")[1] for line in logged(caplog) if "apply" in line or "no_op" in line] == ["apply"]
