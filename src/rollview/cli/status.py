"""What ``rollview status`` prints."""

from __future__ import annotations

import dataclasses

from rollview.cli.render import Screen
from rollview.views.results import Reach, ViewStatus, are_behind


def show_status(screen: Screen, views: list[ViewStatus]) -> None:
    if screen.as_json:
        screen.emit([dataclasses.asdict(view) | {"fresh": view.fresh} for view in views])
        return
    screen.table(
        ["view", "policy", "state", "reflects", "last refresh (UTC)", "strategy"],
        [[v.name, v.policy, _freshness(v), v.vector, _moment(v), v.last_strategy] for v in views],
    )
    rows = [_reached(view.reach) for view in views if view.reach is not None]
    if rows:
        names = ["view", "shows", "changes kept", "lag", "history needed from"]
        screen.table(names, rows, "propagated, by positions of the commit clock")


def _reached(reach: Reach) -> list[object]:
    """How far the timed delta of a view reaches."""
    shown = "" if reach.shown is None else reach.shown
    if reach.oldest is None:
        return [reach.view, shown, "none: it was recomputed since", "", reach.needed]
    kept = f"{reach.oldest} to {reach.mark}"
    commits = f"{reach.lag} commit{'' if reach.lag == 1 else 's'}"
    return [reach.view, shown, kept, f"{commits}, {reach.lag_seconds or 0.0:.1f} s", reach.needed]


def _moment(view: ViewStatus) -> str | None:
    return None if view.last_refresh is None else f"{view.last_refresh:%Y-%m-%d %H:%M:%S}"


def _freshness(view: ViewStatus) -> str:
    if view.damage is not None:
        return f"damaged: {view.damage}"
    if view.fresh:
        return "fresh"
    if view.unversioned and not view.behind:
        return f"unknown: {', '.join(view.unversioned)} cannot report changes"
    lost = dict.fromkeys(view.went_back, "back at an earlier version")
    parts = [
        f"{table} {lost.get(table, 'gone or recreated')}" if n is None else f"{table} +{n}"
        for table, n in view.behind.items()
    ]
    return "stale: " + "; ".join(
        [*([", ".join(parts)] if parts else []), *([are_behind(view.stale, view.stuck)] if view.stale else [])]
    )
