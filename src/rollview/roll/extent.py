"""How far the timed delta of a view reaches. It is metadata of each commit of the delta, so that the two agree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from rollview.delta.timed import Way

#: The entry of a commit's metadata that has the extent.
EXTENT = "rollview.extent"


@dataclass(frozen=True)
class Cut:
    """A large commit of a table that is forwarded in several queries: the number of rows of each, and how many queries
    of how many have been run."""

    table: str
    upto: int
    rows: int
    done: int
    parts: int

    @property
    def next(self) -> Cut | None:
        """After one query more; None if that was the last one."""
        return None if self.done + 1 == self.parts else replace(self, done=self.done + 1)


@dataclass(frozen=True)
class Unswept:
    """The times of the first and the last pruning whose files may still be on the disk, in seconds since 1970."""

    first: float
    last: float


@dataclass(frozen=True)
class Extent:
    """All changes of each table with positions after ``begin`` and up to ``forwarded`` have been joined with the other
    tables. ``epoch`` is that of the state to which the delta can be applied. ``paces`` are the rows that the next query
    of each table takes in, if that adapts to the time taken. ``pruned`` says that the delta began earlier once.
    ``birth`` is another one whenever the delta begins again; ``below`` has those of the deltas of the views that the
    view reads."""

    epoch: str
    begin: int
    forwarded: Mapping[str, int]
    way: Way = Way.HISTORY
    paces: Mapping[str, int] = field(default_factory=dict)
    cut: Cut | None = None
    sequence: int = 1
    pruned: bool = False
    unswept: Unswept | None = None
    birth: str = ""
    below: Mapping[str, str] = field(default_factory=dict)

    @property
    def mark(self) -> int:
        """The high-water mark: the delta is complete up to this position. Rows with later times may be incomplete."""
        return min(self.forwarded.values())

    @property
    def is_level(self) -> bool:
        """Whether all tables have been forwarded equally far."""
        return len(set(self.forwarded.values())) == 1 and self.cut is None

    def after(self, **changed: Any) -> Extent:
        """The extent that the next commit has."""
        return replace(self, sequence=self.sequence + 1, **changed)

    def to_metadata(self) -> dict[str, Any]:
        return {**asdict(self), "way": str(self.way), "mark": self.mark}

    @classmethod
    def from_metadata(cls, told: Mapping[str, Any]) -> Extent:
        known = {name: value for name, value in told.items() if name != "mark"}
        cut = None if told["cut"] is None else Cut(**told["cut"])
        unswept = None if told.get("unswept") is None else Unswept(**told["unswept"])
        return cls(**{**known, "way": Way(told["way"]), "cut": cut, "unswept": unswept})
