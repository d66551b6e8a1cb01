"""One text for all spellings of a query: its plan with columns named by their places.

Case, white space, names of aliases, and whether a part is written as a CTE or as a subquery leave no trace in the plan
once its columns are called c0, c1, … in the order in which they appear. The names of the query's own columns count.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from sqlglot import exp

from rollview.plan.expressions import rename
from rollview.plan.nodes import Column, Node, Scan, show_plan


def fingerprint(plan: Node) -> str:
    """Equal for two plans if they differ in names only."""
    names: dict[str, str] = {}
    for node in plan.walk():
        for column in node.columns:
            names.setdefault(column.name, f"c{len(names)}")
    labels = [f"{column.label.casefold()}={names[column.name]}" for column in plan.columns]
    scans = [f"{node.table}: {', '.join(node.sources)}" for node in plan.walk() if isinstance(node, Scan)]
    text = "\n".join([show_plan(_renamed(plan, names)), *scans, *labels])
    return hashlib.sha256(text.encode()).hexdigest()


def _renamed(part: Any, names: Mapping[str, str]) -> Any:
    """A plan, or a part of one, with other column names."""
    if isinstance(part, Column):
        return Column(names[part.name], "", part.type)
    if isinstance(part, exp.Expr):
        return rename(part, names)
    if isinstance(part, tuple):
        return tuple(_renamed(item, names) for item in part)
    if is_dataclass(part) and not isinstance(part, type):
        changed = {}
        for field in fields(part):
            value = getattr(part, field.name)
            if field.name == "key":
                changed[field.name] = tuple(names[name] for name in value)
            elif not isinstance(value, str):
                changed[field.name] = _renamed(value, names)
        return replace(part, **changed)
    return part
