"""Deltas of plans on DuckDB, without views: each table is there as it is now, as it was, and as what changed."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

import duck
from rollview.codegen.printer import print_plan
from rollview.delta.derivation import CHANGE, NEW, OLD, Derivation, Step, at
from rollview.delta.passes import PASSES, Pass, improved
from rollview.delta.rewrites import prepared
from rollview.delta.rules import RULES
from rollview.engine.duck import DuckEngine, DuckFrame
from rollview.frontend.sql import BaseTable
from rollview.plan.nodes import Node, Scan
from rollview.plan.reserved import WEIGHT
from rollview.state.types import FoundTypes, added_up, window_types

Rows = Counter[tuple[Any, ...]]


@dataclass(frozen=True)
class Choice:
    """How a delta is derived: with the rewrites of plans and what is known of types, or by the rules alone."""

    rewrites: bool
    passes: tuple[Pass, ...]

    def __str__(self) -> str:
        return f"{'rewrites' if self.rewrites else 'rules alone'}, {[each.__name__ for each in self.passes]}"


PLAIN, COMPLETE = Choice(False, ()), Choice(True, PASSES)


def one_of_the_others(rng: random.Random) -> Choice:
    """A choice of some of what may be left out."""
    alone = [Choice(True, (each,)) for each in PASSES]
    without = [Choice(True, tuple(each for each in PASSES if each is not left)) for left in PASSES]
    return rng.choice([PLAIN, PLAIN, Choice(False, PASSES), Choice(True, ()), *alone, *without])


class Versions:
    """Tables on one connection. ``t`` is followed by ``old_t`` and ``change_t``, once ``change`` has run."""

    def __init__(self, tables: Mapping[str, BaseTable], db: duckdb.DuckDBPyConnection | None = None) -> None:
        self.engine = DuckEngine(db or duckdb.connect())
        self.tables = tables
        self.db = self.engine.connection
        self.db.execute("SET threads = 1")  # of a few rows; and what takes long is DuckDB's optimizer

    def change(self, statements: Iterable[str]) -> list[str]:
        """Runs statements; tells which tables they changed."""
        for table in self.tables:
            self.db.execute(f"CREATE OR REPLACE TEMP TABLE old_{table} AS FROM {table}")
        for text in statements:
            duck.execute_spark_sql(self.db, text)
        changed = []
        for table in self.tables:
            self.db.execute(
                f"CREATE OR REPLACE TEMP TABLE change_{table} AS SELECT *, 1::BIGINT AS __w FROM (FROM {table} EXCEPT ALL FROM old_{table}) "
                f"UNION ALL SELECT *, -1::BIGINT FROM (FROM old_{table} EXCEPT ALL FROM {table})"
            )
            if self.db.execute(f"SELECT 1 FROM change_{table} LIMIT 1").fetchall():
                changed.append(table)
        return changed

    def fetched(self, plan: Node, names: Sequence[str]) -> list[tuple[Any, ...]]:
        """Some columns of the rows of a plan."""
        picked = [column.name for column in plan.columns]
        found = self.db.execute(print_plan(plan, "duckdb", picked, relation)).fetchall()
        return [tuple(row[picked.index(name)] for name in names) for row in found]

    def types(self, plan: Node) -> list[str]:
        """The types of a plan's columns."""
        names = [f"c{i}" for i in range(len(plan.columns))]
        text = print_plan(at(plan, NEW, ()), "duckdb", names, relation)
        return [kind for _, kind in self.engine.columns(DuckFrame(text))]


class PlanDeltas:
    """The deltas of one plan over some versions; what does not depend on a choice is computed once."""

    def __init__(self, versions: Versions, plan: Node) -> None:
        self.versions, self.plan = versions, plan
        self._text = print_plan(at(plan, NEW, ()), "duckdb", [c.name for c in plan.columns], relation)
        self._known: tuple[Any, Any] | None = None
        self._steps: dict[tuple[bool, frozenset[str]], list[Step]] = {}

    def rows(self) -> Rows:
        """What the plan returns now."""
        return Counter(self.versions.db.execute(self._text).fetchall())

    def delta(self, changed: Sequence[str], choice: Choice) -> Rows:
        """The rows of the delta with their weights, none of weight zero."""
        found: Rows = Counter()
        steps = self._derived(choice.rewrites, frozenset(changed))
        if not steps:
            return found
        *steps, last = improved(steps, choice.passes)
        db = self.versions.db
        for step in steps:
            names = [column.name for column in step.plan.columns]
            db.execute(
                f'CREATE OR REPLACE TEMP TABLE "{step.name}" AS {print_plan(step.plan, "duckdb", names, relation)}'
            )
        for row in self.versions.fetched(last.plan, [*(c.name for c in self.plan.columns), WEIGHT.name]):
            found[row[:-1]] += row[-1]
        return Counter({row: weight for row, weight in found.items() if weight})

    def _derived(self, rewrites: bool, changed: frozenset[str]) -> list[Step]:
        if (rewrites, changed) not in self._steps:
            plan, derivation = self.plan, Derivation(RULES, changed)
            if rewrites:
                derivation = Derivation(RULES, changed, *self._types())
                plan = prepared(plan, derivation)
            delta = derivation.delta(plan)
            self._steps[rewrites, changed] = [] if delta is None else [*derivation.steps, Step("rows", delta, "")]
        return self._steps[rewrites, changed]

    def _types(self) -> tuple[Any, Any]:
        if self._known is None:
            types = FoundTypes(self.versions.types)
            added, kinds = added_up(self.plan, types)
            self._known = added, kinds | window_types(self.plan, types)
        return self._known


def relation(scan: Scan) -> str:
    """The table of a version."""
    return {OLD: f"old_{scan.table}", CHANGE: f"change_{scan.table}"}.get(scan.version, scan.table)


def added(before: Rows, delta: Rows) -> Rows:
    """The rows after a delta."""
    found = Counter(before)
    found.update(delta)
    return Counter({row: number for row, number in found.items() if number})
