"""Whatever a user types: an error of rollview or a result, in a moment; and nothing is half done."""

from __future__ import annotations

import contextlib
import re
import time
from dataclasses import dataclass

import pytest

import shop
from odd_statements import statement
from rollview import Rollview, RollviewError, connect
from rollview.engine.duck import DuckEngine, DuckFrame
from rollview.parse.names import quote
from rollview.store.protocol import Identity
from rollview.views.definition import View
from seeds import sample

#: Where the five hundred statements of a test begin.
FIRSTS = range(0, 2000, 500)

_SPARE = (
    "CREATE TABLE spare (id INT, name STRING, x DOUBLE, d DATE);"
    "INSERT INTO spare VALUES (1, 'one', 1.5, DATE'2025-01-01'), (2, NULL, NULL, NULL)"
)
_VIEWS = (
    "CREATE MATERIALIZED VIEW paid AS SELECT order_id, status FROM orders WHERE status = 'paid';"
    "CREATE MATERIALIZED VIEW pages AS SELECT page, count(*) AS n FROM visits GROUP BY page;"
    "CREATE MATERIALIZED VIEW cities AS SELECT city, count(*) AS n FROM customers GROUP BY city"
)

#: What no error says, unless the statement does: names of libraries' classes, and of what is rollview's own.
_LEAKS = re.compile(r"sqlglot|<class|<Token|Error tokenizing|Traceback|\brv_\w+|__r\w+|JVM stacktrace|\bat 0x")

#: Seconds that one statement may take, on a busy machine.
_PATIENCE = 10.0


@dataclass(frozen=True)
class Seen:
    """What a warehouse holds: every table, those of views among them, at its version, and the views' definitions."""

    tables: dict[str, Identity]
    views: dict[str, View]

    @staticmethod
    def of(rv: Rollview) -> Seen:
        tables = {table: rv.store.identity(table) for table in rv.store.tables()}
        return Seen(tables, {view.name: view for view in rv.catalog.all()})


def prepared() -> Rollview:
    rv = connect("duckdb:")
    for sql in (*shop.schema(), _SPARE, _VIEWS):
        rv.sql(sql)
    return rv


def contents(rv: Rollview) -> dict[str, list[str]]:
    assert isinstance(rv.engine, DuckEngine)
    return {table: sorted(map(repr, rv.engine.fetch(rv.store.read(table)))) for table in rv.store.tables()}


def check(rv: Rollview, sql: str, before: Seen, what: str) -> None:
    """Runs a statement: it succeeds, or an error of rollview says why not and everything is as it was."""
    begin = time.monotonic()
    failed: RollviewError | None = None
    try:
        rv.sql(sql)
    except RollviewError as error:
        failed = error
    except Exception as error:
        raise AssertionError(f"{what}\n{type(error).__name__}: {error}") from error
    seconds = time.monotonic() - begin
    assert seconds < _PATIENCE, f"{what}\ntook {seconds:.1f} s"
    if failed is not None:
        said = str(failed)
        assert failed.code not in ("internal", "error"), f"{what}\n{said}"
        assert all(leak[0] in sql for leak in _LEAKS.finditer(said)), f"{what}\n{said}"
        if ";" not in sql:  # of a script, the statements before the wrong one are done
            assert Seen.of(rv) == before, f"{what}\nfailed and changed something: {said}"


def swept(rv: Rollview, first: Seen, sql: str) -> tuple[Rollview, Seen]:
    """The warehouse without what a statement has made; a new one if what was there at first is gone or another."""
    for view in rv.views():
        if view.name not in first.views:
            with contextlib.suppress(RollviewError):  # an order that no one looks at may hold an error
                assert rv.verify(view.name).ok, sql
            rv.drop(view.name)
    for table in set(rv.tables()) - first.tables.keys():
        rv.sql(f"DROP TABLE {quote(table)}")
    now = Seen.of(rv)
    same = now.views == first.views and now.tables.keys() == first.tables.keys()
    replaced = {table for table in now.tables if rv.store.last_commit(table).operation == "REPLACE"}
    if same and not replaced:
        return rv, first
    if set(shop.TABLES) <= now.tables.keys() - replaced:
        for view in rv.views():
            rv.drop(view.name)
        rv.sql(f"DROP TABLE IF EXISTS spare; {_SPARE}; {_VIEWS}")
    else:
        rv = prepared()
    return rv, Seen.of(rv)


@pytest.mark.parametrize("first", sample(FIRSTS, 2))
def test_nothing_is_half_done_on_duckdb(first: int) -> None:
    rv = prepared()
    at_first = before = Seen.of(rv)
    rows = contents(rv)
    for seed in range(first, first + 500):
        sql = statement(seed)
        check(rv, sql, before, f"seed {seed}: {sql!r}")
        if Seen.of(rv) != before:
            rv, at_first = swept(rv, at_first, sql)
            before, rows = Seen.of(rv), contents(rv)
        if seed % 100 == 99:
            assert contents(rv) == rows
            assert isinstance(rv.engine, DuckEngine)
            assert rv.engine.fetch(DuckFrame("SELECT table_name FROM duckdb_tables() WHERE temporary")) == []
            rv.sql("INSERT INTO visits VALUES (1, 'odd', 1)")
            assert rv.refresh("pages").rows_written > 0
            assert all(rv.verify(view.name).ok for view in rv.views())
            before, rows = Seen.of(rv), contents(rv)


def test_nothing_is_half_done_on_spark(rv: Rollview) -> None:
    for sql in (*shop.schema(), _SPARE, _VIEWS):
        rv.sql(sql)
    rv.sql(
        "CREATE TABLE steady (a INT); CREATE MATERIALIZED VIEW still AS SELECT a, count(*) AS n FROM steady GROUP BY a"
    )
    for seed in range(10_000, 10_200):
        sql = statement(seed)
        before = Seen.of(rv)
        check(rv, sql, before, f"seed {seed}: {sql!r}")
        if "w" in Seen.of(rv).views:
            rv.drop("w")
    rv.sql("INSERT INTO steady VALUES (1), (1)")
    assert rv.refresh("still").rows_written == 1
    assert all(rv.verify(view.name).ok for view in rv.views() if view.fresh)
