"""A process that propagates and another one that applies, each killed at every boundary between two writes of the
clock, the delta, its pruning and the state: in the end there is the same view, and the same delta."""

from __future__ import annotations

import random

import pytest

from killed import Machine
from rolled import World, history
from rollview import Rollview
from rollview.errors import UserError
from rollview.limits import Limits
from seeds import numbers, sample


def apply(rv: Rollview) -> None:
    """As far as it goes. Nothing can be applied until something was propagated since the view was recomputed."""
    try:
        rv.apply("v")
    except UserError as error:
        if "Nothing has been propagated" not in error.what:
            raise


def recompute(rv: Rollview) -> None:
    rv.refresh("v", full=True)


def lived(seed: int, at: int, *, before: bool, prunes: bool) -> Machine:
    """A history with a kill at a write. The law is checked at the end, at every position. If it ``prunes``, what has
    been applied is removed at once, and so are its files."""
    choose = random.Random(seed)
    world = World(history(seed), limits=Limits(settle_seconds=0, grace_seconds=0), keep="0 seconds" if prunes else None)
    machine = Machine(world, at, before=before, choose=choose)

    def propagate(rv: Rollview) -> None:
        rv.propagate("v", step_rows=choose.choice([1, 2, 100]))

    with machine.started(propagating=propagate, applying=apply):
        for turn in range(20):
            machine.run("propagating", propagate)
            machine.run("applying", apply)
            if turn == 1 and seed % 3 == 0:
                machine.run("applying", recompute)
            if not world.happen():
                break
        machine.run("propagating", propagate)
        machine.run("applying", apply)
    world.check()
    position = world.rv.position()
    assert position is not None
    assert world.shown() == world.shown_at(position), world.history
    machine.run("again", lambda rv: rv.apply("v", as_of=world.extent().begin))
    assert world.shown() == world.shown_at(world.extent().begin), world.history
    world.rv.close()
    return machine


def every_kill(seed: int, one_in: int, *, prunes: bool) -> None:
    for before in (True, False):
        whole = lived(seed, 0, before=before, prunes=prunes)
        assert not prunes or (whole.did["prune"] and whole.did["tidy"])
        for at in sample(range(1, whole.writes + 1), one_in):
            machine = lived(seed, at, before=before, prunes=prunes)
            assert machine.kills == 1
            assert all(machine.wrote.values())


@pytest.mark.parametrize("prunes", [False, True])
@pytest.mark.one_in(2)
def test_a_kill_between_two_writes_loses_nothing(prunes: bool) -> None:
    every_kill(next(iter(numbers(1))), 30, prunes=prunes)


@pytest.mark.slow
@pytest.mark.parametrize("prunes", [False, True])
@pytest.mark.parametrize("seed", numbers(20))
def test_a_kill_between_any_two_writes_loses_nothing(seed: int, prunes: bool) -> None:
    every_kill(seed, 1, prunes=prunes)
