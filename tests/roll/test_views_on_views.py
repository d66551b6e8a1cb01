"""Views on views: each propagates from the deltas of the views below, at the same positions.

The law is that of ``test_definition``: at every position up to its mark, a view's delta leads to the rows of its query
over the views below as they are there, computed through all levels.
"""

from __future__ import annotations

import random
from collections import Counter

import pytest

from rolled import World, history
from rollview.errors import UserError, VersionGone
from seeds import numbers


def propagated(seed: int, *, present_only: bool, length: int = 12) -> World:
    """A tower of views that was propagated while its history happened; the law was checked after each commit."""
    choose = random.Random(seed)
    world = World(history(seed, length, tower=True), present_only=present_only)
    views = [*world.history.views]
    with world.interrupted(world.check, 0.3, choose):
        while True:
            steps = choose.choice([None, 1, 2])
            rows = choose.choice([1, 2, 3, 8, 100])
            world.rv.propagate(choose.choice(views), steps=steps, step_rows=rows)
            if choose.random() < 0.3:
                goes_somewhere(world, choose, Counter())
            if not world.happen() and all(world.rv.propagate(view).lag == 0 for view in views):
                break
    for view in views:
        world.check(view)
    return world


def goes_somewhere(world: World, choose: random.Random, done: Counter[str]) -> None:
    """Applies the delta of a view up to a position that it reaches; it has the rows of its query there. A view on a
    view may be refused, because no stored version of that shows the position."""
    view = choose.choice([*world.history.views])
    try:
        extent = world.extent(view)
    except AssertionError:
        return
    position = choose.randint(extent.begin, extent.mark)
    try:
        done[world.rv.apply(view, as_of=position).strategy] += 1
    except (UserError, VersionGone):
        done["refused"] += 1
        return
    assert world.shown(view) == world.shown_at(position, view), f"{view} at {position}\n{world.history}"
    assert world.present_only or world.rv.verify(view).ok


@pytest.mark.parametrize("present_only", [False, True], ids=["history", "presence"])
def test_a_delta_leads_to_every_position_through_all_levels(present_only: bool) -> None:
    (seed,) = numbers(1)
    world = propagated(seed, present_only=present_only, length=6)
    done: Counter[str] = Counter()
    choose = random.Random(seed)
    for _ in range(8):
        goes_somewhere(world, choose, done)
    assert done["apply"] + done["no_op"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("present_only", [False, True], ids=["history", "presence"])
def test_many_deltas_lead_to_every_position_through_all_levels(present_only: bool) -> None:
    for seed in numbers(500):
        propagated(seed, present_only=present_only).rv.close()
