"""The time to compile each query of TPC-H: text → plan → keys → SQL. Spark is not started.

Garbage is collected between the runs and not during them, as Python's ``timeit`` does it.
"""

from __future__ import annotations

import gc
import statistics
import time

from rollview.bench.report import Report
from rollview.bench.tpch import TABLES, queries
from rollview.codegen.printer import print_plan
from rollview.frontend.query import compile_view

REPEATS = 9


def run() -> Report:
    rows = []
    for name, sql in queries().items():
        times = []
        for _ in range(REPEATS):
            gc.collect()
            gc.disable()
            begin = time.perf_counter()
            compiled = compile_view(sql, lambda found: TABLES.get(found[-1].lower()))
            print_plan(compiled.plan)
            times.append((time.perf_counter() - begin) * 1000)
            gc.enable()
        operators = sum(1 for _ in compiled.plan.walk())
        rows.append([name, operators, round(statistics.median(times), 1), round(max(times), 1)])
    return Report(f"Compiling TPC-H, {REPEATS} times each", ["query", "operators", "median ms", "longest ms"], rows)
