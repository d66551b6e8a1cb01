"""The seed of a run: which samples are taken, and which random queries, rows and histories are made.

It is another one in every run, and printed in its header. ``ROLLVIEW_SEED=… pytest`` does a run again.
"""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

VARIABLE = "ROLLVIEW_SEED"


def choose_seed() -> int:
    """The seed of this run, from now on in the environment: the processes that a run starts have the same one."""
    return int(os.environ.setdefault(VARIABLE, str(random.randrange(100_000))))


def seed() -> int:
    return int(os.environ[VARIABLE])


def numbers(count: int) -> range:
    """As many numbers to seed generators with, of which no other run of few has one."""
    return range(seed() * 1_000, seed() * 1_000 + count)


def sample(items: Sequence[T], one_in: int) -> list[T]:
    """Every n-th of some things; at least one of few."""
    return list(items[seed() % min(one_in, len(items)) :: one_in])
