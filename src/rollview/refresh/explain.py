"""What a view is and what its next refresh would do, as text."""

from __future__ import annotations

from rollview.parse.view_statements import Policy
from rollview.refresh.results import NO_OP, REASONS
from rollview.refresh.run import status
from rollview.refresh.views import Catalog


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
    for table, version in sorted(now.vector.items()):
        behind = now.behind.get(table, 0)
        news = "gone or made anew" if behind is None else f"{behind} commits behind" if behind else "up to date"
        key = () if catalog.has(table) or not catalog.store.exists(table) else catalog.store.key(table)
        keyed = f", key ({', '.join(key)})" if key else ""
        lines.append(f"    {table} at version {version}: {news}{keyed}")
    lines.append("  query")
    lines += [f"    {line}" for line in view.query.splitlines()]
    lines.append("  next refresh")
    if now.fresh:
        lines.append(f"    {NO_OP}: nothing has changed since {now.last_refresh:%Y-%m-%d %H:%M:%S} UTC")
    else:
        reason = "policy" if view.policy is Policy.FULL else "no_delta_rules"
        lines.append(f"    full, because {reason}: {REASONS[reason]}")
    return "\n".join(lines)
