"""Where an engine's Spark session comes from: given by the user, or local and made when it is first needed.

Spark takes seconds to start, and much of what is asked of a warehouse needs none: its logs tell what its tables and
views are. So a local session is not made before rows have to move.
"""

from __future__ import annotations

import threading
from weakref import WeakSet

from pyspark.sql import SparkSession

from rollview.engine.session import local_session
from rollview.engine.work import session_started


class GivenSpark:
    """A session that belongs to the user: closing leaves it as it is."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self.made: SparkSession | None = spark

    def close(self) -> None:
        pass


class LocalSpark:
    """A session of its own on this machine, made when it is first asked for; ``made`` is the session if there is one
    already. If no Spark runs in this process yet, the first session starts it, and closing the last one stops it."""

    def __init__(self, *, delta: bool = False) -> None:
        self._delta = delta
        self.made: SparkSession | None = None
        if SparkSession.getActiveSession() is not None:  # now: another thread would not find it
            self._make()

    @property
    def spark(self) -> SparkSession:
        """The session. Raises JavaMissing if Spark would have to be started and cannot be."""
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
    """The Spark that was started here, by its first session, and who uses it."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.first: SparkSession | None = None
        self.users: WeakSet[LocalSpark] = WeakSet()

    def running(self) -> SparkSession | None:
        """The first session, unless someone has stopped it."""
        if self.first is not None:
            try:
                self.first.sparkContext.applicationId  # noqa: B018  a stopped context answers nothing
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
    """A session as its own source."""
    return spark if isinstance(spark, GivenSpark | LocalSpark) else GivenSpark(spark)
