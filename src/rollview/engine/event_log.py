"""The metrics of Spark's tasks, from the event log that Spark writes to a local folder.

The log has one JSON object per line: jobs with their stages and tags, and tasks with their metrics. Spark writes events
from a queue, in the order in which they happened, and flushes whenever a job or a query begins or ends. So a block ends
with a query without rows under a tag of its own: once its event is in the log, the metrics of all earlier tasks are.
"""

from __future__ import annotations

import atexit
import json
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession

from rollview.engine.work import UNKNOWN, Counts

#: How many seconds to wait until the end of a block appears in the log. Usually it takes a few milliseconds.
_PATIENCE = 10.0

_EVENT = b'{"Event":"'
_JOB_START, _JOB_END, _TASK_END, _QUERY_START = (
    _EVENT + name
    for name in (
        b'SparkListenerJobStart"',
        b'SparkListenerJobEnd"',
        b'SparkListenerTaskEnd"',
        b'org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart"',
    )
)
_STAGE = re.compile(rb'"Stage ID":(\d+)')


@cache
def _own_folder() -> Path:
    """The folder for the event log of a Spark that rollview starts; it is removed when the process ends."""
    folder = Path(tempfile.mkdtemp(prefix="rollview-events-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def log_settings() -> dict[str, str]:
    """The settings of a Spark whose event log is read here. The log is written in parts, so that parts that have been
    read can be removed, and without the metrics and long descriptions of plans, which would be most of it."""
    return {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": _own_folder().as_uri(),
        "spark.eventLog.rolling.enabled": "true",
        "spark.eventLog.rolling.maxFileSize": "10m",
        "spark.eventLog.compress": "false",
        "spark.eventLog.includeTaskMetricsAccumulators": "false",
        "spark.sql.ui.explainMode": "simple",
    }


@dataclass
class _Found:
    """What the log says about one block so far."""

    running: set[int] = field(default_factory=set)
    stages: set[int] = field(default_factory=set)
    jobs: int = 0
    rows_read: int = 0
    bytes_written: int = 0
    ended: bool = False


class EventLog:
    """The event log of one Spark application, read from the position at which the first open block began. Blocks of
    several threads share it, so each line is read once. If it is rollview's ``own``, parts that have been read are
    removed."""

    def __init__(self, folder: Path, *, own: bool) -> None:
        self._folder, self._own = folder, own
        self._lock = threading.Lock()
        self._open: dict[str, _Found] = {}
        self._part = self._position = 0
        self._whole = True
        self._query: DataFrame | None = None  # planned once

    def begin(self, tag: str) -> None:
        """Starts counting the jobs that carry the tag."""
        with self._lock:
            if not self._open:
                self._skip()
            self._open[tag] = _Found()

    def end(self, tag: str, session: SparkSession) -> Counts:
        """The counts of the jobs with the tag. Waits until all of their events are in the log."""
        found, context = self._open[tag], session.sparkContext
        if self._query is None:
            self._query = session.sql("SELECT 1 WHERE false")
        context.addJobTag(_end_of(tag))
        try:
            self._query.collect()
        finally:
            context.removeJobTag(_end_of(tag))
        until = time.monotonic() + _PATIENCE
        while True:
            self.advance()
            if found.ended and not found.running:
                return self.counts(tag)
            if time.monotonic() > until:  # Spark drops events if it cannot write them fast enough
                return UNKNOWN
            time.sleep(0.001)

    def counts(self, tag: str) -> Counts:
        """The counts of the jobs with the tag, as far as the log has been read."""
        found = self._open[tag]
        return Counts(found.rows_read, found.jobs, found.bytes_written)

    def forget(self, tag: str) -> None:
        with self._lock:
            self._open.pop(tag, None)

    def _skip(self) -> None:
        """Skips what is already written. An incomplete last line is skipped, too: its event happened before."""
        parts = self._parts()
        last = max(parts)
        for part in parts.keys() - {last}:
            self._remove(parts[part])
        with parts[last].open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - 1))
            self._whole = file.read(1) in (b"\n", b"")
        self._part, self._position = last, size

    def _parts(self) -> dict[int, Path]:
        return {int(file.name.split("_")[1]): file for file in self._folder.glob("events_*")}

    def _remove(self, part: Path) -> None:
        if self._own:
            part.unlink(missing_ok=True)

    def _lines(self) -> Iterator[bytes]:
        """The complete lines written since the last call."""
        while True:
            parts = self._parts()
            with parts[self._part].open("rb") as file:
                file.seek(self._position)
                written = file.read()
            lines = written[: written.rfind(b"\n") + 1].splitlines(keepends=True)
            for line in lines:
                self._position += len(line)
                if self._whole:
                    yield line
                self._whole = True
            if self._part + 1 not in parts:
                return
            self._remove(parts[self._part])  # it was complete when it was read, because the next one existed
            self._part, self._position = self._part + 1, 0

    def advance(self) -> None:
        """Reads the new events of the log."""
        with self._lock:
            for line in self._lines():
                if line.startswith(_TASK_END):
                    self._task_end(line)
                elif line.startswith(_JOB_START):
                    self._job_start(line)
                elif line.startswith(_JOB_END):
                    job = json.loads(line)["Job ID"]
                    for found in self._open.values():
                        found.running.discard(job)
                elif line.startswith(_QUERY_START):
                    for tag, found in self._open.items():
                        found.ended |= _end_of(tag).encode() in line

    def _job_start(self, line: bytes) -> None:
        here = [tag for tag in self._open if tag.encode() in line]
        event: dict[str, Any] = json.loads(line) if here else {}
        tags = (event.get("Properties") or {}).get("spark.job.tags", "").split(",")
        for tag in here:
            if tag in tags:
                self._open[tag].jobs += 1
                self._open[tag].running.add(event["Job ID"])
                self._open[tag].stages |= set(event["Stage IDs"])

    def _task_end(self, line: bytes) -> None:
        match = _STAGE.search(line)
        stage = int(match[1]) if match else -1
        counting = [found for found in self._open.values() if stage in found.stages]
        metrics: dict[str, Any] = (json.loads(line).get("Task Metrics") or {}) if counting else {}
        for found in counting:
            found.rows_read += (metrics.get("Input Metrics") or {}).get("Records Read", 0)
            found.bytes_written += (metrics.get("Output Metrics") or {}).get("Bytes Written", 0)


def _end_of(tag: str) -> str:
    return f"{tag}-end"


def event_log(context: SparkContext) -> EventLog | None:
    """The event log of a Spark application; None if it writes none, or not as uncompressed parts in a local folder."""
    conf: Mapping[str, str] = dict(context.getConf().getAll())
    place = urlparse(conf.get("spark.eventLog.dir", ""))
    plain = conf.get("spark.eventLog.compress") == "false" and conf.get("spark.eventLog.rolling.enabled") != "false"
    if conf.get("spark.eventLog.enabled") != "true" or not plain or place.scheme not in ("", "file"):
        return None
    folder = Path(place.path) / f"eventlog_v2_{context.applicationId}"
    return EventLog(folder, own=folder.parent == _own_folder()) if folder.is_dir() else None
