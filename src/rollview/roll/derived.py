"""The change of a view's rows between two vectors, derived from the changes of its tables: what a refresh from one to
the other would compute. Nothing that is stored of the view is read, and nothing is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace

from rollview.delta.analysis.inexact import is_exact
from rollview.delta.derivation import CHANGE, Derivation, NotMaintained, Step
from rollview.delta.passes import improved
from rollview.delta.rewrites import prepared
from rollview.delta.rules import RULES
from rollview.delta.weights import consolidated
from rollview.engine.protocol import Frame, Kept, has_no_equality
from rollview.errors import SchemaChanged, TooLargeToSend, VersionGone
from rollview.plan.expressions import ref
from rollview.plan.nodes import Column, Computed, Node, Project, Scan, exactly
from rollview.plan.reserved import WEIGHT
from rollview.refresh.execute import Execution
from rollview.stack import deep
from rollview.state.types import NotRecorded, RecordedTypes, added_up, window_types
from rollview.store.protocol import Identity
from rollview.views.catalog import Catalog
from rollview.views.changes import ChangeSet, unreadable_feed
from rollview.views.compiled import Failed, compiled_query, guarded
from rollview.views.definition import View
from rollview.views.relation import added, check_columns, relation

Versions = Mapping[str, Identity]


def derived_changes(catalog: Catalog, view: View, before: Versions, upto: Versions, stack: ExitStack) -> Frame | None:
    """The view's columns and ``__w``, to be read while the ``stack`` is open. None if the change cannot be derived: the
    view is always recomputed, or the changes of a table are not known."""
    query = compiled_query(replace(view, helpers=())).query
    kinds = [column.type for column in view.columns]
    if query is None or view.always_full is not None or any(map(has_no_equality, kinds)):
        return None
    if not is_exact(query.plan, view.layout.made):  # a sum of floats has other last digits, computed again
        return None
    try:
        nets = _net_changes(catalog, view, query.plan, before, upto, stack)
        steps = guarded(lambda: _steps(view, query.plan, frozenset(nets)))
        if not steps:
            return no_changes(catalog, view)
        vectors = [{table: vector[table].version for table in view.tables} for vector in (before, upto)]
        given = {f"{table} {CHANGE}": net for table, net in nets.items()}
        execution = Execution(catalog, view, given, *vectors)
        stack.callback(execution.forget)
        with catalog.engine.errors(view.query.text):
            found = execution.derived(steps)
    except (VersionGone, SchemaChanged, TooLargeToSend, NotMaintained, Failed):
        return None
    return no_changes(catalog, view) if found is None else found.frame


def no_changes(catalog: Catalog, view: View) -> Frame:
    """The view's columns and ``__w``, and no rows."""
    rows = relation(catalog, view.name).rows()
    return catalog.engine.nothing(added(catalog.engine, rows))


def _net_changes(
    catalog: Catalog, view: View, plan: Node, before: Versions, upto: Versions, stack: ExitStack
) -> dict[str, Kept]:
    """The net changes of the tables that changed in the columns that the view uses."""
    found = {}
    for table in view.tables:
        old, new = before[table], upto[table]
        if old == new:
            continue
        if old.table_id != new.table_id or old.version is None or new.version is None:
            raise VersionGone(f"The changes of {table} are not known")
        now, used = relation(catalog, table), _used(view, plan, table)
        check_columns(now, view.bases[table], used, new.version)
        changes = ChangeSet(catalog.engine, catalog.limits, now, old.version, new.version, used)
        stack.callback(changes.forget)
        with unreadable_feed(table):
            net = changes.net(used)
        if net.count:
            found[table] = net.rows
    return found


@deep
def _steps(view: View, plan: Node, changed: frozenset[str]) -> list[Step]:
    """The steps that compute the change; none if there is none."""
    types = RecordedTypes(view.layout.made)
    try:
        known, kinds = added_up(plan, types)
        deriving = Derivation(RULES, changed, known, kinds | window_types(plan, types))
    except NotRecorded:
        deriving = Derivation(RULES, changed)
    delta = deriving.delta(prepared(plan, deriving))
    if delta is None:
        return []
    rows = consolidated(exactly(delta, (*plan.columns, WEIGHT)))
    pairs = zip(plan.columns, view.columns, strict=True)
    named = [Computed(Column(shown.name, shown.name, column.type), ref(column.name)) for column, shown in pairs]
    last = Project(rows, (*named, Computed(WEIGHT, ref(WEIGHT.name))))
    return improved([*deriving.steps, Step("rows", last, "the change of the view")])


def _used(view: View, plan: Node, table: str) -> list[str]:
    """The columns of a table that the query is computed from, at least one."""
    order = [name for name, _ in view.bases[table].columns]
    scans = (node for node in plan.walk() if isinstance(node, Scan) and node.table == table)
    names = {source for scan in scans for source in scan.sources}
    return [name for name in order if name in names] or order[:1]
