"""What a view is and what its next refresh would do, as text."""

from __future__ import annotations

from collections.abc import Sequence

from rollview.codegen.printer import print_plan
from rollview.errors import SchemaChanged
from rollview.frontend.query import TIME_DEPENDENT
from rollview.parse.views import Policy
from rollview.refresh.reasons import why_full
from rollview.strategy.choose import choices
from rollview.strategy.no_op import NO_OP
from rollview.strategy.plan import RefreshPlan
from rollview.strategy.propagate import Change
from rollview.strategy.reasons import REASONS
from rollview.strategy.show import show_with_view
from rollview.strategy.strategy import Situation
from rollview.views.catalog import Catalog
from rollview.views.definition import View
from rollview.views.relation import newest
from rollview.views.results import are_behind
from rollview.views.status import status


def explain_view(catalog: Catalog, name: str) -> str:
    view = catalog.get(name)
    now = status(catalog, view)
    lines = [f"materialized view {view.name}"]
    if view.comment:
        lines.append(f"  comment   {view.comment}")
    lines += [f"  policy    {view.policy.value}", "  columns"]
    width = max(len(column.name) for column in view.columns)
    lines += [f"    {column.name:<{width}}  {column.type}" for column in view.columns]
    lines.append("  reads")
    if now.damage is not None:
        lines.append(f"    damaged: {now.damage}")
    for table, version in sorted(now.vector.items()):
        if version is None:
            lines.append(f"    {table}, which has no versions: nothing tells whether it has changed")
            continue
        behind = now.behind.get(table, 0)
        if now.damage is not None:
            lines.append(f"    {table} at version {version}")
            continue
        news = "gone or made anew" if behind is None else f"{behind} commits behind" if behind else "up to date"
        key = () if catalog.has(table) else view.bases[table].key
        keyed = f", key ({', '.join(key)})" if key else ""
        lines.append(f"    {table} at version {version}: {news}{keyed}")
    lines.append("  query")
    lines += [f"    {line}" for line in view.query.text.splitlines()]
    lines += _compiled(catalog, view)
    if view.inexact:
        lines.append("  values that may be others when computed again: verify may find them different")
    for column, of in view.inexact.items():
        lines.append(f"    {column} is computed from {of}, whose last digits depend on the order of its rows")
    if view.helpers:
        lines.append("  helpers, which store parts of the query and are refreshed first")
    for helper in view.helpers:
        rows = catalog.store.count(catalog.state(helper.name))
        own = catalog.compiled(catalog.get(helper.name)).query
        assert own is not None
        lines += [f"    {helper.name}: {rows:,} rows", *(f"      {line}" for line in own.shown().splitlines())]
    lines.append("  strategies")
    for choice in choices(situation_of(catalog, view)):
        lines.append(f"    {choice.strategy:<19}  {'yes' if choice.applies else 'no ':<3}  {choice.why}")
    lines.append("  next refresh")
    if now.damage is not None:
        lost = catalog.store.damage(catalog.state(view.name)) is not None
        lines.append(f"    full, because damaged: {REASONS['damaged']}" if lost else "    not before that is mended")
    elif not now.behind and not now.unversioned and view.always_full != TIME_DEPENDENT:
        lines.append(f"    {NO_OP}: nothing has changed since {now.last_refresh:%Y-%m-%d %H:%M:%S} UTC")
    else:
        lines.append(f"    {_next(catalog, view)}")
    if now.stale:
        advice = "" if now.stuck else ": refresh with upstream views, or all views"
        lines.append(f"    {are_behind(now.stale, now.stuck)}{advice}")
    return "\n".join(lines)


def _next(catalog: Catalog, view: View) -> str:
    """What a refresh would do, by the rules of a refresh."""
    try:
        target = newest(catalog, view, {})
    except SchemaChanged as error:
        return f"not possible: {error.what}"
    reason = why_full(catalog, view, catalog.reflected(view), target, False)
    if reason is None:
        return "incremental: the changes since are carried through the steps above"
    return f"full, because {reason}: {REASONS[reason]}"


def _compiled(catalog: Catalog, view: View) -> list[str]:
    """Text → plan → keys → SQL → the Δ-script of a refresh in which every table changed."""
    found = catalog.compiled(view)
    if found.query is None:
        return ["  plan", f"    none: {found.because or REASONS[found.reason or 'not_compiled']}"]
    compiled = found.query
    key = compiled.keyed.key
    told = "none: equal rows are counted" if key is None else ", ".join(key) or "one row at most"
    hidden = f" (hidden: {', '.join(compiled.keyed.hidden)})" if compiled.keyed.hidden else ""
    refresh = plan_of(catalog, view, list(view.bases))
    plan, steps = (compiled.shown().splitlines(), []) if refresh is None else show_with_view(compiled.plan, refresh)
    lines = [
        "  plan",
        *(f"    {line}" for line in plan),
        f"  key\n    {told}{hidden}",
        *(["  choices that the query leaves open"] if compiled.choices else []),
        *(f"    {choice}" for choice in compiled.choices),
        "  compiled",
        *(f"    {line}" for line in print_plan(compiled.plan, lines=True).splitlines()),
    ]
    if refresh is not None:
        lines += [f"  refresh: {refresh.strategy}", *(f"    {line}" for line in steps)]
    return lines


def situation_of(catalog: Catalog, view: View) -> Situation:
    """The view with no change yet."""
    reason = "policy" if view.policy is Policy.FULL else view.always_full
    state = catalog.compiled(view).state
    varies = reason in (TIME_DEPENDENT, "not_versioned")
    return Situation(state, Change(frozenset()), view.policy, reason, tuple(view.tables), view.moved, varies)


def plan_of(catalog: Catalog, view: View, tables: Sequence[str]) -> RefreshPlan | None:
    """The plan of a refresh in which these relations changed, all in any way; None if the view is recomputed."""
    found = catalog.compiled(view)
    if found.state is None or view.always_full is not None:
        return None
    plan = found.plans.plan(Situation(found.state, Change(frozenset(tables)), Policy.INCREMENTAL))
    return plan if isinstance(plan, RefreshPlan) else None
