"""PySpark's own log of errors.

PySpark writes each error of a statement to stderr, with Java's stack, when it makes the exception. An error that
rollview raises says all of that in its own words; one that it catches is nobody's business. So what rollview calls is
not logged, and what the user calls on the same session is logged as ever.
"""

from __future__ import annotations

import logging
import traceback

from pyspark.logger import PySparkLogger

_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")


class _NotOurs(logging.Filter):
    """Passes on what is not logged below a call of rollview."""

    def filter(self, record: logging.LogRecord) -> bool:
        callers = (str(frame.f_globals.get("__name__")) for frame, _ in traceback.walk_stack(None))
        return not any(name.startswith("rollview.") and name != __name__ for name in callers)


_FILTER = _NotOurs()


def silence() -> None:
    """Keeps PySpark from logging errors of rollview's own calls."""
    for name in _LOGGERS:
        PySparkLogger.getLogger(name).addFilter(_FILTER)  # once: a filter that is there is not added again
