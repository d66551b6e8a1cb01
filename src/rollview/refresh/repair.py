"""A damaged view, stored again from what is known of its definition."""

from __future__ import annotations

import logging
import time
import uuid
from dataclasses import replace

from rollview.errors import Damaged
from rollview.parse.stored_names import written as written_name
from rollview.strategy.full import FULL
from rollview.views.catalog import Catalog
from rollview.views.create import written
from rollview.views.define import defined
from rollview.views.goal import Goal
from rollview.views.helpers import drop_helpers
from rollview.views.relation import query_at
from rollview.views.results import RefreshResult, since
from rollview.views.shape import check_same_columns, over_tables_now, schema_errors
from rollview.views.write import publish

logger = logging.getLogger("rollview")


def repaired(catalog: Catalog, name: str, damage: Damaged, goal: Goal) -> RefreshResult:
    """Computes a damaged view and stores it in the place of what is left of it. Raises Damaged if its definition is
    lost, too."""
    begin = time.monotonic()
    known = catalog.known(name)
    if known is None:
        raise Damaged(
            f"The materialized view {name} is damaged, and its definition is lost",
            why=damage.why,
            todo=f"define it again: CREATE OR REPLACE MATERIALIZED VIEW {written_name(name)} AS …",
        )
    alone = {table: known.bases[table] for table in known.tables}
    view = over_tables_now(catalog, replace(known, id=uuid.uuid4().hex, bases=alone, helpers=(), always_full=None))
    with catalog.engine.settings(view.settings), catalog.engine.measured() as work:
        target = goal.versions(catalog, view)
        with schema_errors(view):
            frame = query_at(catalog, view, target)
            with catalog.engine.errors(view.query.text):
                columns = catalog.engine.columns(frame)
        check_same_columns(view, columns)
        made, commit = written(catalog, defined(catalog, view, target, frame), target, 1, None, over=True, again=True)
    drop_helpers(catalog, known.helpers)
    publish(catalog, made.view)
    logger.info("%s: %s, because damaged", made.view.title, FULL)
    return RefreshResult(
        name,
        FULL,
        "damaged",
        {},
        made.view.shown(target),
        rows_read=work.rows_read,
        rows_written=commit.rows or 0,
        jobs=work.jobs,
        bytes_written=work.bytes_written,
        seconds=since(begin),
    )
