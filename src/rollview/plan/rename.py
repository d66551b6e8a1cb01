"""Plans with renamed columns: two plans that differ only in names are recognised as equal, and computed once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from sqlglot import exp

from rollview.plan.expressions import rename
from rollview.plan.nodes import Column, Node


def by_place(plan: Node) -> dict[str, str]:
    """Names c0, c1, … for the columns of a plan, in order of appearance."""
    names: dict[str, str] = {}
    for node in plan.walk():
        for column in node.columns:
            names.setdefault(column.name, f"c{len(names)}")
    return names


def renamed(plan: Node, names: Mapping[str, str]) -> Node:
    """A plan with renamed columns and without labels."""
    done: dict[Node, Node] = {}

    def part(value: Any) -> Any:
        if isinstance(value, Node):
            return done[value]
        if isinstance(value, Column):
            return Column(names[value.name], "", value.type)
        if isinstance(value, exp.Expr):
            return rename(value, names)
        if isinstance(value, tuple):
            return tuple(part(item) for item in value)
        if is_dataclass(value) and not isinstance(value, type):
            return replace(value, **changed(value))
        return value

    def changed(whole: Any) -> dict[str, Any]:
        values = {field.name: getattr(whole, field.name) for field in fields(whole)}
        named = {key: tuple(names[name] for name in values[key]) for key in ("key", "not_null", "on") if key in values}
        return {name: part(value) for name, value in values.items() if not isinstance(value, str)} | named

    for node in plan.walk():
        done[node] = replace(node, **changed(node))
    return done[plan]
