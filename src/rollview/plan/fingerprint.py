"""One text for all spellings of a query: its plan with columns named by their places.

Case, white space, names of aliases, and whether a part is written as a CTE or as a subquery leave no trace in the plan
once its columns are called c0, c1, … in the order in which they appear. The names of the query's own columns count.
"""

from __future__ import annotations

import hashlib

from rollview.plan.nodes import Node, Scan, show_plan
from rollview.plan.rename import by_place, renamed


def fingerprint(plan: Node) -> str:
    """Equal for two plans if they differ in names only."""
    names = by_place(plan)
    labels = [f"{column.label.casefold()}={names[column.name]}" for column in plan.columns]
    scans = [f"{node.table}: {', '.join(node.sources)}" for node in plan.walk() if isinstance(node, Scan)]
    text = "\n".join([show_plan(renamed(plan, names)), *scans, *labels])
    return hashlib.sha256(text.encode()).hexdigest()
