"""Measurements. One file per suite; each returns a report of times, ratios, and the rows read and written.

| file | what it does |
|---|---|
| ``turns.py`` | the measuring loop: changes in turns, refresh against recomputation |
| ``report.py`` | what a measurement returns |
| ``drawing.py`` | its charts |
| ``tpch.py`` | TPC-H's tables and queries |
| ``tpch_refresh.py`` | TPC-H as views |
| ``growth.py`` | a refresh at scale 1 and 4 |
| ``openivm.py`` | the OpenIVM thesis' joins |
| ``append.py`` | new rows in order |
| ``share.py`` | how much may change before recomputing wins |
| ``no_op.py`` | a refresh with nothing to do |
| ``compile.py`` | compile times |
| ``rolling/`` | the commit clock, views at any position, rolling propagation |
| ``graphivm/`` | live views, beside other ways to keep a view |
"""

from collections.abc import Callable

from rollview.bench import append, graphivm, growth, no_op, openivm, rolling, share, tpch_refresh
from rollview.bench import compile as compiling
from rollview.bench.report import Report

#: The suites by name. Those in SCALED take the scale of their data, those in PARTED the name of one of their parts.
SUITES: dict[str, Callable[..., Report]] = {
    "no-op": no_op.run,
    "compile": compiling.run,
    "append": append.run,
    "share": share.run,
    "openivm": openivm.run,
    "tpch": tpch_refresh.run,
    "growth": growth.run,
    "rolling": rolling.run,
    "graphivm": graphivm.run,
}
SCALED = {"append", "graphivm", "growth", "openivm", "rolling", "share", "tpch"}
PARTED = {"rolling": tuple(rolling.PARTS), "graphivm": tuple(graphivm.PARTS)}

__all__ = ["PARTED", "SCALED", "SUITES", "Report"]
