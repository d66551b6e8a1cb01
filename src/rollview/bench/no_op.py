"""A refresh with nothing to do: the time it takes, and whether it starts Spark jobs."""

from __future__ import annotations

import statistics
import tempfile
import time

from rollview.bench.report import Report
from rollview.errors import InternalError
from rollview.session import connect

CALLS = 100


def run() -> Report:
    """100 refreshes in a row of a view over two tables, and of a view on that view, on the embedded store."""
    with tempfile.TemporaryDirectory(prefix="rollview-bench-") as folder:
        rv = connect(folder)
        rv.sql("CREATE TABLE a (id INT, v INT, PRIMARY KEY (id)); CREATE TABLE b (id INT, w INT, PRIMARY KEY (id))")
        for start in range(25):  # a log with many entries, like that of a table in use
            rv.sql(f"INSERT INTO a SELECT CAST(id + {start * 100} AS INT), 1 FROM range(100)")
        rv.sql("INSERT INTO b SELECT CAST(id AS INT), 2 FROM range(1000)")
        rv.create("joined", "SELECT a.id, v, w FROM a JOIN b ON a.id = b.id")
        rv.create("counted", "SELECT v, count(*) AS n FROM joined GROUP BY v")
        rows = []
        for view in ("joined", "counted"):
            times = []
            with rv.engine.measured() as work:
                for _ in range(CALLS):
                    begin = time.perf_counter()
                    if rv.refresh(view).strategy != "no_op":
                        raise InternalError(f"a refresh of {view} without changes was not a no_op")
                    times.append((time.perf_counter() - begin) * 1000)
            rows.append([view, CALLS, work.jobs, round(statistics.median(times), 2), round(max(times), 2)])
        return Report(
            f"{CALLS} refreshes without changes, embedded store",
            ["view", "calls", "Spark jobs", "median ms", "longest ms"],
            rows,
        )
