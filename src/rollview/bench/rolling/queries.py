"""How many propagation queries it takes to forward the changes of two to six tables. The paper's recursion needs 4, 15,
64, 325 and 1,956."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from rollview.bench.drawing import Chart
from rollview.bench.report import Figure
from rollview.bench.rolling.room import Room
from rollview.bench.turns import Way, check
from rollview.store.edits import Append

TABLES = range(2, 7)

#: The commits of each table.
COMMITS = 3


def run(room: Room) -> Iterator[Figure]:
    found = []
    with room.opened("queries") as rv:
        for number in range(max(TABLES)):
            rv.store.create(f"t{number}", _rows(0, 10), key=["id"])
        for tables in TABLES:
            joins = "".join(f" JOIN t{n} ON t{n}.k = t0.k" for n in range(1, tables))
            values = ", ".join(f"t{n}.id AS i{n}" for n in range(tables))
            rv.create(f"v{tables}", f"SELECT {values} FROM t0{joins}", policy="INCREMENTAL")
            rv.propagate(f"v{tables}")
        for commit in range(COMMITS):
            for number in range(max(TABLES)):
                rv.store.commit(f"t{number}", [Append(_rows(10 + commit, 1))])
        for tables in TABLES:
            queries = rv.propagate(f"v{tables}").queries
            found.append((float(tables), float(queries)))
            yield Figure(f"propagation queries for {tables} changed tables", queries, most=tables)
            rv.apply(f"v{tables}")
        check(Way(rv, f"v{tables}") for tables in TABLES)
    room.charts.append(Chart("Propagation queries", "queries", "changed tables", lines={"queries": found}))


def _rows(first: int, count: int) -> pa.Table:
    ids = list(range(first, first + count))
    return pa.table({"id": pa.array(ids, pa.int64()), "k": pa.array([i % 10 for i in ids], pa.int64())})
