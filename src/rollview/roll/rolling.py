"""A view that is propagated: its state, its delta, and what it reads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from rollview.delta.timed import Way
from rollview.errors import NotIncremental
from rollview.parse.views import Policy
from rollview.plan.nodes import Scan
from rollview.roll.extent import Extent
from rollview.roll.rows import refusal, why_untimed
from rollview.roll.stored import DeltaTable
from rollview.state.finish import finish_of
from rollview.state.state import State
from rollview.strategy.reasons import REASONS
from rollview.views.catalog import Catalog, Reflected
from rollview.views.compiled import compiled_query
from rollview.views.definition import View
from rollview.views.past import standing


@dataclass(frozen=True)
class Rolling:
    """A view whose changes can be forwarded. ``tables`` are those that its plan reads."""

    catalog: Catalog
    view: View
    state: State

    @cached_property
    def delta(self) -> DeltaTable:
        return DeltaTable(self.catalog, self.view)

    @cached_property
    def tables(self) -> list[str]:
        return sorted({node.table for node in self.state.followed.plan.walk() if isinstance(node, Scan)})

    @cached_property
    def below(self) -> list[str]:
        """Those of them that are views."""
        return [table for table in self.tables if self.catalog.has(table)]

    @cached_property
    def bases(self) -> list[str]:
        """Those of them that are tables."""
        return [table for table in self.tables if table not in self.below]

    def reflected(self) -> Reflected:
        """What the stored view shows."""
        return self.catalog.reflected(self.view)

    def standing(self) -> int | None:
        """The first position at which the tables stood as the view shows them; None if they stood so at none."""
        return standing(self.catalog, self.view, self.reflected().vector)


def rolling(catalog: Catalog, name: str) -> Rolling:
    """Raises NotIncremental for a view that cannot be propagated: it names the operator that has no timed rule."""
    view = catalog.get(name)
    state = catalog.compiled(view).state
    why = _why_not(catalog, view, state)
    if why is None and state is not None:
        return Rolling(catalog, view, state)
    raise NotIncremental(
        f"{view.title} cannot be propagated",
        why=why or REASONS["not_compiled"],
        todo="rv.refresh brings it to any moment, in steps if it is far: as_of=…, step_rows=…",
    )


def why_not(catalog: Catalog, name: str) -> str | None:
    """Why a view cannot be propagated; None if it can."""
    view = catalog.get(name)
    state = catalog.compiled(view).state
    return _why_not(catalog, view, state) or (REASONS["not_compiled"] if state is None else None)


def way_of(rolled: Rolling, extent: Extent | None) -> Way:
    """How the next forward query sees the tables: by their history, or by their presence if the store keeps no history
    of one of them. The way changes only where the tables stand level."""
    if extent is not None and not extent.is_level:
        return extent.way
    kept = all(map(rolled.catalog.store.keeps_history, rolled.bases))
    return Way.HISTORY if kept else Way.PRESENCE


def _why_not(catalog: Catalog, view: View, state: State | None) -> str | None:
    if view.policy is Policy.FULL:
        return "its policy is FULL"
    if view.helpers:  # which are for operators without a timed rule
        return _of_helped(view)
    if view.always_full is not None:
        return REASONS[view.always_full]
    if state is None:
        return REASONS["not_compiled"]
    if not any(isinstance(node, Scan) for node in state.followed.plan.walk()):
        return "it reads no table"
    found = (_why_not_below(catalog, table) for table in view.tables if catalog.has(table))
    return next((why for why in found if why is not None), None) or refusal(state)


def _why_not_below(catalog: Catalog, name: str) -> str | None:
    """Why the changes of a view that is read cannot be propagated on."""
    view = catalog.get(name)
    why = _why_not(catalog, view, catalog.compiled(view).state)
    if why is None and view.layout.feed is None:
        why = "there is no timed delta rule for LIMIT"
    return None if why is None else f"it reads the view {name}, which cannot be propagated: {why}"


def _of_helped(view: View) -> str:
    """Why the part of a query that a helper stores has no timed rule."""
    query = compiled_query(replace(view, helpers=())).query
    if query is None:
        return REASONS["not_compiled"]
    finish = finish_of(query.plan)
    return why_untimed(query.plan if finish is None else finish.root.input) or "it has helpers"
