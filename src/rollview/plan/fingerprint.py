"""One text for all spellings of a query: its plan with columns named by their places.

Case, white space, alias names, and whether a part is a CTE or a subquery make no difference once the plan's columns
are named c0, c1, … in order of appearance. The names of the query's result columns do make a difference.
"""

from __future__ import annotations

import hashlib

from rollview.plan.nodes import Node, Scan, show_plan
from rollview.plan.rename import by_place, renamed


def fingerprint(plan: Node) -> str:
    """A hash that is equal for two plans if they differ only in internal column names."""
    names = by_place(plan)
    labels = [f"{column.label.casefold()}={names[column.name]}" for column in plan.columns]
    scans = [f"{node.table}: {', '.join(node.sources)}" for node in plan.walk() if isinstance(node, Scan)]
    text = "\n".join([show_plan(renamed(plan, names)), *scans, *labels])
    return hashlib.sha256(text.encode()).hexdigest()
