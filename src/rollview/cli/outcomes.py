"""What ``rollview refresh`` and ``rollview watch`` print."""

from __future__ import annotations

import dataclasses
from typing import Any

from rollview.cli.render import Screen, error_document
from rollview.views.results import Outcome


def outcome_document(outcome: Outcome) -> dict[str, Any]:
    """An outcome as JSON: the fields of the result, the error, or the view because of which it was skipped."""
    document: dict[str, Any] = {"view": outcome.view, "outcome": outcome.outcome}
    if outcome.result is not None:
        document |= dataclasses.asdict(outcome.result)
    if outcome.error is not None:
        document |= error_document(outcome.error)
    if outcome.because is not None:
        document |= {"because": outcome.because}
    return document | {"explanation": outcome.explanation}


def show_outcomes(screen: Screen, outcomes: list[Outcome]) -> None:
    if screen.as_json:
        screen.emit([outcome_document(outcome) for outcome in outcomes])
        return
    rows = []
    for outcome in outcomes:
        done = outcome.result
        figures: list[Any] = [""] * 5
        if done is not None:
            figures = [done.strategy, done.rows_changed, done.rows_read, done.rows_written, done.seconds]
        rows.append([outcome.view, outcome.outcome, *figures, outcome.explanation])
    screen.table(["view", "outcome", "strategy", "changed", "read", "written", "seconds", "why"], rows)
    for outcome in outcomes:
        if outcome.error is not None:
            screen.error(outcome.error, outcome.view)
