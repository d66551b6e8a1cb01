"""Why a refresh has to recompute a view, as far as that is known before any change is read."""

from __future__ import annotations

from collections.abc import Mapping

from rollview.frontend.query import TIME_DEPENDENT
from rollview.frontend.sql import BaseTable
from rollview.parse.views import Policy
from rollview.state.types import FORMAT
from rollview.store.protocol import Identity
from rollview.views.catalog import Catalog, Reflected
from rollview.views.compiled import BUG
from rollview.views.definition import View
from rollview.views.relation import relation


def why_full(
    catalog: Catalog, view: View, before: Reflected, target: Mapping[str, Identity], full: bool, back: bool
) -> str | None:
    """The code of the reason; None if there is none. ``back`` says that a table went back to an earlier version."""
    if full:
        return "requested"
    if view.policy is Policy.FULL:
        return "policy"
    if was_replaced(before, target):
        return "table_replaced"
    if back:
        return "table_went_back"
    if view.always_full is not None:
        return view.always_full
    if any(_key(relation(catalog, table).base()) != _key(base) for table, base in view.bases.items()):
        return "key_changed"
    if catalog.compiled(view).trace is not None:
        return BUG
    return None if is_as_stored(catalog, view) else "layout_changed"


def is_as_stored(catalog: Catalog, view: View) -> bool:
    """Whether this version of rollview stores the view as it is stored."""
    layout, state = view.layout, catalog.compiled(view).state
    if layout.format != FORMAT or state is None:
        return False
    stored = (state.kind, state.columns, state.on, state.shown.query)
    return stored == (layout.kind, layout.columns, layout.on, layout.show) and state.has_one_value_each


def was_replaced(before: Reflected, target: Mapping[str, Identity]) -> bool:
    """Whether a base table is another one than when the view was refreshed last."""
    return any(t not in before.vector or before.vector[t].table_id != i.table_id for t, i in target.items())


def varies(view: View, vector: Mapping[str, Identity]) -> bool:
    """Whether the query may return other rows at one and the same vector."""
    return view.always_full == TIME_DEPENDENT or any(identity.version is None for identity in vector.values())


def _key(base: BaseTable) -> tuple[object, ...]:
    return base.key, base.not_null
