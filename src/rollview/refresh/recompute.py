"""The whole query, run over the tables as they are now, replaces what is stored of a view."""

from __future__ import annotations

from rollview.refresh.reasons import was_replaced
from rollview.refresh.target import Target
from rollview.store.protocol import Commit
from rollview.strategy.reasons import INEXACT
from rollview.views.catalog import Catalog
from rollview.views.define import defined
from rollview.views.helpers import drop_helpers, with_new_helpers
from rollview.views.relation import query_at
from rollview.views.shape import check_same_columns, over_tables_now, schema_errors
from rollview.views.write import write_whole


def recomputed(catalog: Catalog, target: Target, reason: str) -> Commit | None:
    """The commit; None if another session's came first."""
    view, old, vector = target.view, target.view, target.vector
    again = reason in ("key_changed", "layout_changed", "table_went_back") or was_replaced(target.before, vector)
    if again:
        view = over_tables_now(catalog, view)
    with schema_errors(view):
        frame = query_at(catalog, view, vector)
        with catalog.engine.errors(view.query.text):
            columns = catalog.engine.columns(frame)
    check_same_columns(view, columns)
    made = defined(catalog, view, vector, frame)
    if made.view.always_full == INEXACT and (again or old.always_full is None):  # its helpers do not fit, or are lost
        made, vector = with_new_helpers(catalog, made.view, vector)
    commit = write_whole(catalog, made.view, made.rows, vector, target.before.sequence + 1, old)
    lost, kept = (made.view, old) if commit is None else (old, made.view)
    drop_helpers(catalog, [helper for helper in lost.helpers if helper not in kept.helpers])
    if commit is not None:
        catalog.remember(made.view, made.compiled)
    return commit
