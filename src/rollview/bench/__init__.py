"""Measurements. One file per suite; each returns a report whose figures stand beside the rows read and written."""

from collections.abc import Callable

from rollview.bench import compile as compiling
from rollview.bench import no_op
from rollview.bench.report import Report

SUITES: dict[str, Callable[[], Report]] = {"no-op": no_op.run, "compile": compiling.run}

__all__ = ["SUITES", "Report"]
