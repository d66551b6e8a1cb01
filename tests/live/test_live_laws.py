"""Laws of the join graph over random views and changes: whatever they are, the view equals its query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

import pytest

from live_graphs import check_flags, check_visits, content, core_of, diff_of, generated, load, loaded, shape_of
from live_interpreted import InterpretedGraph
from live_model import Bag, History, arrow, history, shorter
from rollview.live.compile.refused import NotLive
from rollview.live.generated.graph import SpecificGraph
from rollview.live.graph.protocol import GraphOf, LookAhead
from rollview.live.graph.reference import ReferenceGraph
from rollview.live.kernel.graph import CompiledGraph
from rollview.live.shape import Shape
from seeds import numbers


def after(tables: Mapping[str, Bag], change: Mapping[str, Bag]) -> dict[str, Bag]:
    found = {table: Counter(bag) for table, bag in tables.items()}
    for table, bag in change.items():
        for row, weight in bag.items():
            found[table][row] += weight
    return {table: Counter({row: n for row, n in bag.items() if n}) for table, bag in found.items()}


def minus(a: Bag, b: Bag) -> Bag:
    found = Counter(a)
    found.subtract(b)
    return Counter({row: weight for row, weight in found.items() if weight})


def equal_after_every_diff(case: History, shape: Shape, graph_of: GraphOf) -> None:
    """The generated view is the query; the pushed diffs are its change; the graph is one made from scratch; the flags
    never say no where a path exists; all look-aheads push the same."""
    cores = [loaded(case, shape, look_ahead, graph_of=graph_of, piece=3) for look_ahead in LookAhead]
    tables = dict(case.start)
    before = case.view.rows(tables)
    for core in cores:
        assert generated(core) == before
    for change in case.changes:
        tables = after(tables, change)
        now = case.view.rows(tables)
        for core in cores:
            done = core.apply({table: arrow(bag) for table, bag in change.items()})
            assert diff_of(core, done) == minus(now, before), "the pushed diffs are not the view's change"
            check_flags(core)
            assert generated(core) == now, "the generated view is not the query"
        fresh = core_of(shape, graph_of=graph_of)
        load(fresh, tables)
        for core in cores:
            assert content(core) == content(fresh), "the graph is not one made from scratch"
        check_visits(cores[-1])
        check_flags(cores[-1])
        before = now


def the_same_at_once(case: History, shape: Shape, graph_of: GraphOf) -> None:
    """Many diffs at once are the same as one after the other; also row by row."""
    one, all_, rows = (loaded(case, shape, graph_of=graph_of) for _ in range(3))
    tables = dict(case.start)
    total: Bag = Counter()
    for change in case.changes:
        diff = diff_of(one, one.apply({table: arrow(bag) for table, bag in change.items()}))
        single: Bag = Counter()
        for table, bag in change.items():
            for row, weight in bag.items():
                part = diff_of(rows, rows.apply({table: arrow(Counter({row: weight}))}))
                single.update(part)
        assert {k: v for k, v in single.items() if v} == diff
        total.update(diff)
    merged: dict[str, Bag] = {table: Counter() for table in tables}
    for change in case.changes:
        for table, bag in change.items():
            merged[table].update(bag)
    found = diff_of(all_, all_.apply({table: arrow(bag) for table, bag in merged.items()}))
    assert found == Counter({row: weight for row, weight in total.items() if weight})
    assert content(one) == content(all_) == content(rows)


def no_trace_of_what_was_undone(case: History, shape: Shape, graph_of: GraphOf) -> None:
    """A change and its inverse leave no trace, not even in the interned values."""
    core = loaded(case, shape, graph_of=graph_of)
    core.sweep()
    before, interned = content(core), len(core.interner)
    undone: list[dict[str, Bag]] = []
    for change in case.changes:
        core.apply({table: arrow(bag) for table, bag in change.items()})
        undone.insert(0, {t: Counter({row: -n for row, n in bag.items()}) for t, bag in change.items()})
    for change in undone:
        core.apply({table: arrow(bag) for table, bag in change.items()})
    core.sweep()
    assert content(core) == before
    assert len(core.interner) == interned


def the_same_without_pushing(case: History, shape: Shape, graph_of: GraphOf) -> None:
    """A graph that pushes nothing generates the same view."""
    core = loaded(case, shape, push=False, graph_of=graph_of)
    tables = dict(case.start)
    for change in case.changes:
        tables = after(tables, change)
        assert len(core.apply({table: arrow(bag) for table, bag in change.items()})) == 0
        assert generated(core) == case.view.rows(tables)


Law = Callable[[History, Shape, GraphOf], None]

LAWS: tuple[Law, ...] = (
    equal_after_every_diff,
    the_same_at_once,
    no_trace_of_what_was_undone,
    the_same_without_pushing,
)


def compiled_at_once(shape: Shape, look_ahead: LookAhead, piece: int) -> SpecificGraph:
    """A graph whose own functions are compiled before it is used."""
    graph = SpecificGraph(shape, look_ahead, piece)
    graph.compile()
    return graph


#: The graphs, each with how many histories it is tried on: in the quick tests, and in the slow ones. Compiling what is
#: generated takes seconds, so most histories are tried on its text as plain Python.
GRAPHS: dict[str, tuple[GraphOf, int, int]] = {
    "reference": (ReferenceGraph, 25, 3000),
    "generic": (CompiledGraph, 25, 500),
    "specific": (InterpretedGraph, 8, 500),
    "specific_compiled": (compiled_at_once, 0, 15),
}
EACH = [pytest.param(law, *each, id=f"{law.__name__}-{name}") for name, each in GRAPHS.items() for law in LAWS]


def checked(law: Law, case: History, graph_of: GraphOf) -> None:
    """Checks a law; of a history that breaks it, shows a short one."""
    try:
        law(case, shape_of(case.view), graph_of)
    except NotLive:
        assert case.view.tests  # an expression or a shape that is refused is no failure of the law
    except Exception as error:
        best, wrong = _shortest(law, case, graph_of), error
        raise AssertionError(f"{law.__name__}: {wrong}\n{best.script()}") from error


def _shortest(law: Law, case: History, graph_of: GraphOf) -> History:
    def fails(candidate: History) -> bool:
        try:
            law(candidate, shape_of(candidate.view), graph_of)
        except NotLive:
            return False
        except Exception:
            return True
        return False

    best, found = case, True
    while found:
        found = False
        for candidate in shorter(best):
            if fails(candidate):
                best, found = candidate, True
                break
    return best


@pytest.mark.parametrize(("law", "graph_of", "quick", "slow"), EACH)
@pytest.mark.one_in(6)
def test_a_sample_of_histories(law: Law, graph_of: GraphOf, quick: int, slow: int) -> None:
    for seed in numbers(quick):
        checked(law, history(seed), graph_of)


@pytest.mark.slow
@pytest.mark.parametrize(("law", "graph_of", "quick", "slow"), EACH)
def test_many_histories(law: Law, graph_of: GraphOf, quick: int, slow: int) -> None:
    for seed in numbers(slow):
        checked(law, history(seed, 8), graph_of)
