"""What calls return, as rows that a statement returns."""

from __future__ import annotations

from typing import Any

from rollview.engine.protocol import Answer
from rollview.views.results import RefreshResult, ViewStatus


def of_refresh(result: RefreshResult) -> Answer:
    """The result of a refresh, or of CREATE, as one row."""
    columns = {
        "view": "STRING",
        "strategy": "STRING",
        "reason": "STRING",
        "rows_changed": "BIGINT",
        "rows_read": "BIGINT",
        "rows_written": "BIGINT",
        "jobs": "INT",
        "bytes_written": "BIGINT",
        "seconds": "DOUBLE",
        "stale": "STRING",
    }
    row: list[Any] = [getattr(result, name) for name in columns]
    return Answer(columns, [[*row[:-1], ", ".join(result.stale) or None]])


def of_views(views: list[ViewStatus]) -> Answer:
    """A row for each view."""
    columns = {
        "name": "STRING",
        "policy": "STRING",
        "fresh": "BOOLEAN",
        "vector": "MAP<STRING, BIGINT>",
        "last_refresh": "STRING",
        "keep_changes": "STRING",
        "comment": "STRING",
        "damage": "STRING",
    }
    rows = [[v.name, v.policy, v.fresh, v.vector, _moment(v), v.keep_changes, v.comment, v.damage] for v in views]
    return Answer(columns, rows)


def _moment(view: ViewStatus) -> str | None:
    return None if view.last_refresh is None else view.last_refresh.isoformat(timespec="seconds")
