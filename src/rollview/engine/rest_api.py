"""What Spark's tasks counted, from the REST API of Spark's own web interface, if a session has it on."""

from __future__ import annotations

import json
import time
from typing import Any
from urllib.request import ProxyHandler, build_opener

from pyspark import SparkContext
from pyspark.sql import SparkSession

from rollview.engine.work import UNKNOWN, Counts

#: How long the end of a block may take to appear, and how long an answer may take, in seconds.
_PATIENCE = 30.0


#: How the tag of the last small job of a block ends.
_LAST = "-end"


def _is_last(tag: str) -> bool:
    return tag.startswith("rollview-") and tag.endswith(_LAST)


class RestApi:
    """The jobs and stages of one application. What the interface shows it takes from a queue of events, in the order
    in which they happened: a last small job shows that all jobs before it are known."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._opener = build_opener(ProxyHandler({}))  # the interface is of this machine

    def begin(self, tag: str) -> None:
        """Jobs are found by their tags: there is nothing to prepare."""

    def forget(self, tag: str) -> None:
        """The same."""

    def end(self, tag: str, session: SparkSession) -> Counts:
        """What the jobs with the tag did."""
        context, last = session.sparkContext, f"{tag}{_LAST}"
        context.addJobTag(last)
        try:
            session.range(0, 1, 1, 1).collect()
        finally:
            context.removeJobTag(last)
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            jobs = self._get("jobs")
            ended = any(last in job["jobTags"] for job in jobs)
            mine = [job for job in jobs if tag in job["jobTags"] and not any(map(_is_last, job["jobTags"]))]
            if ended and all(job["status"] != "RUNNING" for job in mine):
                oldest = min(job["jobId"] for job in jobs)
                dropped = oldest > 0 and any(job["jobId"] == oldest for job in mine)
                return UNKNOWN if dropped else self._counts(mine)
            time.sleep(0.01)
        return UNKNOWN

    def _counts(self, jobs: list[dict[str, Any]]) -> Counts:
        read = written = 0
        for stage in {stage for job in jobs for stage in job["stageIds"]}:
            for attempt in self._get(f"stages/{stage}?details=false"):
                read += attempt["inputRecords"]
                written += attempt["outputBytes"]
        return Counts(read, len(jobs), written)

    def _get(self, what: str) -> list[dict[str, Any]]:
        with self._opener.open(f"{self._url}/{what}", timeout=_PATIENCE) as answer:
            found: list[dict[str, Any]] = json.load(answer)
        return found


def rest_api(context: SparkContext) -> RestApi | None:
    """The REST API of a Spark application; None if its web interface is off."""
    url = context.uiWebUrl
    return RestApi(f"{url}/api/v1/applications/{context.applicationId}") if url else None
