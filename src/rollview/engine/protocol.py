"""What rollview asks of an engine: to run named SELECTs over named relations.

An engine's relation (a Spark DataFrame, a DuckDB relation) is called a frame here. A plan's scans name relations by
``relation_name``; which frame that is, the caller says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from rollview.engine.work import Work
from rollview.parse.names import Name
from rollview.plan.nodes import Node, Scan

Frame = Any


@dataclass(frozen=True)
class Kept:
    """Rows that have been computed. ``rows`` is their number; ``local`` holds them if they are few."""

    frame: Frame
    rows: int
    local: pa.Table | None = None


@dataclass(frozen=True)
class Answer:
    """A few rows that rollview itself makes: what a statement tells, if no engine is needed to tell it. ``columns`` are
    names and types, the types as Spark writes them."""

    columns: Mapping[str, str]
    rows: Sequence[Sequence[object]]

    @property
    def schema(self) -> str:
        return ", ".join(f"{name} {kind}" for name, kind in self.columns.items())


#: What a statement tells that has nothing to tell.
NOTHING = Answer({}, ())


def relation_name(scan: Scan) -> str:
    """The relation that a scan reads: a table, one version of it, its changes, or an earlier step."""
    return f"{scan.table} {scan.version}" if scan.version else scan.table


def has_no_equality(kind: str) -> bool:
    """Whether values of a type, as Spark writes it, can be neither grouped nor compared."""
    return re.search(r"(^|[<:,])variant($|[>,])", kind) is not None


class Engine(Protocol):
    """Runs plans and queries. Where types are ``exact``, a printed plan has the very types of the text it is from;
    ``parallel`` says whether several may run at a time."""

    title: str
    dialect: str
    exact: bool
    parallel: bool

    def select(self, plan: Node, frames: Mapping[str, Frame], labels: Sequence[str] | None = None) -> Frame:
        """The rows of a plan over frames by ``relation_name``, under these names or the plan's own labels."""

    def query(self, sql: str, frames: Mapping[Name, Frame]) -> Frame:
        """A user's query in Spark SQL, each table that it names replaced by a frame."""

    def over_state(self, state: Frame, query: str) -> Frame:
        """A query over a view's stored rows, which it calls ``__state``."""

    def quoted(self, name: str) -> str:
        """A name as it stands in SQL."""

    def renamed(self, frame: Frame, names: Sequence[str]) -> Frame:
        """The frame's columns under other names."""

    def nothing(self, frame: Frame) -> Frame:
        """A frame with the same columns and no rows."""

    def is_empty(self, frame: Frame, condition: str) -> bool:
        """Whether no row meets a condition."""

    def functions(self) -> set[str]:
        """The engine's own functions, in lower case."""

    def has_function(self, name: str) -> bool:
        """Whether a function of this name can be called, one of the engine or one that a user registered."""

    def result_settings(self) -> Mapping[str, str]:
        """The settings of the session that change what a query returns."""

    def planning_settings(self, plan: Node) -> Mapping[str, str]:
        """The settings that the engine needs to plan what is computed for a view."""

    def has_settings(self, values: Mapping[str, str]) -> bool:
        """Whether the session has these settings now."""

    def settings(self, values: Mapping[str, str]) -> AbstractContextManager[None]:
        """Settings that hold inside the block only."""

    def columns(self, frame: Frame) -> list[tuple[str, str]]:
        """Names and types, the types as Spark writes them."""

    def keep(self, frame: Frame) -> Kept:
        """Computes the rows once, for several readers."""

    def keep_up_to(self, frame: Frame, most: Callable[[], int]) -> Kept | None:
        """The same; None if there are more rows than ``most``, which may be asked for only if there are many. No more
        of the rows than needed are computed then."""

    def local(self, rows: pa.Table, columns: Sequence[tuple[str, str]]) -> Kept:
        """Rows that are here already; ``columns`` are their names and types."""

    def forget(self, kept: Iterable[Kept]) -> None:
        """The rows are needed no more."""

    def difference(
        self, fresh: Frame, stored: Frame, floats: Sequence[bool], most: int
    ) -> tuple[list[tuple[tuple[Any, ...], int]], tuple[int, int] | None]:
        """The rows that one frame has more often than the other, with how much more often (less often: negative);
        floats are rounded to nine digits. If there are more than ``most``: some, and how many are missing and extra."""

    def errors(self, sql: str, names: Callable[[], Iterable[str]] = tuple) -> AbstractContextManager[None]:
        """Turns what the engine says about ``sql`` into our words; ``names`` lists tables that may have been meant."""

    def small(self, rows: Iterable[Sequence[object]], schema: str) -> Frame:
        """A frame of a few rows made by rollview itself; the schema is Spark's DDL."""

    def measured(self) -> AbstractContextManager[Work]:
        """Measures what is done inside the block, in this thread: what the engine counts by itself, and what code of
        this process adds with ``rollview.engine.work.read_here`` and ``wrote_here``. Blocks may be nested."""

    def output(self, frame: Frame) -> Any:
        """The frame as users of the engine know it."""

    def close(self) -> None:
        """The engine is needed no more."""
