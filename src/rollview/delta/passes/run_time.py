"""Passes applied just before a step runs: they use the results of earlier steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from rollview.delta.passes.drop_empty import drop_empty
from rollview.delta.passes.literal_keys import literal_keys
from rollview.delta.passes.small_sides import small_sides
from rollview.limits import Limits
from rollview.plan.nodes import Node, Scan


class Known(Protocol):
    """What is known about relations when a step runs. ``broadcasts_results`` says whether join results may be
    broadcast, too."""

    limits: Limits
    broadcasts_results: bool

    def is_empty(self, scan: Scan) -> bool: ...

    def is_small(self, scan: Scan) -> bool:
        """Whether a relation is small enough to broadcast."""

    def values(self, scan: Scan, column: str) -> Sequence[object] | None:
        """The distinct values of a column, if the relation's rows are in this process."""

    def bounds(self, scan: Scan, column: str) -> tuple[Any, Any] | None:
        """The least and the greatest value of a column, if known without a query."""


@dataclass(frozen=True)
class RunningPass:
    """``apply`` returns the plan after the pass, or None if it has no rows; ``done`` describes the pass for people."""

    name: str
    done: str
    apply: Callable[[Node, Known], Node | None]


RUNNING: tuple[RunningPass, ...] = (
    RunningPass("drop_empty", "terms over empty steps dropped", lambda plan, known: drop_empty(plan, known.is_empty)),
    RunningPass(
        "small_sides",
        "small sides of joins broadcast",
        lambda plan, known: small_sides(plan, known.is_small, results=known.broadcasts_results),
    ),
    RunningPass(
        "literal_keys",
        "keys listed as literals",
        lambda plan, known: literal_keys(plan, known.values, known.bounds, known.limits),
    ),
)


def fitted(plan: Node, known: Known, passes: Sequence[RunningPass] = RUNNING) -> tuple[Node | None, tuple[str, ...]]:
    """The plan after the passes (None if it has no rows), and descriptions of the passes that changed it."""
    done: list[str] = []
    left: Node | None = plan
    for each in passes:
        if left is None:
            break
        found = each.apply(left, known)
        if found is not left and found != left:
            done.append(each.done)
        left = found
    return left, tuple(done)
