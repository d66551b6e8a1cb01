"""Laws of timed deltas and of applying them that are said without the view's query."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from rolled import World, history
from seeds import numbers


def happened(seed: int) -> World:
    world = World(history(seed))
    while world.happen():
        pass
    return world


def deltas(seed: int, lengths: tuple[int, ...]) -> Iterator[object]:
    """The canonical deltas of one history, of steps of several lengths, by history and by presence."""
    for step_rows in lengths:
        for present_only in (False, True):
            world = World(history(seed), present_only=present_only)
            while world.happen():
                pass
            world.rv.propagate("v", step_rows=step_rows)
            yield world.canonical()
            world.rv.close()


@pytest.mark.parametrize("seed", numbers(1))
def test_other_steps_give_the_same_delta(seed: int) -> None:
    first, *others = deltas(seed, (1, 1_000))
    assert others == [first] * len(others)


@pytest.mark.slow
def test_other_steps_give_the_same_delta_of_many_histories() -> None:
    for seed in numbers(100):
        first, *others = deltas(seed, (1, 2, 5, 1_000))
        assert others == [first] * len(others), history(seed)


def stored(world: World) -> object:
    """All that is stored of the view, columns that it does not show among them."""
    return world.counted(world.rv.store.read(world.rv.catalog.state("v")))


@pytest.mark.parametrize("way", ["apply", "refresh"])
@pytest.mark.parametrize("seed", numbers(3))
@pytest.mark.one_in(3)
def test_the_way_to_a_position_leaves_no_trace(seed: int, way: str) -> None:
    """From a to b to c is from a to c, and there and back is nowhere; by the delta, by refreshing, and by both in turns."""
    choose, world = random.Random(seed), happened(seed)
    world.rv.propagate("v")
    begin, end = world.extent().begin, world.extent().mark
    seen: dict[int, object] = {}
    for _ in range(12):
        position = choose.randint(begin, end)
        if way == "apply" or choose.random() < 0.5:
            world.rv.apply("v", as_of=position)
        else:
            world.rv.refresh("v", as_of=position)
        assert seen.setdefault(position, stored(world)) == stored(world), (position, world.history)
    world.rv.close()
