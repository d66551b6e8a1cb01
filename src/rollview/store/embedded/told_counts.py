"""What Delta's own writer says of an entry beside its actions, in the metrics of ``commitInfo``.

An entry that was cut at the end of a line reads as a smaller commit. The metrics tell: a write says how many rows it
wrote, and the statistics of its files how many are in them; UPDATE, DELETE and MERGE say how many files they added and
removed. Only numbers that can be relied on are compared: a write may count an empty file that it then leaves out, one
that replaces some rows counts those of the change feed, too, and a MERGE that was repeated counts all its attempts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

Action = Mapping[str, Any]

#: The operations that write new files only.
_WRITES = ("WRITE", "CREATE TABLE AS SELECT", "REPLACE TABLE AS SELECT", "CREATE OR REPLACE TABLE AS SELECT")

#: Of other operations, the metrics that count actions.
_FILES = {"numAddedFiles": "add", "numRemovedFiles": "remove", "numAddedChangeFiles": "cdc"}
_MERGED = {"numTargetFilesAdded": "add", "numTargetFilesRemoved": "remove", "numTargetChangeFilesAdded": "cdc"}
_COUNTED = {"UPDATE": _FILES, "DELETE": _FILES, "MERGE": _MERGED}


def is_deltas(info: Mapping[str, Any]) -> bool:
    """Whether Delta's own writer wrote an entry with this ``commitInfo``."""
    return "Delta-Lake/" in str(info.get("engineInfo"))


def fewer_than_told(info: Mapping[str, Any], actions: Sequence[Action]) -> str:
    """What an entry has fewer of than its ``commitInfo`` says; nothing if it has all, as far as is known."""
    metrics, operation = info.get("operationMetrics"), str(info.get("operation"))
    if not isinstance(metrics, dict):
        return ""
    if operation in _WRITES:
        return _fewer_rows(info, metrics, actions)
    for metric, kind in _COUNTED.get(operation, {}).items():
        told, found = _number(metrics.get(metric)), sum(kind in action for action in actions)
        if told > found and (operation != "MERGE" or not found):
            return f"has {found} {kind} actions and should have {told}"
    return ""


def _fewer_rows(info: Mapping[str, Any], metrics: Mapping[str, Any], actions: Sequence[Action]) -> str:
    parameters = info.get("operationParameters")
    if not isinstance(parameters, dict) or "predicate" in parameters or "numOutputRows" not in metrics:
        return ""
    rows = [_rows(action["add"]) for action in actions if "add" in action]
    told, found = _number(metrics["numOutputRows"]), sum(each or 0 for each in rows)
    return f"adds {found} rows and should add {told}" if None not in rows and told > found else ""


def _rows(add: Mapping[str, Any]) -> int | None:
    """The rows of an added file, as its statistics tell."""
    try:
        return int(json.loads(add["stats"])["numRecords"])
    except (KeyError, TypeError, ValueError):
        return None


def _number(told: object) -> int:
    text = str(told)
    return int(text) if text.isdecimal() else 0
