"""Helpers of views: made with them, dropped with them. What they are, ``state/helpers`` says.

A helper costs one more write at every refresh, and room. It is worth that where it saves reading a large table again
and its groups are far fewer than the rows that they stand for; and wherever what it stores would have other values when
computed again.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from rollview.codegen.printer import print_plan
from rollview.delta.analysis.inexact import makes_inexact, of_a_bag
from rollview.delta.partials import RECOMPUTE
from rollview.engine.protocol import Frame
from rollview.parse.names import Name
from rollview.parse.stored_names import HELPER_PREFIX, STATE_PREFIX, view_of
from rollview.parse.views import Policy
from rollview.plan.nodes import Aggregate, Column, Computed, Node, Project, Scan, Window
from rollview.state.helpers import SAVES, SETTLES, helped, helper_id, helper_labels
from rollview.state.state import BAG, GROUPS, State, made_types
from rollview.store.protocol import Identity
from rollview.views.catalog import DEFINITION, Catalog
from rollview.views.define import base_of, compiled_plan, compiled_view, defined, undefined, write_whole
from rollview.views.definition import Helper, View
from rollview.views.relation import base_rows, query_at
from rollview.views.results import INEXACT

#: The helpers that were made for one view, and for its helpers: the same part of a query is stored once.
Made = dict[str, Helper | None]


def with_helpers(
    catalog: Catalog, view: View, rows: Frame, vector: Mapping[str, Identity], made: Made | None = None
) -> tuple[View, Frame, dict[str, Identity]]:
    """The view defined over helpers for the parts of it that are worth one, which are made at the vector; its rows, and
    the vector with the helpers. A view without helpers, or one that is recomputed in any case, is as it was."""
    alone = view, rows, dict(vector)
    compiled, _ = compiled_plan(view)
    if compiled is None or view.always_full not in (None, INEXACT) or view.policy is Policy.FULL:
        return alone
    made = {} if made is None else made
    state = compiled_view(catalog, view).state
    kinds = {} if state is None else of_a_bag(state.kinds) if state.kind == BAG else state.kinds
    before = set(made)
    used: dict[str, Helper] = {}

    def helper(node: Node, why: Collection[str]) -> str | None:
        known = helper_id(node)
        if made.get(known) is None and (known not in made or SETTLES in why):
            made[known] = _made(catalog, view, node, vector, why, kinds, made)
        if (found := made[known]) is not None:
            used[known] = found
        return None if found is None else found.name

    try:
        helped(compiled, helper)
        if not used:
            return alone
        helpers = tuple(used.values())
        bases = {each.name: base_of(catalog, each.name) for each in helpers}
        reached = {each.name: catalog.identity(each.name) for each in helpers}
        over = replace(view, helpers=helpers, bases={**view.bases, **bases})
        at = {**vector, **reached}
        over, rows = defined(catalog, over, at, query_at(catalog, over, at))
    except BaseException:
        _drop_made(catalog, made, before)
        raise
    if over.always_full is not None:
        _drop_made(catalog, made, before)
        return alone
    return over, rows, at


def with_new_helpers(
    catalog: Catalog, view: View, vector: Mapping[str, Identity]
) -> tuple[View, Frame, dict[str, Identity]]:
    """A view that is recomputed, with other helpers than it had: its tables have changed, or a helper is gone."""
    alone = replace(view, helpers=(), bases={table: view.bases[table] for table in view.tables})
    at = {table: vector[table] for table in alone.tables}
    alone, rows = defined(catalog, alone, at, query_at(catalog, alone, at))
    return with_helpers(catalog, alone, rows, at)


def _drop_made(catalog: Catalog, made: Made, before: Collection[str]) -> None:
    """Drops the helpers that were made since."""
    new = [known for known in made if known not in before]
    drop_helpers(catalog, [found for known in new if (found := made.pop(known)) is not None])


def _made(
    catalog: Catalog,
    view: View,
    node: Node,
    vector: Mapping[str, Identity],
    why: Collection[str],
    kinds: Mapping[str, str],
    made: Made,
) -> Helper | None:
    """The helper for a part of the query; None if it is not worth one, or if its changes cannot be followed. ``kinds``
    are types that are known already."""
    tables = sorted({scan.table for scan in node.walk() if isinstance(scan, Scan)})
    at = {table: vector[table] for table in tables}
    settles = SETTLES in why and _is_inexact(catalog, view, node, at, kinds)
    if not settles and SAVES not in why:
        return None
    most = max((catalog.store.count(catalog.stored(t), i.version) for t, i in at.items()), default=0)
    if not settles and most < catalog.limits.helper_rows:
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
    if state is None or own.always_full not in (None, INEXACT) or not (settles or _follows(state)):
        return None
    if not settles and _too_many_values(catalog, own, node, at, most):
        return None
    before = set(made)
    own, rows, at = with_helpers(catalog, own, rows, at, made)
    if own.always_full is not None:
        return None
    commit = write_whole(catalog, own, rows, at, 1, None)
    helper = Helper(helper_id(node), own.name, tuple(tables))
    if commit is not None and (settles or (commit.rows or 0) * catalog.limits.helper_rows_per_group <= most):
        return helper
    drop_helpers(catalog, [helper])
    _drop_made(catalog, made, before)
    return None


def _is_inexact(catalog: Catalog, view: View, node: Node, at: Mapping[str, Identity], kinds: Mapping[str, str]) -> bool:
    """Whether a part of the query makes values that are not the same when computed again; its operator is at the top,
    or below what gives it a key."""
    while isinstance(node, Project):
        node = node.input
    items = node.aggregates if isinstance(node, Aggregate) else node.functions if isinstance(node, Window) else ()
    if {item.column.name for item in items} <= kinds.keys() or not makes_inexact(node, {}):
        return makes_inexact(node, kinds)
    frames = {table: base_rows(catalog, view.bases[table], identity.version) for table, identity in at.items()}

    def types(plan: Node) -> Sequence[str]:
        frame = catalog.engine.select(plan, frames, helper_labels(plan))
        return [kind for _, kind in catalog.engine.columns(frame)]

    return makes_inexact(node, made_types(node, types))


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
    if found is None:
        return False
    groups, limits = max(found.to_pylist()[0].values()), catalog.limits
    return bool(groups * limits.helper_rows_per_group > most * limits.estimate_error)


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
