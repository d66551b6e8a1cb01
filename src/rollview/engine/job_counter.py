"""Counts what Spark does for a block of code: its jobs carry a tag, and Spark reports what their tasks read and wrote.

The tag is added to the job tags that a user has set in the thread, and removed again; job groups stay as they are. The
figures come from Spark's event log, if rollview started Spark or if the log is uncompressed text in a local folder;
otherwise from the REST API of Spark's web interface. There are no figures if both are switched off, and none on Spark
Connect, which has neither.
"""

from __future__ import annotations

import threading
import uuid
from typing import Protocol

from pyspark.sql import SparkSession

from rollview.engine.event_log import event_log
from rollview.engine.rest_api import rest_api
from rollview.engine.work import NOTHING_DONE, UNKNOWN, Counts


class Metrics(Protocol):
    """A source of the metrics of Spark's tasks."""

    def begin(self, tag: str) -> None:
        """Starts counting the jobs with this tag."""

    def end(self, tag: str, session: SparkSession) -> Counts:
        """The counts of these jobs."""

    def forget(self, tag: str) -> None:
        """Stops counting these jobs."""


class Source(Protocol):
    """The source of the session; ``made`` is None until the session exists."""

    @property
    def made(self) -> SparkSession | None: ...


class JobCounter:
    """Counts for one block. Counting starts as soon as there is a session: until then no job can run."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._tag = f"rollview-{uuid.uuid4().hex}"
        self._session: SparkSession | None = None
        self._metrics: Metrics | None = None

    def attach(self) -> None:
        if self._session is not None or self._source.made is None:
            return
        self._session = self._source.made
        if not isinstance(self._session, SparkSession):  # Spark Connect
            return
        try:
            self._metrics = _metrics_of(self._session)
            if self._metrics is not None:
                self._metrics.begin(self._tag)
                self._session.sparkContext.addJobTag(self._tag)
        except Exception:  # the session was stopped
            self._metrics = None

    def detach(self) -> Counts:
        if self._session is None:
            return NOTHING_DONE
        if self._metrics is None:
            return UNKNOWN
        try:
            self._session.sparkContext.removeJobTag(self._tag)
            return self._metrics.end(self._tag, self._session)
        except Exception:  # the session was stopped, or the folder or the interface is gone
            return UNKNOWN
        finally:
            self._metrics.forget(self._tag)


_LOCK = threading.Lock()
_known: dict[str, Metrics | None] = {}


def _metrics_of(session: SparkSession) -> Metrics | None:
    """The source of metrics of a session's application."""
    context = session.sparkContext
    with _LOCK:
        if context.applicationId not in _known:
            _known.clear()  # one application runs in a process at a time
            _known[context.applicationId] = event_log(context) or rest_api(context)
        return _known[context.applicationId]
