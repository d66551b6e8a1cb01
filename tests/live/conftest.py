"""Examples are tried on each graph."""

from __future__ import annotations

import pytest

from live_examples import Example
from live_interpreted import InterpretedGraph
from rollview.live.graph.protocol import GraphOf
from rollview.live.graph.reference import ReferenceGraph
from rollview.live.kernel.graph import CompiledGraph

GRAPHS = {"reference": ReferenceGraph, "generic": CompiledGraph, "specific": InterpretedGraph}


@pytest.fixture(params=GRAPHS.values(), ids=GRAPHS)
def each_graph(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> GraphOf:
    """The graph that all examples of a test have."""
    found: GraphOf = request.param
    monkeypatch.setattr(Example, "graph_of", staticmethod(found))
    return found
