"""Views that follow the rounds of the conformance set, and what is expected of them."""

from __future__ import annotations

import shop
from rollview import Rollview
from rollview.strategy.reasons import REASONS

VIEWS = [view for view in shop.views() if view.expect != "error"]
INCREMENTAL = {"no_op", "append", "row_delta", "aggregate_merge", "group_recompute", "partition_recompute"}


class Outcome:
    """What became of one view: the strategies of its refreshes, and where it was not equal to its query."""

    def __init__(self) -> None:
        self.strategies: list[str] = []
        self.reasons: set[str | None] = set()
        self.wrong: list[str] = []


def followed(rv: Rollview, views: list[shop.ShopView], rounds_per_refresh: int = 1) -> dict[str, Outcome]:
    """Creates the views, goes through the rounds, refreshes and verifies."""
    for sql in shop.schema():
        rv.sql(sql)
    for view in views:
        rv.create(view.name, view.sql)
    found = {view.name: Outcome() for view in views}
    rounds = shop.rounds()
    for first in range(0, len(rounds), rounds_per_refresh):
        group = rounds[first : first + rounds_per_refresh]
        for turn in group:
            for sql in turn.statements:
                rv.sql(sql)
        for name, outcome in found.items():
            result = rv.refresh(name)
            outcome.strategies.append(result.strategy)
            outcome.reasons.add(result.reason)
            check = rv.verify(name)
            if not check.ok:
                outcome.wrong.append(f"{group[-1].name}: {result.strategy}, {check}")
    return found


def judged(view: shop.ShopView, outcome: Outcome) -> None:
    assert outcome.wrong == []
    if view.expect == "incremental":
        assert set(outcome.strategies) <= INCREMENTAL
        assert outcome.reasons == {None}
        assert set(outcome.strategies) != {"no_op"}
    else:
        assert "full" in outcome.strategies
        assert outcome.reasons <= {*REASONS, None}
