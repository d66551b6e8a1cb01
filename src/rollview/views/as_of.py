"""The rows that a table or a view has at a moment. Nothing that is stored moves."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rollview.engine.protocol import Frame
from rollview.views.catalog import Catalog
from rollview.views.define import with_choices_made
from rollview.views.definition import View
from rollview.views.goal import Goal
from rollview.views.past import Past
from rollview.views.relation import as_defined, query_over, relation
from rollview.views.shape import check_same_columns, schema_errors

#: The rows of a view at the moment, if something beside its query and its stored versions tells them.
OfView = Callable[[str], Frame | None]


def rows_as_of(catalog: Catalog, name: str, goal: Goal, of_view: OfView = lambda name: None) -> Frame:
    """The rows at a goal: those of a stored version that shows it, if there is one; those that ``of_view`` has; else
    the query over its tables there."""
    found = relation(catalog, name)
    if not catalog.has(name):
        return found.rows(goal.version(catalog, name).version)
    if (stored := Past(catalog, name).showing(goal.vector)) is not None:
        return found.rows(stored.version)
    if (told := of_view(name)) is not None:
        return told
    view, engine = catalog.get(name), catalog.engine
    with engine.settings(view.settings):
        below = {table: rows_as_of(catalog, table, goal, of_view) for table in view.tables}
        frames = {table: as_defined(engine, view.bases[table], rows) for table, rows in below.items()}
        made = with_choices_made(catalog, view, frames)
        return _queried(catalog, view, frames) if made is None else made[0]


def _queried(catalog: Catalog, view: View, frames: Mapping[str, Frame]) -> Frame:
    """The query over rows of its tables. Raises SchemaChanged if these have other columns than the view needs."""
    with schema_errors(view):
        rows = query_over(catalog, view, frames)
        with catalog.engine.errors(view.query.text):
            columns = catalog.engine.columns(rows)
    check_same_columns(view, columns)
    return rows
