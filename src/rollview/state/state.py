"""What the kinds of state have in common: a plan of the stored rows, and two readings of them.

| kind | one row for each | told apart by | shown as |
|---|---|---|---|
| keyed | row of the query | its key, hidden columns included | the visible columns |
| bag | row of the query, or some equal ones | nothing | itself, as often as the hidden ``__n`` says |
| groups | group of the root's aggregate | the group columns | its visible columns, if HAVING lets it |
| top rows | row among the first ones, as keyed or in a bag | as these | the first of them, by their order |
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

from rollview.delta.partials import Added
from rollview.plan.nodes import Node, Scan
from rollview.state.view_delta import ViewDelta
from rollview.state.writes import Write


@dataclass(frozen=True)
class Followed:
    """What a refresh follows changes through: the ``plan`` whose delta is derived, and what is known of it.

    ``added`` are the aggregates below the root that follow from sums and counts, ``kinds`` the types of what aggregates
    and window functions make, ``partitions`` what helpers store of windows.
    """

    plan: Node
    added: Mapping[str, Added] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    partitions: Mapping[str, Scan] = field(default_factory=dict)


@dataclass(frozen=True)
class Shown:
    """How readers see a state: ``query`` reads it as the view's rows, ``feed`` its changes as the view's; both are SQL
    over ``__state``. Without a feed, the view's changes are found by comparing two versions. ``picked`` are the stored
    names of the visible columns, if the view's rows are just the stored ones."""

    query: str
    feed: str | None
    picked: tuple[str, ...] | None = None


@dataclass(frozen=True)
class State(ABC):
    """``plan`` gives the stored rows; the labels of its columns are their names in the state table. ``on`` are the
    stored columns that tell rows apart."""

    kind: ClassVar[str]
    plan: Node
    on: tuple[str, ...]
    shown: Shown
    followed: Followed

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(column.label for column in self.plan.columns)

    def label(self, name: str) -> str:
        """The stored name of a column of the plan."""
        return self._labels[name]

    @cached_property
    def _labels(self) -> dict[str, str]:
        return {column.name: column.label for column in self.plan.columns}

    @property
    @abstractmethod
    def has_one_value_each(self) -> bool:
        """Whether every inexact value that the state is made of is computed once, or read from where it is stored: see
        ``delta/analysis/inexact``."""

    @abstractmethod
    def take(self, delta: ViewDelta) -> Write:
        """How the stored rows follow a change of the view."""
