"""Helpers of views: made with them, dropped with them. What they are, ``compile/helpers`` says.

A helper costs one more write at every refresh, and room. It is worth that where it saves reading a large table again,
and where its groups are far fewer than the rows that they stand for.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from rollview.compile.helpers import helped, helper_id, helper_labels
from rollview.compile.printing import print_plan
from rollview.compile.state import GROUPS, State
from rollview.delta.partials import RECOMPUTE
from rollview.parse.names import Name
from rollview.parse.stored_names import HELPER_PREFIX, STATE_PREFIX, view_of
from rollview.parse.view_statements import Policy
from rollview.plan.nodes import Aggregate, Column, Computed, Node, Scan
from rollview.refresh.defining import base_of, compiled_plan, compiled_view, defined, undefined, write_whole
from rollview.refresh.relations import base_rows, query_at
from rollview.refresh.views import DEFINITION, Catalog, Helper, View
from rollview.store.protocol import Identity

#: A table of fewer rows is read again as fast as a helper is written.
WORTH_ROWS = 1_000_000

#: A helper is kept if it has one group for so many rows of the largest table below it.
ROWS_PER_GROUP = 8

#: An approximate number may be too high by this factor.
_ABOUT = 1.2


def with_helpers(catalog: Catalog, view: View, vector: Mapping[str, Identity]) -> tuple[View, dict[str, Identity]]:
    """The view with helpers for the parts of it that are worth one, made at the vector; and the vector with them.

    The view is yet to be defined over them. Without helpers it is as it was.
    """
    compiled, reason = compiled_plan(view)
    if compiled is None or reason is not None or view.always_full is not None or view.policy is Policy.FULL:
        return view, dict(vector)
    made: dict[str, Helper | None] = {}

    def helper(node: Node) -> str | None:
        known = helper_id(node)
        if known not in made:
            made[known] = _made(catalog, view, node, vector)
        found = made[known]
        return None if found is None else found.name

    try:
        helped(compiled, helper)
    except BaseException:
        drop_helpers(catalog, [each for each in made.values() if each is not None])
        raise
    helpers = tuple(each for each in made.values() if each is not None)
    bases = {each.name: base_of(catalog, each.name) for each in helpers}
    reached = {each.name: catalog.identity(each.name) for each in helpers}
    return replace(view, helpers=helpers, bases={**view.bases, **bases}), {**vector, **reached}


def _made(catalog: Catalog, view: View, node: Node, vector: Mapping[str, Identity]) -> Helper | None:
    """The helper for a part of the query; None if it is not worth one, or if rows that come cannot be added to it."""
    tables = sorted({scan.table for scan in node.walk() if isinstance(scan, Scan)})
    at = {table: vector[table] for table in tables}
    most = max((catalog.store.count(catalog.stored(t), i.version) for t, i in at.items()), default=0)
    if most < WORTH_ROWS:
        return None
    aliases = {table: f"base{i}" for i, table in enumerate(tables)}
    sources: dict[Name, str] = {(alias,): table for table, alias in aliases.items()}
    text = print_plan(node, "spark", helper_labels(node), lambda scan: aliases[scan.table])
    own = undefined(
        catalog.store.companion(view.name, f"{HELPER_PREFIX}{uuid.uuid4().hex[:8]}_"), text, view.policy, sources,
        {table: view.bases[table] for table in tables}, view.settings, owner=view.title,
    )  # fmt: skip
    own, rows = defined(catalog, own, at, query_at(catalog, own, at))
    state = compiled_view(catalog, own).state
    if own.always_full is not None or state is None or not _follows(state):
        return None
    if _too_many_values(catalog, own, node, at, most):
        return None
    own, at = with_helpers(catalog, own, at)
    if own.helpers:
        own, rows = defined(catalog, own, at, query_at(catalog, own, at))
    commit = write_whole(catalog, own, rows, at, 1, None)
    made = Helper(helper_id(node), own.name, tuple(tables))
    if commit is not None and (commit.rows or 0) * ROWS_PER_GROUP <= most:
        return made
    drop_helpers(catalog, [made])
    return None


def _too_many_values(catalog: Catalog, own: View, node: Node, at: Mapping[str, Identity], most: int) -> bool:
    """Whether one of the keys has, by one reading and about, more values than there may be groups."""
    if not isinstance(node, Aggregate):
        return False
    columns = (Column(f"n{i}", f"n{i}") for i, _ in enumerate(node.keys))
    values = (exp.ApproxDistinct(this=item.value.copy()) for item in node.keys)
    counts = Aggregate(node.input, (), tuple(map(Computed, columns, values)))
    frames = {table: base_rows(catalog, own.bases[table], identity.version) for table, identity in at.items()}
    with catalog.engine.errors(own.query):
        kept = catalog.engine.keep(catalog.engine.select(counts, frames))
    found = kept.local
    catalog.engine.forget([kept])
    return found is not None and max(found.to_pylist()[0].values()) * ROWS_PER_GROUP > most * _ABOUT


def _follows(state: State) -> bool:
    """Whether a helper follows rows that come without a look at its tables."""
    if state.kind == GROUPS:
        return all(partial.combine != RECOMPUTE for partial in state.partials)
    return state.first is not None


def without_lost(catalog: Catalog, view: View) -> View:
    """The view as it is; without helpers if one is no more or damaged: then it is stored in another way, and
    recomputed."""
    if all(catalog.has(helper.name) and catalog.damage(helper.name) is None for helper in view.helpers):
        return view
    bases = {table: view.bases[table] for table in view.tables}
    alone = replace(view, helpers=(), bases=bases)
    catalog.store.set_properties(catalog.state(view.name), {DEFINITION: alone.to_json()})
    drop_helpers(catalog, view.helpers)
    return alone


def drop_helpers(catalog: Catalog, helpers: Sequence[Helper]) -> None:
    for helper in helpers:
        if catalog.has(helper.name):
            known = catalog.known(helper.name)
            catalog.store.drop(catalog.state(helper.name))
            drop_helpers(catalog, known.helpers if known is not None else ())


def helpers_of(catalog: Catalog, name: str) -> list[Helper]:
    """The helpers of a view whose definition is lost, and theirs, by their names."""
    states = (table for table in catalog.store.tables() if view_of(table) == name and table != catalog.state(name))
    helpers = (catalog.store.owner(table, STATE_PREFIX) for table in states)
    return [Helper("", helper, ()) for helper in helpers if helper is not None]
