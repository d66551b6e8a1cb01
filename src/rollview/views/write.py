"""A view's rows, vector and definition, written in one commit."""

from __future__ import annotations

import uuid
from collections.abc import Mapping

from rollview.engine.protocol import Frame
from rollview.plan.reserved import STATE
from rollview.store.edits import Replace
from rollview.store.protocol import Commit, Identity, Stamp
from rollview.strategy.full import FULL
from rollview.views.catalog import DEFINITION, RUN, Catalog, stamp_metadata
from rollview.views.definition import View


def stamped(
    view: View, vector: Mapping[str, Identity], sequence: int, strategy: str, epoch: str | None = None
) -> Stamp:
    """What a commit of a view's rows carries: the vector that they show, and who wrote them. Without an ``epoch``, a
    new one begins."""
    run = uuid.uuid4().hex
    return Stamp(stamp_metadata(view, vector, sequence, strategy, run, epoch or run), view.id, sequence)


def write_whole(
    catalog: Catalog,
    view: View,
    rows: Frame,
    vector: Mapping[str, Identity],
    sequence: int,
    old: View | None,
    *,
    over: bool = False,
) -> Commit | None:
    """Puts rows, vector and a new definition into one commit; None if another session's came first. With ``over``, they
    replace a view that is damaged."""
    stamp = stamped(view, vector, sequence, FULL)
    properties = {DEFINITION: view.to_json()}
    state = catalog.state(view.name)
    with catalog.engine.errors(view.query.text):
        if over:
            commit = catalog.store.recreate(state, rows, properties=properties, stamp=stamp)
        elif old is None:
            commit = catalog.store.create(state, rows, properties=properties, stamp=stamp)
        elif view == old:
            commit = catalog.store.commit(state, [Replace(rows)], stamp)
        else:
            commit = catalog.store.commit(state, [Replace(rows, (), properties)], stamp)
    return commit if is_ours(commit, stamp) else None


def is_ours(commit: Commit, stamp: Stamp) -> bool:
    """Whether the newest commit is the one just asked for, and not another session's with the same sequence number."""
    return bool(commit.metadata.get(RUN) == stamp.metadata[RUN])


def publish(catalog: Catalog, view: View) -> None:
    """Makes the view's name readable from Spark SQL, showing the query's columns only."""
    catalog.store.name_query(view.name, catalog.state(view.name), view.layout.show, called=STATE)
