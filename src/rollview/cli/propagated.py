"""What ``rollview propagate`` prints."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from rollview.cli.render import Screen, error_document
from rollview.roll.results import PropagateOutcome

#: What a document says of each view; a table has room for some of it, under shorter names.
_FIGURES = ("queries", "rows", "compensated", "rows_written", "begin", "mark", "lag", "seconds")
_SHOWN = {
    "queries": "queries",
    "rows": "changed",
    "rows_written": "written",
    "mark": "mark",
    "lag": "lag",
    "seconds": "seconds",
}


def propagated_document(each: PropagateOutcome) -> dict[str, Any]:
    """The fields of the result and what follows from them, the error, or the view because of which it was skipped."""
    document: dict[str, Any] = {"view": each.view, "outcome": each.outcome}
    if each.result is not None:
        document |= dataclasses.asdict(each.result)
        document |= {name: getattr(each.result, name) for name in _FIGURES}
    if each.error is not None:
        document |= error_document(each.error)
    if each.because is not None:
        document |= {"because": each.because}
    return document | {"explanation": each.explanation}


def show_propagated(screen: Screen, found: Sequence[PropagateOutcome]) -> None:
    if screen.as_json:
        screen.emit([propagated_document(each) for each in found])
        return
    rows = []
    for each in found:
        done = each.result
        told = [""] * len(_SHOWN) if done is None else [getattr(done, name) for name in _SHOWN]
        rows.append([each.view, each.outcome, *told])
    screen.table(["view", "outcome", *_SHOWN.values()], rows)
    for each in found:
        if each.error is not None:
            screen.error(each.error, each.view)
