"""The measurement of live views: its data, its peers, and its shape, at a tiny scale."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from rollview.bench.graphivm import PARTS, cores, ready, run, timing
from rollview.bench.graphivm.cores import core_of, load, rows_of, shape_of, weighted, whole_shape
from rollview.bench.graphivm.data import (
    FOLLOWER_FANOUTS,
    LARGE,
    RETWEET_FANOUTS,
    SCHEMA,
    SMALL,
    SMALL_1M,
    THE_TWEETS,
    Data,
    Sizes,
    social,
)
from rollview.bench.graphivm.fanout import with_fanout
from rollview.bench.graphivm.peers.peer import Kind, Peer, peer
from rollview.bench.graphivm.views import (
    AGGREGATES,
    LENGTHS,
    Q1,
    Q2,
    Q3,
    ROWS,
    JoinView,
    follower_chain,
    retweet_chain,
)
from rollview.live.core import Core, arrow
from rollview.live.generated.background import BACKGROUND
from rollview.live.kernel.build import kernel
from rollview.live.kernel.tables import PLACES
from rollview.live.net import Change

pytest.importorskip("numba")

Bag = Counter[tuple[Any, ...]]
Tables = Mapping[str, pa.Table]

VIEWS = {view.name: view for view in (*ROWS, *AGGREGATES, follower_chain(1), follower_chain(2), retweet_chain(3))}


@pytest.fixture(scope="module")
def data() -> Data:
    return social(SMALL.scaled(0.002))


def queried(view: JoinView, tables: Tables) -> Bag:
    """The rows of a view by its query."""
    connection = duckdb.connect()
    for name, table in tables.items():
        connection.register(name, table)
    return Counter(connection.execute(view.sql).fetchall())


def bag_of(core: Core, change: Change) -> Bag:
    found: Bag = Counter()
    for *row, weight in zip(*(c.to_pylist() for c in arrow(core, change.rows, change.weights).columns), strict=True):
        found[tuple(row)] += weight
    return found


def minus(a: Bag, b: Bag) -> Bag:
    found = Counter(a)
    found.subtract(b)
    return Counter({row: weight for row, weight in found.items() if weight})


def split(tables: Tables, view: JoinView) -> tuple[dict[str, pa.Table], dict[str, pa.Table]]:
    """Most rows of each table, and the others; the last of these is there twice."""
    first, rest = {}, {}
    for name in set(view.tables):
        table, most = tables[name], tables[name].num_rows * 9 // 10
        first[name] = table.slice(0, most)
        rest[name] = pa.concat_tables([table.slice(most), table.slice(table.num_rows - 1)])
    return first, rest


def interpreted(self: Peer, part: int, *, own: bool = True, view: bool = True) -> Callable[..., Any]:
    """What a peer generates, as plain Python: compiling it takes seconds."""
    names: dict[str, Any] = {}
    source = self._source(part, own=own, view=view)
    exec(source.replace("from numba import njit", "njit = lambda **_: lambda function: function"), names)
    found: Callable[..., Any] = names["changed"]
    return found


@pytest.fixture
def uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Peer, "function", interpreted)
    monkeypatch.setattr(cores, "compiled", lambda plan, part: kernel().changed)
    monkeypatch.setattr(BACKGROUND, "add", lambda task: None)
    monkeypatch.setattr(timing, "TURNS", 1)
    monkeypatch.setattr(timing, "_MOST_TURNS", 1)


def is_kept(kind: Kind, view: JoinView, tables: Tables, *, keep: bool) -> None:
    """The diffs of a peer, and the view that it keeps, are those of the query."""
    first, rest = split(tables, view)
    every = {name: pa.concat_tables([first[name], rest[name]]) for name in first}
    shape = whole_shape(view) if kind is Kind.CLASSIC else shape_of(view)
    core = load(core_of(shape, peer(kind, view, keep=keep), push=kind is not Kind.OUTER or view.by is None), first)
    before, after = queried(view, first), queried(view, every)
    assert minus(after, before)
    changes = {name: weighted(rows) for name, rows in rest.items()}
    assert bag_of(core, core.apply(changes)) == minus(after, before)
    if kind is Kind.OUTER:
        return
    assert sum((bag_of(core, Change([found])) for found in core.rows()), Counter()) == after
    back = {name: weighted(rows, -1) for name, rows in rest.items()}
    assert bag_of(core, core.apply(back)) == minus(before, after)
    assert sum((bag_of(core, Change([found])) for found in core.rows()), Counter()) == before


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("kind", [Kind.CLASSIC, Kind.AUXILIARY])
@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
@pytest.mark.one_in(12)
def test_a_peer_computes_what_duckdb_does(view: JoinView, kind: Kind, keep: bool, data: Data) -> None:
    is_kept(kind, view, data.tables, keep=keep)


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("view", [v for v in VIEWS.values() if v.by is None], ids=lambda view: view.name)
@pytest.mark.one_in(6)
def test_the_full_outer_join_table_computes_what_duckdb_does(view: JoinView, data: Data) -> None:
    is_kept(Kind.OUTER, view, data.tables, keep=False)


@pytest.mark.parametrize("kind", Kind)
def test_a_compiled_peer_computes_what_duckdb_does(kind: Kind, data: Data) -> None:
    is_kept(kind, Q1, data.tables, keep=kind is Kind.CLASSIC)


@pytest.mark.usefixtures("uncompiled")
def test_a_full_outer_join_table_holds_what_has_no_partner(data: Data) -> None:
    """As many rows for each end of a join as DuckDB has in the full outer join."""
    graph = load(core_of(shape_of(Q3), peer(Kind.OUTER, Q3)), data.tables).graph
    assert isinstance(graph, Peer)
    connection = duckdb.connect()
    for name, table in data.tables.items():
        connection.register(name, table)
    on = "users u FULL JOIN tweet t ON u.userId = t.userId FULL JOIN retweet r ON t.tweetId = r.retweetTweetId"
    counts = "count(u.userId), count(t.userId), count(t.userId), count(r.userId), count(*)"
    ((*ends, rows),) = connection.execute(f"SELECT {counts} FROM {on}").fetchall()
    assert rows > max(ends)
    held = []
    for table in graph.kept.tables:
        places = graph.arena[graph.arena[table] : graph.arena[table] + graph.arena[table + 1] + 1] & PLACES
        held.append(int(graph.arena[places[places > 0] + 2].sum()))
    assert held == ends


@pytest.mark.parametrize("scale", [0.01, 0.001])
def test_data_has_the_shape_of_bsma(scale: float) -> None:
    sizes = SMALL.scaled(scale)
    found = social(sizes)
    more = {"users": 1 + sum(FOLLOWER_FANOUTS), "follower": sum(FOLLOWER_FANOUTS)}
    more |= {"tweet": THE_TWEETS, "retweet": sum(RETWEET_FANOUTS)}
    for name, columns in SCHEMA.items():
        assert found.tables[name].column_names == list(columns)
        assert found.tables[name].num_rows == getattr(sizes, name) + more[name]
    pairs = list(zip(*(column.to_pylist() for column in found.tables["follower"].columns), strict=True))
    assert len(set(pairs)) == len(pairs)
    assert all(who != whom for who, whom in pairs)
    messages = [
        *found.tables["tweet"].column("tweetId").to_pylist(),
        *found.tables["retweet"].column("tweetId").to_pylist(),
    ]
    assert len(set(messages)) == len(messages)
    assert set(found.tables["retweet"].column("retweetTweetId").to_pylist()) <= set(messages)
    for name in ("tweet", "retweet"):
        dates = found.tables[name].column("tweetDate").to_numpy()
        assert (np.diff(dates) >= 0).all()


def test_data_are_the_same_each_time() -> None:
    sizes = Sizes(30, 100, 50, 60)
    assert social(sizes).tables == social(sizes).tables


def test_followers_and_retweets_follow_a_power_law(data: Data) -> None:
    """Some have many times as many as others on average."""
    found = social(SMALL.scaled(0.1))
    for table, column in (("follower", "userId"), ("retweet", "retweetTweetId")):
        counts = np.unique(found.tables[table].column(column).to_numpy(), return_counts=True)[1]
        assert counts.max() > 5 * counts.mean()


def test_retweets_decay() -> None:
    """Most retweets come soon after what they retweet, and hardly any before it."""
    found = social(SMALL.scaled(0.1))
    both = [found.tables[name].select(["tweetId", "tweetDate"]) for name in ("tweet", "retweet")]
    dates = dict(zip(*(column.to_pylist() for column in pa.concat_tables(both).columns), strict=True))
    retweet = found.tables["retweet"]
    ages = retweet.column("tweetDate").to_numpy() - [dates[of] for of in retweet.column("retweetTweetId").to_pylist()]
    assert (ages >= 0).mean() > 0.99
    assert np.median(ages) < 0.1 * max(dates.values())


def test_the_sizes_are_those_of_figure_9_2() -> None:
    assert (LARGE.users, LARGE.follower, LARGE.tweet, LARGE.retweet) == (10**6, 11 * 10**6, 6 * 10**6, 7 * 10**6)
    assert (SMALL.users, SMALL.tweet, SMALL.retweet) == (10**4, 6 * 10**4, 7 * 10**4)
    assert {SMALL.follower, SMALL_1M.follower} == {110_000, 10**6}


@pytest.mark.parametrize("n", LENGTHS)
def test_one_user_has_the_fanouts_of_table_9_3(n: int, data: Data) -> None:
    def fanout(view: JoinView, changed: str, row: list[int]) -> int:
        own = data.tables[changed].slice(0, 0)
        one = pa.table({name: [value] for name, value in zip(own.column_names, row, strict=True)})
        return rows_of(view, {**data.tables, changed: one})

    assert fanout(follower_chain(n), "tweet", [data.user, -1, 0]) == FOLLOWER_FANOUTS[n - 1]
    assert fanout(retweet_chain(n), "follower", [data.user, -1]) == RETWEET_FANOUTS[n - 1]


def test_rows_of_a_view_are_counted_without_making_them(data: Data) -> None:
    for view in (Q1, Q2, Q3, follower_chain(2), retweet_chain(2)):
        assert rows_of(view, data.tables) == sum(queried(view, data.tables).values())


def test_a_fanout_is_the_number_of_followers(data: Data) -> None:
    tables, changes = with_fanout(data, 5, 3)
    before, tweets = queried(Q1, tables), changes["tweet"].drop_columns(["__w"])
    after = queried(Q1, {**tables, "tweet": pa.concat_tables([tables["tweet"], tweets])})
    assert sorted(Counter(row[0] for row in minus(after, before)).values()) == [3] * 5


#: Parts that build several graphs even at this scale.
LONG = {"simple", "fanout", "joins", "modifications", "kernels"}


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize(
    "part",
    [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in PARTS if name != "follow"],
)
@pytest.mark.one_in(4)
def test_each_part_has_figures(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether a bound is reached, says nothing at this scale."""
    monkeypatch.setattr(ready, "_process", lambda cache: 0.5)
    report = run(0.0003, part)
    rows = report.to_dict()["rows"]
    assert rows
    assert all((row["reached"] in ("yes", "no")) == bool(row["bound"]) for row in rows)
    assert any(row["bound"] or row["the thesis"] for row in rows) or part == "pathway"
    assert report.charts
    if part == "joins":
        fanouts = {row["what"]: row["reached"] for row in rows if "view diffs for a base diff" in row["what"]}
        assert fanouts == dict.fromkeys(fanouts, "yes")
        assert len(fanouts) == 2 * len(LENGTHS)


@pytest.mark.slow
@pytest.mark.spark
def test_following_has_figures() -> None:
    rows = run(0.0003, "follow").to_dict()["rows"]
    bounded = [row for row in rows if row["bound"]]
    assert len(bounded) == 4
    assert [row["reached"] for row in bounded[:2]] == ["yes", "yes"], "a Spark job, or a replay of a log"
