"""What is generated for a view, as plain Python: the text is the one that is compiled, but compiling takes seconds."""

from __future__ import annotations

from typing import Any

from rollview.live.generated.source import part_source
from rollview.live.graph.protocol import LookAhead
from rollview.live.kernel.graph import CompiledGraph
from rollview.live.shape import Shape


class InterpretedGraph(CompiledGraph):
    """A graph with its own functions, not compiled."""

    def __init__(self, shape: Shape, look_ahead: LookAhead, piece: int) -> None:
        super().__init__(shape, look_ahead, piece)
        for part in range(len(shape.parts)):
            names: dict[str, Any] = {}
            source = part_source(self.plan, part)
            exec(source.replace("from numba import njit", "njit = lambda **_: lambda function: function"), names)
            self.functions[part] = names["changed"]
