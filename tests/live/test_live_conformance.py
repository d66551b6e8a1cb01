"""The views of the shop that fit the join graph, through all rounds, compared with their queries."""

from __future__ import annotations

import pytest

import shop
from live_served import Mirror, held, queried, waiting
from rollview import Rollview, connect
from rollview.errors import RollviewError
from rollview.live.compile.refused import NotLive
from rollview.live.live import Live
from seeds import sample

VIEWS = [view for view in (*shop.views(), *shop.more_views()) if view.expect != "error"]


def fitting(rv: Rollview, views: list[shop.ShopView]) -> dict[str, Live]:
    """The live views of those that fit; the others say why they do not."""
    found: dict[str, Live] = {}
    refused: dict[str, RollviewError] = {}
    for view in views:
        try:
            found[view.name] = rv.live(view.sql)
        except RollviewError as error:
            refused[view.name] = error
    assert [name for name, error in refused.items() if not (error.what and (error.why or error.where))] == []
    return found


def duck() -> Rollview:
    rv = connect("duckdb:")
    rv.engine.connection.execute("SET TimeZone = 'UTC'")  # type: ignore[attr-defined]
    return rv


def follow(rv: Rollview, views: list[shop.ShopView]) -> int:
    for sql in shop.schema():
        rv.sql(sql)
    lives = fitting(rv, views)
    texts = {view.name: view.sql for view in views}
    mirrors = {name: (Mirror(), live.changes(snapshot=True)) for name, live in lives.items()}
    for turn in shop.rounds():
        for sql in turn.statements:
            rv.sql(sql)
        for name, live in lives.items():
            live.poll()
            expected = queried(rv, texts[name], live.columns.values())
            assert held(live) == expected, f"{name} after {turn.name}"
            mirror, subscription = mirrors[name]
            assert mirror.take(waiting(subscription)).rows == expected, f"the diffs of {name} after {turn.name}"
    return len(lives)


def test_a_sample_of_the_views_follows_all_rounds() -> None:
    views = [view for view in VIEWS if not view.spark_only]
    assert follow(duck(), sample(views, 12)) >= 1


@pytest.mark.slow
def test_every_view_that_fits_follows_all_rounds() -> None:
    assert follow(duck(), [view for view in VIEWS if not view.spark_only]) >= 35


def test_a_view_that_does_not_fit_is_refused_when_it_is_made() -> None:
    rv = connect("duckdb:")
    for sql in shop.schema():
        rv.sql(sql)
    with pytest.raises(NotLive, match="LEFT"):
        rv.live("SELECT o.order_id, c.name FROM orders o LEFT JOIN customers c ON o.cust_id = c.cust_id")
    with pytest.raises(RollviewError, match="DISTINCT"):
        rv.live("SELECT DISTINCT city FROM customers")
