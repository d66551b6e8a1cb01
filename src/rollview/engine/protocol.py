"""The protocol of an engine, which runs SELECTs over named relations.

An engine's relation (a Spark DataFrame, a DuckDB query) is called a frame here. The scans of a plan name relations by
``relation_name``; the caller passes a frame for each name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any, Protocol

import pyarrow as pa

from rollview.engine.work import Work
from rollview.parse.names import Name
from rollview.plan.nodes import Node, Scan

Frame = Any


@dataclass(frozen=True)
class Kept:
    """Materialized rows. ``rows`` is their number; ``local`` holds them in this process if there are few."""

    frame: Frame
    rows: int
    local: pa.Table | None = None


@dataclass(frozen=True)
class Answer:
    """The result of a statement that needs no engine: a few rows that rollview itself creates. ``columns`` maps names
    to types, as Spark writes them."""

    columns: Mapping[str, str]
    rows: Sequence[Sequence[object]]

    @property
    def schema(self) -> str:
        return ", ".join(f"{name} {kind}" for name, kind in self.columns.items())


#: The result of a statement that returns nothing.
NOTHING = Answer({}, ())


def relation_name(scan: Scan) -> str:
    """The name of the relation that a scan reads: a table, a version of it, its changes, or an earlier step."""
    return f"{scan.table} {scan.version}" if scan.version else scan.table


def has_no_equality(kind: str) -> bool:
    """Whether values of a type, as Spark writes it, cannot be grouped or compared."""
    return re.search(r"(^|[<:,])variant($|[>,])", kind) is not None


class Engine(Protocol):
    """Runs plans and queries. ``exact`` says whether a printed plan returns exactly the types of the user's query;
    ``parallel`` says whether several queries may run at the same time."""

    title: str
    dialect: str
    exact: bool
    parallel: bool

    def select(self, plan: Node, frames: Mapping[str, Frame], labels: Sequence[str] | None = None) -> Frame:
        """The rows of a plan. ``frames`` has a frame for each ``relation_name``; ``labels`` name the columns, by
        default the plan's own labels do."""

    def query(self, sql: str, frames: Mapping[Name, Frame]) -> Frame:
        """The rows of a user's query in Spark SQL. Each table that it names is replaced by a frame."""

    def over_state(self, state: Frame, query: str) -> Frame:
        """The rows of a query over a view's stored rows. The query calls them ``__state``."""

    def quoted(self, name: str) -> str:
        """A name as SQL writes it, quoted."""

    def renamed(self, frame: Frame, names: Sequence[str]) -> Frame:
        """The frame with other column names."""

    def nothing(self, frame: Frame) -> Frame:
        """A frame with the same columns and no rows."""

    def arrow(self, frame: Frame) -> pa.Table:
        """The rows, in this process."""

    def is_empty(self, frame: Frame, condition: str) -> bool:
        """Whether no row of the frame satisfies a condition."""

    def functions(self) -> set[str]:
        """The names of the engine's built-in functions, in lower case."""

    def has_function(self, name: str) -> bool:
        """Whether a function of this name can be called, one of the engine or one that a user registered."""

    def zone(self) -> tzinfo | None:
        """The time zone of the session: of a time without one. None means that of this machine."""

    def result_settings(self) -> Mapping[str, str]:
        """The settings of the session that change what a query returns."""

    def planning_settings(self, plan: Node) -> Mapping[str, str]:
        """The settings that the engine needs to plan the queries of a view."""

    def has_settings(self, values: Mapping[str, str]) -> bool:
        """Whether the session has these settings now."""

    def settings(self, values: Mapping[str, str]) -> AbstractContextManager[None]:
        """Sets these settings inside the block, and restores the previous ones after it."""

    def columns(self, frame: Frame) -> list[tuple[str, str]]:
        """The names and types of the columns, the types as Spark writes them."""

    def keep(self, frame: Frame) -> Kept:
        """Materializes the rows, so that they are computed once for several readers."""

    def keep_up_to(self, frame: Frame, most: Callable[[], int]) -> Kept | None:
        """Materializes the rows if there are at most ``most()``. Otherwise returns None, and computes no more rows than
        needed to find that out. ``most`` is called only if there are many rows."""

    def local(self, rows: pa.Table, columns: Sequence[tuple[str, str]]) -> Kept:
        """Rows that are already in this process; ``columns`` are the names and types of their columns."""

    def forget(self, kept: Iterable[Kept]) -> None:
        """Releases materialized rows."""

    def difference(
        self, fresh: Frame, stored: Frame, floats: Sequence[bool], most: int
    ) -> tuple[list[tuple[tuple[Any, ...], int]], tuple[int, int] | None]:
        """The rows that do not occur equally often in the two frames, each with the difference (positive if ``fresh``
        has more copies). Floats are rounded to nine digits. If there are more than ``most`` such rows, some of them,
        and the numbers of missing and extra rows."""

    def errors(self, sql: str, names: Callable[[], Iterable[str]] = tuple) -> AbstractContextManager[None]:
        """Translates the engine's errors about ``sql``; ``names`` lists the tables that are suggested for a misspelled
        name."""

    def small(self, rows: Iterable[Sequence[object]], schema: str) -> Frame:
        """A frame of a few rows that rollview itself creates; the schema is Spark's DDL."""

    def beside(self) -> AbstractContextManager[None]:
        """Inside the block, this thread may use the engine while another thread uses it, too: where the engine is one
        connection, it gets another one."""

    def measured(self) -> AbstractContextManager[Work]:
        """Measures the work done inside the block, in this thread: what the engine itself counts, and what code of this
        process adds by ``rollview.engine.work.read_here`` and ``wrote_here``. Blocks may be nested."""

    def output(self, frame: Frame) -> Any:
        """The frame as the engine's own type: a DataFrame of Spark, a relation of DuckDB."""

    def detached(self, frame: Frame) -> Any:
        """The same, of a frame over materialized rows that will be released."""

    def close(self) -> None:
        """Releases the engine."""
