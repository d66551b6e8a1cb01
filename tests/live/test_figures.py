"""The worked examples of the GraphIVM thesis, on the graph's exact content.

Its figures contradict its tables, so: the tables of Figure 5.2 and one more retweet (t5, charlie, t1), which gives the
counts of Figures 5.3 and 5.4; Figure 7.1 with ``R1.retweet = R2.tweet``, and a new follower of alice.
"""

from __future__ import annotations

import pytest

from live_examples import Example
from rollview.live.core import Start
from rollview.live.graph.protocol import LookAhead

pytestmark = pytest.mark.usefixtures("each_graph")

SOCIAL = {
    "users": [("username", "string"), ("gender", "string"), ("country", "string")],
    "tweet": [("username", "string"), ("tweet", "string"), ("day", "string")],
    "follower": [("username", "string"), ("followername", "string")],
    "retweet": [("retweet", "string"), ("username", "string"), ("tweet", "string")],
}
USERS = [
    ("joe", "male", "USA"),
    ("bob", "male", "USA"),
    ("alice", "female", "USA"),
    ("cathy", "male", "Canada"),
]
TWEETS = [("joe", "t1", "2/2/15"), ("joe", "t9", "2/3/15")]
FOLLOWERS = [
    ("joe", "bob"),
    ("joe", "alice"),
    ("cathy", "bob"),
    ("joe", "cathy"),
    ("bob", "alice"),
    ("cathy", "alice"),
]
RETWEETS = [
    ("t2", "bob", "t1"),
    ("t3", "bob", "t1"),
    ("t4", "alice", "t1"),
    ("t5", "charlie", "t1"),
    ("t6", "bob", "t3"),
    ("t7", "alice", "t3"),
    ("t8", "alice", "t6"),
]
TRACKER = (
    "SELECT u.username, u.gender, u.country, t.tweet, t.day, r.username AS retweeter "
    "FROM users u, tweet t, retweet r WHERE u.username = t.username AND t.tweet = r.tweet"
)
COUNTER = (
    "SELECT u.username, count(r.tweet) AS retweets FROM users u, tweet t, retweet r "
    "WHERE u.username = t.username AND t.tweet = r.tweet GROUP BY u.username"
)


def test_figure_1_1_each_tuple_is_held_once_also_if_it_joins_with_few() -> None:
    tables = {"r": [("a", "int"), ("b", "int")], "s": [("b", "int"), ("c", "int")], "t": [("c", "int"), ("d", "int")]}
    example = Example("SELECT r.a, r.b, s.c, t.d FROM r JOIN s ON r.b = s.b JOIN t ON s.c = t.c", tables)
    example.load(r=[(1, 1), (2, 2)], s=[(1, 1), (2, 2), (3, 3)], t=[(1, 1), (1, 2), (3, 3)])
    assert example.held("r") == {(1,): {(1, 1): 1}, (2,): {(2, 2): 1}}
    assert example.held("s") == {(1, 1): {(1,): 1}, (2, 2): {(2,): 1}, (3, 3): {(3,): 1}}
    assert example.held("t") == {(1,): {(1,): 1, (2,): 1}, (3,): {(3,): 1}}
    assert example.rows() == {(1, 1, 1, 1): 1, (1, 1, 1, 2): 1}


def tracker() -> Example:
    example = Example(TRACKER, SOCIAL)
    example.load(users=USERS, tweet=TWEETS, retweet=RETWEETS)
    return example


def test_figure_5_3_the_graph_of_retweet_tracker() -> None:
    example = tracker()
    assert example.held("users") == {(row[0],): {row: 1} for row in USERS}
    assert example.held("tweet") == {("joe", "t1"): {("t1", "2/2/15"): 1}, ("joe", "t9"): {("t9", "2/3/15"): 1}}
    assert example.held("retweet") == {
        ("t1",): {("bob",): 2, ("alice",): 1, ("charlie",): 1},
        ("t3",): {("bob",): 1, ("alice",): 1},
        ("t6",): {("alice",): 1},
    }
    values = [
        sorted(example._decoded(v.layout, key)[0] for key in found)
        for v, found in zip(example.core.shape.vertices, example.graph.values, strict=True)
    ]
    assert values == [["alice", "bob", "cathy", "joe"], ["t1", "t3", "t6", "t9"]]


def test_figure_5_2_the_rows_of_retweet_tracker() -> None:
    tweet = ("joe", "male", "USA", "t1", "2/2/15")
    assert tracker().rows() == {(*tweet, "bob"): 2, (*tweet, "alice"): 1, (*tweet, "charlie"): 1}


def test_a_complete_and_a_partial_path() -> None:
    """Example 12: the left path of Figure 5.3 is complete, the right one has no retweet."""
    example = tracker()
    assert example.item("users", "joe").is_live(0)
    assert example.item("tweet", "joe", "t1").is_live(0)
    assert not example.item("tweet", "joe", "t9").is_live(0)
    assert example.item("tweet", "joe", "t9").is_live(1)


def test_figure_5_4_extended_projected_tuples() -> None:
    example = Example(COUNTER, SOCIAL)
    example.load(users=USERS, tweet=TWEETS, retweet=RETWEETS)
    assert {key: state[()][:2] for key, state in example.held("retweet").items()} == {
        ("t1",): (4, 4),
        ("t3",): (2, 2),
        ("t6",): (1, 1),
    }
    assert example.held("tweet") == {("joe", "t1"): {(): 1}, ("joe", "t9"): {(): 1}}
    assert example.rows() == {("joe", 4): 1}
    assert example.insert("retweet", ("t10", "cathy", "t1")) == {("joe", 4): -1, ("joe", 5): 1}


REACH = (
    "SELECT t.username, t.tweet, f.followername FROM tweet t, retweet r1, retweet r2, follower f "
    "WHERE t.tweet = r1.tweet AND r1.retweet = r2.tweet AND r2.username = f.username"
)
SECOND = [
    ("t2", "bob", "t1"),
    ("t3", "cathy", "t1"),
    ("t4", "alice", "t1"),
    ("t6", "cathy", "t3"),
    ("t7", "alice", "t3"),
    ("t8", "alice", "t6"),
]


@pytest.mark.parametrize(
    ("look_ahead", "candidates"),
    [
        (LookAhead.NONE, {"t1", "t3", "t6"}),  # what t4, t7 and t8 are retweets of
        (LookAhead.LOCAL, {"t3", "t6"}),
        (LookAhead.GLOBAL, {"t3"}),
    ],
)
def test_figure_7_1_look_ahead_prunes_the_candidates(look_ahead: LookAhead, candidates: set[str]) -> None:
    example = Example(REACH, SOCIAL, look_ahead)
    example.load(tweet=TWEETS, retweet=SECOND)
    side = example.core.shape.parts[2].vertices.index(
        next(v.number for v in example.core.shape.vertices if v.parts == (2, 3))
    )
    of_alice = [item for item in example.graph.tuples[2].values() if "alice" in example._values(item)]
    assert len(of_alice) == 3
    assert {next(v for v in example._values(i) if v != "alice") for i in of_alice if i.is_live(side)} == candidates
    before = example.graph.visited
    assert example.insert("follower", ("alice", "charlie")) == {("joe", "t1", "charlie"): 1}
    visited = {LookAhead.NONE: 8, LookAhead.LOCAL: 6, LookAhead.GLOBAL: 4}
    assert example.graph.visited - before <= visited[look_ahead]
    assert example.graph.visited - before >= 4


def test_figure_8_1_a_new_tweet_meets_each_follower_once() -> None:
    """A full outer join table has six rows of joe, three of them twice; the graph has three projected tuples."""
    timeline = "SELECT f.username, f.followername, t.tweet FROM follower f, tweet t WHERE f.username = t.username"
    example = Example(timeline, SOCIAL)
    example.load(follower=FOLLOWERS, tweet=TWEETS)
    assert example.held("follower")[("joe",)] == {("joe", "bob"): 1, ("joe", "alice"): 1, ("joe", "cathy"): 1}
    before = example.graph.visited
    assert example.insert("tweet", ("joe", "t10", "2/4/15")) == {
        ("joe", follower, "t10"): 1 for follower in ("bob", "alice", "cathy")
    }
    assert example.graph.visited - before == 2


def test_rows_are_found_from_a_join_key_without_visiting_others() -> None:
    example = tracker()
    (vertex,) = (v for v in example.core.shape.vertices if v.parts == (1, 2))
    key = next(key for key in example.graph.values[vertex.number] if example._decoded(vertex.layout, key) == ("t1",))
    before = example.graph.visited
    found = [len(weights) for _, weights in example.core.rows(Start(vertex.number, key))]
    assert found == [3]
    assert example.graph.visited - before == 3
