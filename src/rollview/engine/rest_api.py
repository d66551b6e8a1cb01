"""The metrics of Spark's tasks, from the REST API of Spark's web interface, if a session has it switched on."""

from __future__ import annotations

import json
import time
from typing import Any
from urllib.request import ProxyHandler, build_opener

from pyspark import SparkContext
from pyspark.sql import SparkSession

from rollview.engine.work import UNKNOWN, Counts

#: How many seconds to wait until the end of a block appears, and for one response.
_PATIENCE = 30.0


#: The suffix of the tag of the small job that ends a block.
_LAST = "-end"


def _is_last(tag: str) -> bool:
    return tag.startswith("rollview-") and tag.endswith(_LAST)


class RestApi:
    """The jobs and stages of one application. The interface reads events from a queue, in the order in which they
    happened: once the last small job appears, all jobs before it are known."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._opener = build_opener(ProxyHandler({}))  # the interface runs on this machine: no proxy

    def begin(self, tag: str) -> None:
        """Does nothing: jobs are found by their tags."""

    def forget(self, tag: str) -> None:
        """Does nothing."""

    def end(self, tag: str, session: SparkSession) -> Counts:
        """The counts of the jobs with the tag."""
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
