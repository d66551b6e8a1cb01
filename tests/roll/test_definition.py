"""Definition 4.2 on data: a view's delta leads it from any position to any other one up to the mark.

It is checked at every position, and after every single commit of the propagation, while the tables go on changing.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from rolled import AT_ONCE, World, history
from rollview import Rollview
from seeds import numbers

#: No changed rows are read in this process.
BY_QUERIES = replace(AT_ONCE, changes_here=0)


def propagated(seed: int, *, present_only: bool, rv: Rollview | None = None, length: int = 12) -> World:
    """A view that was propagated while its history happened; the law was checked after each commit."""
    choose = random.Random(seed)
    limits = choose.choice([AT_ONCE, BY_QUERIES])
    world = World(history(seed, length), present_only=present_only, limits=limits, rv=rv)
    with world.interrupted(world.check, 0.4, choose):
        while True:
            steps = choose.choice([None, 1, 2])
            world.rv.propagate("v", steps=steps, step_rows=choose.choice([1, 2, 3, 8, 100]))
            if not world.happen() and world.rv.propagate("v").lag == 0:
                break
    world.check()
    return world


def goes_to_and_fro(world: World, seed: int, times: int) -> None:
    """The view goes to random positions: it has the rows of its query there, and where it went does not matter."""
    choose = random.Random(seed)
    extent = world.rolled.delta.stored().extent  # type: ignore[union-attr]
    begun = world.stored_at(extent.begin)
    for position in [*(choose.randint(extent.begin, extent.mark) for _ in range(times)), extent.begin]:
        result = world.rv.apply("v", as_of=position)
        assert result.position == position
        assert result.strategy in ("apply", "no_op")
        assert world.shown() == world.shown_at(position), world.history
    stored = world.rv.store.read(world.rv.catalog.state("v"))
    assert world.counted(stored) == begun


@pytest.mark.parametrize("present_only", [False, True], ids=["history", "presence"])
@pytest.mark.parametrize("seed", numbers(4))
@pytest.mark.one_in(4)
def test_a_delta_leads_to_every_position(seed: int, present_only: bool) -> None:
    world = propagated(seed, present_only=present_only)
    goes_to_and_fro(world, seed, 4)


@pytest.mark.slow
@pytest.mark.parametrize("present_only", [False, True], ids=["history", "presence"])
def test_many_deltas_lead_to_every_position(present_only: bool) -> None:
    for seed in numbers(1_000):
        world = propagated(seed, present_only=present_only)
        goes_to_and_fro(world, seed, 3)
        world.rv.close()


@pytest.mark.parametrize("seed", numbers(1))
def test_a_delta_leads_to_every_position_on_spark(seed: int, opened: Callable[..., Rollview]) -> None:
    """By history or by presence, as the number has it."""
    world = propagated(seed, present_only=seed % 2 == 1, rv=opened(limits=AT_ONCE), length=7)
    goes_to_and_fro(world, seed, 1)


@pytest.mark.slow
@pytest.mark.parametrize("present_only", [False, True], ids=["history", "presence"])
@pytest.mark.parametrize("seed", numbers(15))
def test_many_deltas_lead_to_every_position_on_spark(
    seed: int, present_only: bool, opened: Callable[..., Rollview]
) -> None:
    world = propagated(seed, present_only=present_only, rv=opened(limits=AT_ONCE))
    goes_to_and_fro(world, seed, 2)
