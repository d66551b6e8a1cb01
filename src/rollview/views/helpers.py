"""Helpers are created and dropped with their view; ``state/helpers`` describes them.

A helper costs space and one more write at every refresh. It is created in two cases: if it saves reading a large table
again and has far fewer groups than that table has rows; and if recomputing its values would give other last digits.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from rollview.codegen.printer import print_plan
from rollview.delta.analysis.inexact import makes_inexact, of_a_bag
from rollview.delta.partials import RECOMPUTE
from rollview.frontend.query import Query
from rollview.parse.names import Name
from rollview.parse.stored_names import HELPER_PREFIX, STATE_PREFIX, view_of
from rollview.parse.views import Policy
from rollview.plan.nodes import Aggregate, Column, Computed, Node, Project, Scan, Window
from rollview.state.bag import Bag
from rollview.state.groups import Groups
from rollview.state.helpers import SAVES, SETTLES, helped, helper_id, helper_labels
from rollview.state.state import State
from rollview.state.top_rows import TopRows
from rollview.state.types import FoundTypes, made_types
from rollview.store.protocol import Identity
from rollview.strategy.reasons import INEXACT
from rollview.views.catalog import DEFINITION, Catalog
from rollview.views.define import Defined, defined, undefined
from rollview.views.definition import Helper, View
from rollview.views.relation import query_at, relation, rows_at
from rollview.views.write import write_whole

#: The helpers that were created for one view and for its helpers: the same part of a query is stored once.
Known = dict[str, Helper | None]


def with_helpers(
    catalog: Catalog, made: Defined, vector: Mapping[str, Identity], known: Known | None = None
) -> tuple[Defined, dict[str, Identity]]:
    """The view defined over helpers for the parts of it that are worth one, which are created at the vector; and the
    vector with the helpers. A view without helpers, or one that is recomputed in any case, is as it was."""
    view, query, state = made.view, made.compiled.query, made.compiled.state
    alone = made, dict(vector)
    if query is None or view.always_full not in (None, INEXACT) or view.policy is Policy.FULL:
        return alone
    known = {} if known is None else known
    before = set(known)
    used: dict[str, Helper] = {}

    def helper(node: Node, why: Collection[str]) -> str | None:
        id = helper_id(node)
        if known.get(id) is None and (id not in known or SETTLES in why):
            known[id] = _made(catalog, view, node, vector, why, _kinds(state), known)
        if (found := known[id]) is not None:
            used[id] = found
        return None if found is None else found.name

    try:
        helped(query, helper)
        if not used:
            return alone
        helpers = tuple(used.values())
        bases = {each.name: relation(catalog, each.name).base() for each in helpers}
        at = {**vector, **{each.name: catalog.identity(each.name) for each in helpers}}
        over = replace(view, helpers=helpers, bases={**view.bases, **bases})
        found = defined(catalog, over, at, query_at(catalog, over, at))
    except BaseException:
        _drop_made(catalog, known, before)
        raise
    if found.view.always_full is not None:
        _drop_made(catalog, known, before)
        return alone
    return found, at


def _kinds(state: State | None) -> Mapping[str, str]:
    """Types of what aggregates and windows make that are known already."""
    if state is None:
        return {}
    stored = state.rows if isinstance(state, TopRows) else state
    return of_a_bag(state.followed.kinds) if isinstance(stored, Bag) else state.followed.kinds


def with_new_helpers(
    catalog: Catalog, view: View, vector: Mapping[str, Identity]
) -> tuple[Defined, dict[str, Identity]]:
    """A view that is recomputed, with other helpers than it had: its tables have changed, or a helper is gone."""
    alone = replace(view, helpers=(), bases={table: view.bases[table] for table in view.tables})
    at = {table: vector[table] for table in alone.tables}
    return with_helpers(catalog, defined(catalog, alone, at, query_at(catalog, alone, at)), at)


def _drop_made(catalog: Catalog, known: Known, before: Collection[str]) -> None:
    """Drops the helpers that were created since."""
    new = [id for id in known if id not in before]
    drop_helpers(catalog, [found for id in new if (found := known.pop(id)) is not None])


def _made(
    catalog: Catalog,
    view: View,
    node: Node,
    vector: Mapping[str, Identity],
    why: Collection[str],
    kinds: Mapping[str, str],
    known: Known,
) -> Helper | None:
    """The helper for a part of the query; None if it is not worth one, or if its changes cannot be followed. ``kinds``
    are types that are known already."""
    tables = sorted({scan.table for scan in node.walk() if isinstance(scan, Scan)})
    at = {table: vector[table] for table in tables}
    settles = SETTLES in why and _is_inexact(catalog, view, node, at, kinds)
    if not settles and SAVES not in why:
        return None
    most = max((relation(catalog, table).count(i.version) for table, i in at.items()), default=0)
    if not settles and most < catalog.limits.helper_rows:
        return None
    own = _alone(catalog, view, node, tables)
    made = defined(catalog, own, at, query_at(catalog, own, at))
    state, reason = made.compiled.state, made.view.always_full
    if state is None or reason not in (None, INEXACT) or not (settles or _follows(state)):
        return None
    if not settles and _too_many_values(catalog, own, node, at, most):
        return None
    before = set(known)
    made, at = with_helpers(catalog, made, at, known)
    if made.view.always_full is not None:
        return None
    commit = write_whole(catalog, made.view, made.rows, at, 1, None)
    helper = Helper(helper_id(node), own.name, tuple(tables))
    if commit is not None and (settles or (commit.rows or 0) * catalog.limits.helper_rows_per_group <= most):
        catalog.remember(made.view, made.compiled)
        return helper
    drop_helpers(catalog, [helper])
    _drop_made(catalog, known, before)
    return None


def _alone(catalog: Catalog, view: View, node: Node, tables: Sequence[str]) -> View:
    """A part of a view's query as a view of its own."""
    aliases = {table: f"base{i}" for i, table in enumerate(tables)}
    sources: dict[Name, str] = {(alias,): table for table, alias in aliases.items()}
    text = print_plan(node, "spark", helper_labels(node), lambda scan: aliases[scan.table])
    name = catalog.store.companion(view.name, f"{HELPER_PREFIX}{uuid.uuid4().hex[:8]}_")
    bases = {table: view.bases[table] for table in tables}
    return undefined(name, Query(text), view.policy, sources, bases, view.settings, owner=view.title)


def _is_inexact(catalog: Catalog, view: View, node: Node, at: Mapping[str, Identity], kinds: Mapping[str, str]) -> bool:
    """Whether a part of the query makes values that are not the same when computed again; its operator is at the top,
    or below what gives it a key."""
    while isinstance(node, Project):
        node = node.input
    items = node.aggregates if isinstance(node, Aggregate) else node.functions if isinstance(node, Window) else ()
    if {item.column.name for item in items} <= kinds.keys() or not makes_inexact(node, {}):
        return makes_inexact(node, kinds)
    frames = {table: rows_at(catalog, view.bases[table], identity.version) for table, identity in at.items()}

    def types(plan: Node) -> Sequence[str]:
        frame = catalog.engine.select(plan, frames, helper_labels(plan))
        return [kind for _, kind in catalog.engine.columns(frame)]

    return makes_inexact(node, made_types(node, FoundTypes(types)))


def _too_many_values(catalog: Catalog, own: View, node: Node, at: Mapping[str, Identity], most: int) -> bool:
    """Whether one of the keys has, by one reading and about, more values than there may be groups."""
    if not isinstance(node, Aggregate):
        return False
    columns = (Column(f"n{i}", f"n{i}") for i, _ in enumerate(node.keys))
    values = (exp.ApproxDistinct(this=item.value.copy()) for item in node.keys)
    counts = Aggregate(node.input, (), tuple(map(Computed, columns, values)))
    frames = {table: rows_at(catalog, own.bases[table], identity.version) for table, identity in at.items()}
    with catalog.engine.errors(own.query.text):
        kept = catalog.engine.keep(catalog.engine.select(counts, frames))
    found = kept.local
    catalog.engine.forget([kept])
    if found is None:
        return False
    groups, limits = max(found.to_pylist()[0].values()), catalog.limits
    return bool(groups * limits.helper_rows_per_group > most * limits.estimate_error)


def _follows(state: State) -> bool:
    """Whether a helper can follow inserted rows without reading its tables."""
    if isinstance(state, Groups):
        return all(partial.combine != RECOMPUTE for partial in state.partials)
    return isinstance(state, TopRows)


def without_lost(catalog: Catalog, view: View) -> View:
    """The view as it is; without helpers if one of them is missing or damaged: then its state has another layout, and
    the view is recomputed."""
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
    """The helpers of a view whose definition is lost, and their helpers, found by their names."""
    states = (table for table in catalog.store.tables() if view_of(table) == name and table != catalog.state(name))
    helpers = (catalog.store.owner(table, STATE_PREFIX) for table in states)
    return [Helper("", helper, ()) for helper in helpers if helper is not None]
