"""What the compiler makes of each view of the tests, as text: plan, key, stored state, Δ-scripts, SQL, explanation.

One file for each view in ``tests/golden/<set>/``. A change of the compiler that is meant to change nothing leaves all of
them byte-equal; one that is meant to is seen in their diff. ``pytest --bless tests/test_golden.py`` writes them again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import shop
from rollview import Rollview, RollviewError, connect
from rollview.bench import tpch
from rollview.compile.printing import DIALECTS, print_plan
from rollview.compile.script import refresh_script, show_script
from rollview.compile.state import State
from rollview.refresh.defining import compiled_view
from rollview.refresh.views import View

FOLDER = Path(__file__).parent / "golden"


@dataclass(frozen=True)
class Set:
    """Views over the same tables, which ``load`` makes."""

    name: str
    views: Mapping[str, str]
    load: Callable[[Rollview], None]


def _shop(rv: Rollview) -> None:
    for statement in shop.schema():
        rv.sql(statement)


def _tpch(rv: Rollview) -> None:
    """The tables of TPC-H, without rows."""
    for name, table in tpch.TABLES.items():
        columns = ", ".join(f"{column} {kind}" for column, kind in table.columns)
        rv.sql(f"CREATE TABLE {name} ({columns}, PRIMARY KEY ({', '.join(table.key)}))")


SETS = (
    Set("conformance", {view.name: view.sql for view in shop.views()}, _shop),
    Set("more_views", {view.name: view.sql for view in shop.more_views() if not view.spark_only}, _shop),
    Set("tpch", tpch.queries(), _tpch),
)


def goldens(chosen: Set) -> Iterator[tuple[str, str]]:
    """The name of each view of a set, and its text."""
    rv = connect("duckdb:")
    chosen.load(rv)
    for name, sql in chosen.views.items():
        try:
            rv.create(name, sql)
        except RollviewError as error:
            yield name, f"refused: {error}\n"
            continue
        yield name, golden(rv, rv.catalog.get(name))
        rv.drop(name)


def golden(rv: Rollview, view: View) -> str:
    """All that is known of a view before its first refresh."""
    compiled = compiled_view(rv.catalog, view)
    parts = [_timeless(rv.explain(view.name))]
    if compiled.view is not None:
        parts += [f"SQL in {dialect}\n{print_plan(compiled.view.plan, dialect)}" for dialect in DIALECTS]
    if compiled.state is not None:
        parts.append(_stored(compiled.state))
        if view.always_full is None:
            parts += [_script(compiled.state, view, [table]) for table in view.tables]
    return "\n\n".join(parts) + "\n"


def _timeless(explained: str) -> str:
    return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", "then", explained)


def _stored(state: State) -> str:
    shown = "" if state.picked is None else f"\nvisible as they are: {', '.join(state.picked)}"
    columns = ", ".join(state.columns)
    return (
        f"stored: {state.kind} [{columns}] on [{', '.join(state.on)}]{shown}\n{state.show}\n{state.feed or 'no feed'}"
    )


def _script(state: State, view: View, changed: list[str]) -> str:
    """The Δ-script for changes of some tables; and what is done instead if rows were only added to them."""
    script = refresh_script(state, view.moved(changed))
    grown = refresh_script(state, view.moved(changed), view.moved(changed))
    if script is None:
        return f"changes of {', '.join(changed)}: nothing to do"
    added = "nothing to do" if grown is None else grown.strategy
    return "\n".join(
        [f"changes of {', '.join(changed)}: {script.strategy}; new rows only: {added}", *show_script(script)]
    )
