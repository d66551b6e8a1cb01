"""Where the parts of the measurement run: at a scale, with the data that they share."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from rollview.bench.drawing import Chart
from rollview.bench.graphivm.cores import rows_of, weighted
from rollview.bench.graphivm.data import LARGE, SMALL, SMALL_1M, Data, social, table_of
from rollview.bench.graphivm.views import JoinView
from rollview.live.interning import Words

#: The single-row diffs of a measurement, at scale 1.
DIFFS = 50_000

#: A peer that would keep more rows than this is left out, as in the thesis what does not fit in memory.
MOST_ROWS = 10_000_000

#: Names a Python that has Pathway: it is not a dependency.
PATHWAY = "ROLLVIEW_PATHWAY_PYTHON"


@dataclass
class Room:
    """Each part adds its charts. ``pathway`` is a Python that has Pathway, if there is one."""

    folder: Path
    scale: float
    charts: list[Chart] = field(default_factory=list)
    pathway: str | None = field(default_factory=lambda: os.environ.get(PATHWAY))

    @property
    def diffs(self) -> int:
        return max(20, round(DIFFS * min(1.0, self.scale)))

    @cached_property
    def small(self) -> Data:
        return social(SMALL.scaled(self.scale))

    @cached_property
    def small_1m(self) -> Data:
        """The small one with as many followers as the figure says."""
        return social(SMALL_1M.scaled(self.scale))

    @property
    def large(self) -> Data:
        """Made each time: it takes more memory than the time is worth."""
        return social(LARGE.scaled(self.scale))

    def fits(self, view: JoinView, tables: Mapping[str, pa.Table], more: int = 0) -> bool:
        """Whether all rows of a view, and some more, can be kept."""
        return rows_of(view, tables) + more <= MOST_ROWS


def new_tweets(data: Data, count: int) -> pa.Table:
    """Tweets of the one user, as weighted rows."""
    return weighted(table_of("tweet", [_full(count, data.user), _numbers(data, count), _full(count, 1)]))


def new_followers(data: Data, count: int) -> pa.Table:
    """Followers of the one user, as weighted rows."""
    return weighted(table_of("follower", [_full(count, data.user), _numbers(data, count)]))


def _full(count: int, value: int) -> Words:
    return np.full(count, value, dtype=np.int64)


def _numbers(data: Data, count: int) -> Words:
    """Numbers that nobody has."""
    return data.next + np.arange(count, dtype=np.int64)
