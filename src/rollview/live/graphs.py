"""Which join graph a live view has: the compiled one if numba is installed."""

from __future__ import annotations

import warnings

from rollview.live.generated.graph import SpecificGraph
from rollview.live.graph.protocol import Graph, LookAhead
from rollview.live.graph.reference import ReferenceGraph
from rollview.live.kernel.build import available
from rollview.live.kernel.numbers import MOST_PARTS
from rollview.live.shape import Shape


class SlowLiveView(UserWarning):
    """A live view does without compiled functions."""


def best_graph(shape: Shape, look_ahead: LookAhead, piece: int) -> Graph:
    """An empty graph of the fastest kind that there is: ``GraphOf``."""
    if not available():
        warnings.warn(
            "numba is not installed, or does not work, so this live view is kept by plain Python: about 50 times "
            "slower, with about 5 times the memory. Install it with: pip install 'rollview[live]'",
            SlowLiveView,
            stacklevel=2,
        )
        return ReferenceGraph(shape, look_ahead, piece)
    if len(shape.parts) > MOST_PARTS:
        return ReferenceGraph(shape, look_ahead, piece)
    return SpecificGraph(shape, look_ahead, piece)
