"""Rows that Spark read and wrote, by its own count: the figure that does not depend on the machine.

Spark writes the metrics of every task into its event log. Jobs are labelled while they run; after the session has
stopped, the log is read and the tasks' rows are added up by label.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from rollview.engine.session import start_session


@dataclass(frozen=True)
class Rows:
    """Of one label: rows read from files, rows written to files, and jobs."""

    read: int = 0
    written: int = 0
    jobs: int = 0


#: The columns of a table that compares refreshing with recomputing, after the first, which says what was measured.
COMPARED = [
    "strategy",
    "refresh s",
    "recompute s",
    "ratio",
    "jobs",
    "rows read",
    "read by recomputing",
    "rows written",
    "written by recomputing",
]


def compared(strategy: str, seconds: float, whole: float, refresh: Rows, recompute: Rows, written: int) -> list[Any]:
    """A line of it. ``written`` is the number of rows that the refresh's commit tells: Spark does not count those that
    are written in this process."""
    times = [round(seconds, 2), round(whole, 2), round(whole / seconds, 2)]
    return [strategy, *times, refresh.jobs, refresh.read, recompute.read, written, recompute.written]


class Counting:
    """A Spark session that counts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        settings = {
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": folder.as_uri(),
            "spark.eventLog.rolling.enabled": "false",
            "spark.eventLog.compress": "false",
        }
        self.spark: SparkSession = start_session(settings)

    @contextmanager
    def label(self, text: str) -> Iterator[None]:
        """What runs inside is counted under this label."""
        context = self.spark.sparkContext
        context.setJobGroup(text, text)
        try:
            yield
        finally:
            context.setJobGroup("other", "other")

    def stop(self) -> dict[str, Rows]:
        """Stops the session and adds up."""
        self.spark.stop()
        jobs: dict[str, int] = defaultdict(int)
        labels: dict[int, str] = {}
        read: dict[str, int] = defaultdict(int)
        written: dict[str, int] = defaultdict(int)
        for file in sorted(self.folder.iterdir()):
            for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
                event: dict[str, Any] = json.loads(line)
                if event["Event"] == "SparkListenerJobStart":
                    label = (event.get("Properties") or {}).get("spark.jobGroup.id") or "other"
                    jobs[label] += 1
                    labels |= dict.fromkeys(event["Stage IDs"], label)
                elif event["Event"] == "SparkListenerTaskEnd":
                    metrics = event.get("Task Metrics") or {}
                    label = labels.get(event["Stage ID"], "other")
                    read[label] += (metrics.get("Input Metrics") or {}).get("Records Read", 0)
                    written[label] += (metrics.get("Output Metrics") or {}).get("Records Written", 0)
        return {label: Rows(read[label], written[label], jobs[label]) for label in jobs}
