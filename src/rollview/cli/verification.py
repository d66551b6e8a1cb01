"""What ``rollview verify`` prints."""

from __future__ import annotations

import dataclasses
from typing import Any

from rollview.cli.render import Screen, error_document
from rollview.views.results import FAILED, Verification


def _verified_document(result: Verification) -> dict[str, Any]:
    """A verification as JSON: what differs, or the error."""
    if result.error is not None:
        return {"view": result.view, "ok": False, **error_document(result.error)}
    document = dataclasses.asdict(result) | {"ok": result.ok}
    del document["error"]
    return document


def show_verified(screen: Screen, found: list[Verification]) -> None:
    if screen.as_json:
        screen.emit([_verified_document(result) for result in found])
        return
    screen.table(
        ["view", "verdict", "missing", "extra"],
        [[r.view, _verdict(r), *([r.missing, r.extra] if r.error is None else ["", ""])] for r in found],
    )
    for result in found:
        for choice in result.choices:
            screen.out.print(f"{result.view} leaves open {choice}", markup=False, highlight=False)
        if result.inexact:
            screen.out.print(_by_chance(result), markup=False, highlight=False)
        for kind, rows in (("missing", result.missing_sample), ("extra", result.extra_sample)):
            if rows:
                screen.table(list(rows[0]), [list(row.values()) for row in rows], f"{kind} in {result.view}")
        if result.error is not None:
            screen.error(result.error, result.view)


def _verdict(result: Verification) -> str:
    if result.error is not None:
        return FAILED
    if not result.ok:
        return "DIFFERENT"
    return "equal, ties decided by the key" if result.choices else "equal"


def _by_chance(result: Verification) -> str:
    columns = ", ".join(result.inexact)
    why = "computed from floating-point aggregates, whose last digits depend on the order of rows"
    return f"{result.view} differs only in {columns}, {why}: this may be chance"
