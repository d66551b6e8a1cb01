"""Compiles or loads the view's own functions of the longest retweet chain, six tables, in a process of its own.

``python -m rollview.bench.graphivm.compiling`` prints the CPU seconds. What is generic is compiled before.
"""

from __future__ import annotations

import sys
import time

from rollview.bench.graphivm.cores import core_of, load, shape_of
from rollview.bench.graphivm.data import SMALL, social
from rollview.bench.graphivm.views import LENGTHS, retweet_chain
from rollview.live.generated.graph import compiled
from rollview.live.kernel.graph import CompiledGraph


def seconds() -> float:
    """The CPU seconds for all parts."""
    core = load(core_of(shape_of(retweet_chain(LENGTHS[-1])), CompiledGraph), social(SMALL.scaled(0.001)).tables)
    for _ in core.rows():  # a traversal by the generic functions
        pass
    assert isinstance(core.graph, CompiledGraph)
    start = time.process_time()
    for part in core.shape.parts:
        compiled(core.graph.plan, part.number)
    return time.process_time() - start


if __name__ == "__main__":
    sys.stdout.write(f"{seconds()}\n")
