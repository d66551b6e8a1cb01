"""Counting what Spark does for a block of code: its jobs carry a tag, and Spark says what their tasks read and wrote.

A tag is added to those that a user has given to the thread's jobs, and taken away again; groups stay as they are. Where
the figures come from: the event log of the Spark that rollview starts, or of any other if it is plain text in a folder
of this machine; else the REST API of Spark's web interface. If both are off there are none, and none on Spark Connect,
which tells neither.
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
    """Where Spark says what its tasks counted."""

    def begin(self, tag: str) -> None:
        """Jobs with this tag are going to be counted."""

    def end(self, tag: str, session: SparkSession) -> Counts:
        """What they did."""

    def forget(self, tag: str) -> None:
        """They are not counted any more."""


class Source(Protocol):
    """Where the session comes from; ``made`` is None until there is one."""

    @property
    def made(self) -> SparkSession | None: ...


class JobCounter:
    """Counts for one block. It begins as soon as there is a session: until then no job can run."""

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
        except Exception:  # a session that was stopped answers nothing
            self._metrics = None

    def detach(self) -> Counts:
        if self._session is None:
            return NOTHING_DONE
        if self._metrics is None:
            return UNKNOWN
        try:
            self._session.sparkContext.removeJobTag(self._tag)
            return self._metrics.end(self._tag, self._session)
        except Exception:  # the same, or the folder or the interface is gone
            return UNKNOWN
        finally:
            self._metrics.forget(self._tag)


_LOCK = threading.Lock()
_known: dict[str, Metrics | None] = {}


def _metrics_of(session: SparkSession) -> Metrics | None:
    """Where the application of a session says what its tasks counted."""
    context = session.sparkContext
    with _LOCK:
        if context.applicationId not in _known:
            _known.clear()  # one application runs in a process at a time
            _known[context.applicationId] = event_log(context) or rest_api(context)
        return _known[context.applicationId]
