"""Plans with other column names: two plans that differ in names only are one plan, computed once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from sqlglot import exp

from rollview.plan.expressions import rename
from rollview.plan.nodes import Column, Node


def by_place(plan: Node) -> dict[str, str]:
    """Names c0, c1, … for the columns of a plan, in the order in which they appear."""
    names: dict[str, str] = {}
    for node in plan.walk():
        for column in node.columns:
            names.setdefault(column.name, f"c{len(names)}")
    return names


def renamed(part: Any, names: Mapping[str, str]) -> Any:
    """A plan, or a part of one, with other column names and without labels."""
    if isinstance(part, Column):
        return Column(names[part.name], "", part.type)
    if isinstance(part, exp.Expr):
        return rename(part, names)
    if isinstance(part, tuple):
        return tuple(renamed(item, names) for item in part)
    if is_dataclass(part) and not isinstance(part, type):
        changed = {}
        for field in fields(part):
            value = getattr(part, field.name)
            if field.name in ("key", "not_null"):
                changed[field.name] = tuple(names[name] for name in value)
            elif not isinstance(value, str):
                changed[field.name] = renamed(value, names)
        return replace(part, **changed)
    return part
