"""A deterministic plan: no choice is left open, so each computation returns the same rows."""

from __future__ import annotations

from dataclasses import dataclass

from rollview.keys.choices import Choice
from rollview.keys.elements import aggregate_in_order, order_unseen
from rollview.keys.ties import limit_without_ties, window_without_ties
from rollview.plan.nodes import Aggregate, Limit, Node, Window
from rollview.plan.rewrite import apply_rule


@dataclass(frozen=True)
class Decided:
    """The plan, and the choices that were open in it."""

    plan: Node
    choices: tuple[Choice, ...] = ()


def decided(plan: Node) -> Decided:
    """The plan with every open choice made by the key. It has the same columns."""
    choices: list[Choice] = []
    unseen = order_unseen(plan)

    def rule(node: Node) -> Node | None:
        if isinstance(node, Limit):
            return limit_without_ties(node, choices)
        if isinstance(node, Window):
            return window_without_ties(node, choices)
        return aggregate_in_order(node, choices, unseen) if isinstance(node, Aggregate) else None

    found = apply_rule(plan, rule)
    return Decided(found, tuple(dict.fromkeys(choices)))
