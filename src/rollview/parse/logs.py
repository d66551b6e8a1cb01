"""What libraries log on their own.

PySpark writes each error of a statement to stderr, with Java's stack, when it makes the exception; sqlglot warns of
what it cannot read or print. What rollview has to say about these, it says itself. So what rollview calls is not
logged, and what the user calls, on the same session, too, is logged as ever.
"""

from __future__ import annotations

import logging
import traceback


class _NotOurs(logging.Filter):
    """Passes on what is not logged below a call of rollview."""

    def filter(self, record: logging.LogRecord) -> bool:
        callers = (str(frame.f_globals.get("__name__")) for frame, _ in traceback.walk_stack(None))
        return not any(name.startswith("rollview.") and name != __name__ for name in callers)


_FILTER = _NotOurs()


def silence(*loggers: logging.Logger) -> None:
    """Keeps libraries from logging what comes of rollview's own calls."""
    for logger in loggers:
        logger.addFilter(_FILTER)  # a filter that is there is not added again
