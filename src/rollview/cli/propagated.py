"""What ``rollview propagate`` prints."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from rollview.cli.render import Screen, error_document
from rollview.errors import RollviewError
from rollview.roll.results import Propagated
from rollview.views.results import FAILED

PROPAGATED = "propagated"


@dataclass(frozen=True)
class Forwarded:
    """What became of one view: what was propagated, or the error."""

    view: str
    done: Propagated | None
    error: RollviewError | None = None


def propagated_document(each: Forwarded) -> dict[str, Any]:
    """The fields of the result, and what follows from them; or the error."""
    if each.done is None:
        told = {} if each.error is None else error_document(each.error)
        return {"view": each.view, "outcome": FAILED, **told}
    done = each.done
    more = {name: getattr(done, name) for name in ("queries", "rows", "compensated", "rows_written", "lag")}
    return {"outcome": PROPAGATED, **dataclasses.asdict(done), **more}


def show_propagated(screen: Screen, found: list[Forwarded]) -> None:
    if screen.as_json:
        screen.emit([propagated_document(each) for each in found])
        return
    figures = ("queries", "rows", "compensated", "rows_written", "begin", "mark", "lag", "seconds")
    rows = []
    for each in found:
        told = [""] * len(figures) if each.done is None else [getattr(each.done, name) for name in figures]
        rows.append([each.view, FAILED if each.done is None else PROPAGATED, *told])
    screen.table(["view", "outcome", "queries", "changed", "compensated", "written", *figures[4:]], rows)
    for each in found:
        if each.error is not None:
            screen.error(each.error, each.view)
