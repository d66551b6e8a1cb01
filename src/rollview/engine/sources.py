"""The source of an engine's Spark session: passed by the user, or local and created when it is first needed.

Spark takes seconds to start, and many questions about a warehouse do not need it: the logs say what its tables and
views are. So a local session is not created before rows are read or written.
"""

from __future__ import annotations

import threading
from weakref import WeakSet

from pyspark.sql import SparkSession

from rollview.engine.session import local_session
from rollview.engine.work import session_started


class GivenSpark:
    """A session that the user passed. Closing the source leaves the session open."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self.made: SparkSession | None = spark

    def close(self) -> None:
        pass


class LocalSpark:
    """A local session of its own, created when it is first used; ``made`` is None until then. If no Spark runs in this
    process yet, the first session starts it, and closing the last one stops it."""

    def __init__(self, *, delta: bool = False) -> None:
        self._delta = delta
        self.made: SparkSession | None = None
        if SparkSession.getActiveSession() is not None:  # at once: other threads do not see an active session
            self._make()

    @property
    def spark(self) -> SparkSession:
        """The session. Raises JavaMissing if Spark must be started and there is no Java for it."""
        made = self.made or self._make()
        session_started()
        return made

    def _make(self) -> SparkSession:
        with _STARTED.lock:
            if self.made is None:
                running = SparkSession.getActiveSession() or _STARTED.running()
                self.made = local_session(beside=running, delta=self._delta)
                if running is None:
                    _STARTED.first = self.made
                if _STARTED.running() is not None:
                    _STARTED.users.add(self)
            return self.made

    def close(self) -> None:
        with _STARTED.lock:
            self.made = None
            _STARTED.users.discard(self)
            if not _STARTED.users:
                _STARTED.stop()


class _Started:
    """The Spark that rollview started in this process: its first session, and the sources that use it."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.first: SparkSession | None = None
        self.users: WeakSet[LocalSpark] = WeakSet()

    def running(self) -> SparkSession | None:
        """The first session; None if it was stopped."""
        if self.first is not None:
            try:
                self.first.sparkContext.applicationId  # noqa: B018  raises an error if the context was stopped
            except Exception:
                self.first = None
        return self.first

    def stop(self) -> None:
        running, self.first = self.running(), None
        if running is not None:
            running.stop()


_STARTED = _Started()


SparkSource = GivenSpark | LocalSpark


def source_of(spark: SparkSession | SparkSource) -> SparkSource:
    """The source for a session; a source is returned as it is."""
    return spark if isinstance(spark, GivenSpark | LocalSpark) else GivenSpark(spark)
