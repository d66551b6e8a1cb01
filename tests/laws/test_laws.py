"""Laws over random histories: whatever the query and however its tables change, the view equals its query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from compare import stored
from histories import History, history, shrunk
from noisy import NoisyEngine, alike, noisy, right
from rollview import Rollview, connect
from rollview.limits import DEFAULT, Limits
from rollview.store.edits import Replace
from seeds import numbers

Opened = Callable[..., Rollview]

#: Every aggregate inside a query that can have a helper gets one, however small its table is.
HELPERS_FOR_ALL = Limits(helper_rows=0, helper_rows_per_group=0)


def holds(rv: Rollview) -> bool:
    """Whether the view equals its query; where sums of floats do not repeat, as far as noise does not decide that."""
    return right(rv, "v") is not False if isinstance(rv.engine, NoisyEngine) else rv.verify("v").ok


def on_duckdb(limits: Limits = DEFAULT) -> Rollview:
    return connect("duckdb:", limits=limits)


def started(rv: Rollview, case: History) -> Rollview:
    for text in case.start:
        rv.sql(text)
    rv.create("v", case.view)
    return rv


def equal_after_every_refresh(case: History, opened: Opened) -> bool:
    """Law 1: refresh equals recompute. Law 3: refreshing twice equals refreshing once."""
    rv = started(opened(), case)
    maintained = rv.catalog.get("v").always_full is None
    for commit in case.commits:
        for text in commit:
            rv.sql(text)
        done = rv.refresh("v")
        if not holds(rv) or (maintained and done.strategy == "full"):
            return False
        if rv.refresh("v").strategy != "no_op":
            return False
    return True


def equal_after_one_refresh(case: History, opened: Opened) -> bool:
    """Law 2: one refresh over many commits equals a refresh after each."""
    rv = started(opened(), case)
    for commit in case.commits:
        for text in commit:
            rv.sql(text)
    rv.refresh("v")
    return holds(rv)


def same(rv: Rollview, before: list[tuple[Any, ...]], after: list[tuple[Any, ...]]) -> bool:
    if isinstance(rv.engine, NoisyEngine):
        return alike(before, after)
    return Counter(map(repr, before)) == Counter(map(repr, after))


def no_trace_of_what_was_undone(case: History, opened: Opened) -> bool:
    """Law 4: a change and its inverse leave no trace, not even a hidden one."""
    rv = started(opened(), case)
    versions = {table: rv.store.version(table) for table in rv.tables()}
    before = stored(rv, "v")
    for commit in case.commits:
        for text in commit:
            rv.sql(text)
    rv.refresh("v")
    for table, version in versions.items():
        rv.store.commit(table, [Replace(rv.store.read(table, version))])
    rv.refresh("v")
    return holds(rv) and same(rv, before, stored(rv, "v"))


LAWS = [equal_after_every_refresh, equal_after_one_refresh, no_trace_of_what_was_undone]


def keep(
    law: Callable[[History, Opened], bool], seed: int, opened: Opened = on_duckdb, *, floats: bool = False
) -> None:
    """Every second history is one of views with helpers."""
    case = history(seed, floats=floats)
    limited = partial(opened, limits=HELPERS_FOR_ALL if seed % 2 else DEFAULT)
    if not law(case, limited):
        small = shrunk(case, lambda shorter: not law(shorter, limited))
        pytest.fail(f"seed {seed}, {law.__name__}:\n{small.script()}")


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_laws_on_some_random_histories(law: Callable[[History, Opened], bool]) -> None:
    for seed in numbers(4):
        keep(law, seed)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 3000, 100))
def test_laws_on_many_random_histories(start: int) -> None:
    for seed in range(start, start + 100):
        for law in LAWS:
            keep(law, seed)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_laws_where_no_sum_of_floats_repeats(law: Callable[[History, Opened], bool]) -> None:
    for seed in numbers(1):
        keep(law, seed, partial(noisy, seed), floats=True)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 3000, 100))
def test_laws_on_many_histories_where_no_sum_of_floats_repeats(start: int) -> None:
    for seed in range(start, start + 100):
        for law in LAWS:
            keep(law, seed, partial(noisy, seed), floats=True)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_laws_on_spark(seed: int, opened: Callable[..., Rollview], tmp_path: Path) -> None:
    number = iter(range(10_000))
    keep(
        equal_after_every_refresh,
        70_000 + seed,
        lambda limits: opened(folder=tmp_path / f"w{next(number)}", limits=limits),
    )
