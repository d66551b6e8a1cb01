"""The change of a view, in the form that its state takes. The stored rows themselves are not read for it.

| form | rows | views |
|---|---|---|
| ``SignedRows`` | rows of the query with a weight | whose state is rows |
| ``GroupSums`` | what to add to the stored sums and counts of each affected group | groups that can be added to |
| ``AffectedGroups`` | each affected group as it is now; if it is gone, its number of rows is NULL | all other groups |
"""

from __future__ import annotations

from dataclasses import dataclass

from rollview.delta.derivation import Step
from rollview.plan.nodes import Node


@dataclass(frozen=True)
class ViewDelta:
    """``steps`` are computed in order, ``rows`` last."""

    steps: tuple[Step, ...]
    rows: Node


@dataclass(frozen=True)
class SignedRows(ViewDelta):
    """``grows``: no weight is negative. ``settled``: no two rows of one key and sign, so that nothing cancels out."""

    grows: bool = False
    settled: bool = False


@dataclass(frozen=True)
class GroupSums(ViewDelta):
    """The group columns, the change of each partial, and the change of the number of rows."""


@dataclass(frozen=True)
class AffectedGroups(ViewDelta):
    """The group columns, the value of each partial, and the number of rows."""
