"""The plan of a refresh: a list of stages. ``refresh/execute`` runs them, ``show`` prints them.

    Compute step0 … Compute stepN → Write the rows of a plan → Advance the view to its new vector

What is written and the new vector are one commit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rollview.delta.derivation import Step
from rollview.delta.passes import Pass, improved
from rollview.state.view_delta import ViewDelta
from rollview.state.writes import Write


@dataclass(frozen=True)
class Compute:
    """Computes a named SELECT, for later stages to read."""

    step: Step


@dataclass(frozen=True)
class Put:
    """Computes rows and writes them into the state."""

    write: Write


@dataclass(frozen=True)
class Recompute:
    """Runs the whole query and replaces the state. ``reason`` is a code of ``REASONS``."""

    reason: str


@dataclass(frozen=True)
class Advance:
    """Commits what is written, if anything, together with the vector that the view shows from now on."""


Stage = Compute | Put | Recompute | Advance


@dataclass(frozen=True)
class RefreshPlan:
    """``strategy`` is the name of the strategy whose plan this is."""

    strategy: str
    stages: tuple[Stage, ...]

    @property
    def steps(self) -> tuple[Step, ...]:
        return tuple(stage.step for stage in self.stages if isinstance(stage, Compute))

    @property
    def write(self) -> Write | None:
        """What is written; None if no row is, or if the view is recomputed."""
        return next((stage.write for stage in self.stages if isinstance(stage, Put)), None)

    @property
    def reason(self) -> str | None:
        """Why the view is recomputed; None if it is not."""
        return next((stage.reason for stage in self.stages if isinstance(stage, Recompute)), None)


@dataclass(frozen=True)
class Refusal:
    """Why a strategy cannot refresh a view."""

    why: str


def incremental(strategy: str, delta: ViewDelta, write: Write, passes: Sequence[Pass]) -> RefreshPlan:
    """The plan that computes the change of a view and writes it; the passes make it cheap."""
    *steps, last = improved([*delta.steps, Step("rows", write.rows, "")], passes)
    return RefreshPlan(strategy, (*map(Compute, steps), Put(write.of(last.plan)), Advance()))
