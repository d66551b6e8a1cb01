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


class SpecificGraph(CompiledGraph):
    """Implements ``Graph``. With the first change that is pushed, it has its functions compiled in the background."""

    def __init__(self, shape: Shape, look_ahead: LookAhead, piece: int) -> None:
        super().__init__(shape, look_ahead, piece)
        self._asked = False
        self.compiled = threading.Event()

    def changed(self, part: int, rows: Words, *, push: bool = True) -> Iterator[Paths]:
        if push and not self._asked:
            self.compile()
        return super().changed(part, rows, push=push)

    def compile(self, *, wait: bool = False) -> None:
        """Has the view's own functions compiled: in the background, or at once."""
        if not self._asked:
            self._asked = True
            own = weakref.ref(self)
            for part in range(len(self.plan.parts)):
                BACKGROUND.add(lambda part=part: _swapped(own, part))  # type: ignore[misc]
        if wait:
            self.compiled.wait()


def _swapped(graph: weakref.ref[SpecificGraph], part: int) -> None:
    """Gives a graph its own function for changes of a part; a change that is under way goes on with the other one."""
    if (found := graph()) is None:
        return
    try:
        found.functions[part] = compiled(found.plan, part)
    except Exception:  # the generic function goes on: whatever has failed, nothing is lost but speed
        _LOG.warning("a live view goes on with generic functions: compiling its own has failed", exc_info=True)
    if part + 1 == len(found.plan.parts):
        found.compiled.set()


def compiled(plan: Plan, part: int) -> Changed:
    """A view's own function for changes of one part, compiled, or loaded if it was compiled before."""
    changed: Changed = module("view", part_source(plan, part)).changed
    words, state = plan.words(), np.zeros(n.PATH + plan.fields + 1, dtype=np.int64)
    changed(np.zeros(plan.top, np.int64), words, state, part, words[:0], 0, True, np.empty((1, 1), np.int64))
    return changed
