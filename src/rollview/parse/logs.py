"""Logging of libraries.

PySpark writes each error of a statement to stderr, with Java's stack, when it creates the exception; sqlglot warns of
SQL that it cannot parse or print. rollview reports these errors itself. So records that come from rollview's own calls
are dropped; records from the user's calls, even on the same session, are still logged.
"""

from __future__ import annotations

import logging
import traceback


class _NotOurs(logging.Filter):
    """Drops records that are logged below a call of rollview."""

    def filter(self, record: logging.LogRecord) -> bool:
        callers = (str(frame.f_globals.get("__name__")) for frame, _ in traceback.walk_stack(None))
        return not any(name.startswith("rollview.") and name != __name__ for name in callers)


_FILTER = _NotOurs()


def silence(*loggers: logging.Logger) -> None:
    """Drops what these loggers log because of rollview's own calls."""
    for logger in loggers:
        logger.addFilter(_FILTER)  # has no effect if it was added before
