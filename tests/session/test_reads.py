"""The tables that a statement names are known from its text: no word of it is looked up."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from compare import rows
from folder import make_folder
from rollview import Rollview, connect
from rollview.parse.reads import tables_in
from rollview.parse.tables import parse_table_statement
from rollview.store.embedded.folder import Folder
from rollview.store.embedded.log import Log


@pytest.mark.parametrize(
    ("sql", "tables"),
    [
        ("SELECT a.x FROM t AS a JOIN s.u ON a.x = u.y WHERE EXISTS (SELECT 1 FROM v)", {("t",), ("s", "u"), ("v",)}),
        ("WITH c AS (SELECT * FROM t) SELECT * FROM c", {("t",)}),
        ("INSERT INTO t VALUES (1, 'from u'), (2, 'v')", {("t",)}),
        ("INSERT INTO t SELECT * FROM u", {("t",), ("u",)}),
        ("CREATE TABLE t AS SELECT * FROM u", {("u",)}),
        ("CREATE TABLE t (a INT)", set()),
        ("UPDATE t SET a = 1 WHERE b = 'x'", {("t",)}),
        ("UPDATE t SET a = (SELECT max(a) FROM u) WHERE b IN (SELECT b FROM v)", {("t",), ("u",), ("v",)}),
        ("DELETE FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a = t.a)", {("t",), ("u",)}),
        ("MERGE INTO t USING (SELECT * FROM u) AS s ON t.a = s.a WHEN MATCHED THEN DELETE", {("t",), ("u",)}),
        ("DROP TABLE t", set()),
        ("DESCRIBE t", None),
    ],
)
def test_the_tables_of_a_statement(sql: str, tables: set[tuple[str, ...]] | None) -> None:
    assert tables_in(parse_table_statement(sql), sql) == tables


def test_a_long_insert_looks_up_no_more_than_a_short_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rv = connect(make_folder(tmp_path / "w"))
    looked: list[str] = []
    plain = Folder.log

    def noted(self: Folder, table: str) -> Log:
        looked.append(table)
        return plain(self, table)

    monkeypatch.setattr(Folder, "log", noted)
    monkeypatch.setattr(rv.store, "asked", contextlib.nullcontext)
    monkeypatch.setattr(rv.store, "sync", lambda names: {})
    monkeypatch.setattr(rv.store, "run", lambda statement, sql: None)
    counts = []
    for number in (3, 3, 5_000):
        del looked[:]
        rv.answer("INSERT INTO more VALUES " + ", ".join(f"('word{i}')" for i in range(number)))
        counts.append(len(looked))
        assert {"more"} <= set(looked) <= {"more", "__rollview__more"}
    assert counts[1] == counts[2]


def test_a_statement_of_the_engine_names_tables_by_its_words() -> None:
    rv: Rollview = connect("duckdb:")
    rv.sql("CREATE TABLE t (a INT)")
    assert [row[0] for row in rows(rv.sql("DESCRIBE t"))] == ["a"]
