"""The join graph with functions of its own for each part, which are compiled while the generic ones are used."""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Iterator

import numpy as np

from rollview.live.generated.background import BACKGROUND
from rollview.live.generated.source import part_source
from rollview.live.graph.protocol import LookAhead, Paths
from rollview.live.interning import Words
from rollview.live.kernel import numbers as n
from rollview.live.kernel.build import module
from rollview.live.kernel.graph import Changed, CompiledGraph
from rollview.live.kernel.plan import Plan
from rollview.live.shape import Shape

_LOG = logging.getLogger(__name__)

#: Compiling takes seconds: a part has its own function when changes of it have visited so many join tuples, which takes
#: some hundredths of a second.
_WORTH = 100_000


class SpecificGraph(CompiledGraph):
    """Implements ``Graph``. A part that many changes are made of has its own function compiled in the background."""

    def __init__(self, shape: Shape, look_ahead: LookAhead, piece: int) -> None:
        super().__init__(shape, look_ahead, piece)
        self._left = [_WORTH] * len(shape.parts)
        #: For each part, whether its own function is there, or cannot be.
        self.compiled = [threading.Event() for _ in shape.parts]

    def changed(self, part: int, rows: Words, *, push: bool = True) -> Iterator[Paths]:
        if push and self._left[part] > 0:
            return self._counting(part, rows)
        return super().changed(part, rows, push=push)

    def _counting(self, part: int, rows: Words) -> Iterator[Paths]:
        """Changes rows; if enough has then been visited, asks for the part's own function."""
        before = self.visited
        yield from super().changed(part, rows)
        self._left[part] -= self.visited - before
        if self._left[part] <= 0:
            self._ask(part)

    def use(self, part: int, function: Changed) -> None:
        """Changes of a part are made by this function from now on."""
        self.functions[part], self._left[part] = function, 0

    def compile(self) -> None:
        """Compiles the functions of all parts, and waits for them."""
        for part, left in enumerate(self._left):
            if left > 0:
                self._left[part] = 0
                self._ask(part)
        for each in self.compiled:
            each.wait()

    def _ask(self, part: int) -> None:
        own = weakref.ref(self)
        BACKGROUND.add(lambda: _swapped(own, part))


def _swapped(graph: weakref.ref[SpecificGraph], part: int) -> None:
    """Gives a graph its own function for changes of a part; a change that is under way goes on with the other one."""
    if (found := graph()) is None:
        return
    try:
        found.use(part, compiled(found.plan, part))
    except Exception:  # the generic function goes on: whatever has failed, nothing is lost but speed
        _LOG.warning("a live view goes on with generic functions: compiling its own has failed", exc_info=True)
    found.compiled[part].set()


def compiled(plan: Plan, part: int) -> Changed:
    """A view's own function for changes of one part, compiled, or loaded if it was compiled before."""
    changed: Changed = module("view", part_source(plan, part)).changed
    words, state = plan.words(), np.zeros(n.PATH + plan.fields + 1, dtype=np.int64)
    changed(np.zeros(plan.top, np.int64), words, state, part, words[:0], 0, True, np.empty((1, 1), np.int64))
    return changed
