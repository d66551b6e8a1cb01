"""Damage stays where it is: what cannot be read is listed and can be dropped or repaired; all else goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from rollview import Rollview
from rollview.errors import Damaged
from rows import rows


def two_views(rv: Rollview) -> Rollview:
    rv.sql("CREATE TABLE t (id INT, g STRING, PRIMARY KEY (id)); INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    rv.sql("CREATE TABLE u (id INT, PRIMARY KEY (id)); INSERT INTO u VALUES (1)")
    rv.create("v", "SELECT g, count(*) AS n FROM t GROUP BY g", comment="counts")
    rv.create("w", "SELECT id FROM u")
    return rv


def log_of(rv: Rollview, table: str) -> list[Path]:
    return sorted((rv.store.root / table / "_delta_log").glob("*.json"))  # type: ignore[attr-defined]


def truncate(rv: Rollview, table: str) -> None:
    last = log_of(rv, table)[-1]
    last.write_bytes(last.read_bytes()[:-30])


def test_try(opened) -> None:
    for kind in ("embedded", "delta"):
        rv = two_views(opened(kind, folder=Path("/tmp/dmg/x_" + kind)))
        rv.sql("INSERT INTO t VALUES (3, 'a')")
        rv.refresh("v")
        truncate(rv, "__rollview__v")
        print(rv.views())
        with pytest.raises(Damaged) as e:
            rv.refresh("v")
        print(e.value)
        with pytest.raises(Damaged) as e:
            rv.table("v")
        print(e.value)
        with pytest.raises(Damaged) as e:
            rv.sql("SELECT * FROM v")
        print(e.value)
        print(rv.refresh("w"))
        print(rv.refresh("v", full=True))
        print(rv.views())
        print(rows(rv.sql("SELECT * FROM v")))
        print(rv.verify("v"))
        rv.sql("INSERT INTO t VALUES (4, 'a')")
        print(rv.refresh("v"))
        truncate(rv, "__rollview__v")
        rv.drop("v")
        print(rv.views())
        assert 0
