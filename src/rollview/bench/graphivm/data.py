"""Data of the shape of BSMA: users, followers by a power law, tweets, retweets that decay with time.

The sizes are those of Figure 9.2. The figure says 1 M followers of the small instance, the text "scaled down by a
factor of 100", which makes 110 K: both are there. One more user has the fanouts of Table 9.3, exactly. Everything comes
from one seed, so every run has the same rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from rollview.live.interning import Words

SEED = 9

#: The columns of Figure 9.1.
SCHEMA = {
    "users": ("userId",),
    "follower": ("userId", "followerId"),
    "tweet": ("userId", "tweetId", "tweetDate"),
    "retweet": ("userId", "tweetId", "tweetDate", "retweetTweetId"),
}

#: Table 9.3: the fanout of the chains of 2, 3, 4 and 5 joins, for the one user.
FOLLOWER_FANOUTS, RETWEET_FANOUTS = (182, 381, 445, 545), (110, 56, 24, 11)

#: The tweets of the one user, who has as many retweets for each as all others have on average: 7 for 6.
THE_TWEETS = 94

#: How popular users are: the n-th has a weight of 1 / (n + _FEWER) ** _POWER.
_POWER, _FEWER = 0.8, 10
#: Half of the retweets are of what another recent one retweets: that makes a power law. The others are of any recent
#: message.
_COPIED, _RECENT = 0.5, 0.02
#: Seconds from the first to the last message.
_SECONDS = 30 * 24 * 3600


@dataclass(frozen=True)
class Sizes:
    """The rows of the tables."""

    users: int
    follower: int
    tweet: int
    retweet: int

    def scaled(self, scale: float) -> Sizes:
        users = max(20, round(self.users * scale))
        follower = min(users * (users - 1) // 4, max(40, round(self.follower * scale)))
        return Sizes(users, follower, max(60, round(self.tweet * scale)), max(70, round(self.retweet * scale)))


#: Figure 9.2; the small one with the followers of the text, and with those of the figure.
LARGE = Sizes(1_000_000, 11_000_000, 6_000_000, 7_000_000)
SMALL = Sizes(10_000, 110_000, 60_000, 70_000)
SMALL_1M = Sizes(10_000, 1_000_000, 60_000, 70_000)


@dataclass(frozen=True)
class Data:
    """The tables. ``user`` is the one with the fanouts of Table 9.3, ``next`` a number that no user or message has.

    Tweets and retweets are in the order of their dates."""

    tables: Mapping[str, pa.Table]
    user: int
    next: int


def social(sizes: Sizes) -> Data:
    """The data at some sizes."""
    random = np.random.default_rng(SEED)
    users = np.arange(sizes.users, dtype=np.int64)
    follower = _followers(random, sizes)
    tweet, retweet = _messages(random, sizes)
    theirs = _the_user(random, sizes.users, sizes.tweet + sizes.retweet)
    tables = {
        "users": _table("users", [np.concatenate([users, *theirs["users"]])]),
        "follower": _shuffled(random, "follower", _joined(follower, theirs["follower"])),
        "tweet": _by_date("tweet", _joined(tweet, theirs["tweet"])),
        "retweet": _by_date("retweet", _joined(retweet, theirs["retweet"])),
    }
    most = max(int(column.to_numpy().max()) for table in tables.values() for column in table.columns)
    return Data(tables, sizes.users, most + 1)


def table_of(name: str, columns: Sequence[Words]) -> pa.Table:
    return _table(name, columns)


def _table(name: str, columns: Sequence[Words]) -> pa.Table:
    return pa.table(dict(zip(SCHEMA[name], columns, strict=True)))


def _joined(a: Sequence[Words], b: Sequence[Words]) -> list[Words]:
    return [np.concatenate(pair) for pair in zip(a, b, strict=True)]


def _shuffled(random: np.random.Generator, name: str, columns: Sequence[Words]) -> pa.Table:
    order = random.permutation(len(columns[0]))
    return _table(name, [column[order] for column in columns])


def _by_date(name: str, columns: Sequence[Words]) -> pa.Table:
    order = np.argsort(columns[2], kind="stable")
    return _table(name, [column[order] for column in columns])


def _followers(random: np.random.Generator, sizes: Sizes) -> list[Words]:
    """Pairs that differ: the popular users have most of them."""
    weights = 1 / (np.arange(sizes.users) + _FEWER) ** _POWER
    ends = np.cumsum(weights) / weights.sum()
    pairs = np.zeros(0, np.int64)
    while len(pairs) < sizes.follower:
        more = round(1.2 * (sizes.follower - len(pairs))) + 10
        who = np.searchsorted(ends, random.random(more)).astype(np.int64)
        whom = random.integers(0, sizes.users, more)
        pairs = np.unique(np.concatenate([pairs, (who * sizes.users + whom)[who != whom]]))
    pairs = random.permutation(pairs)[: sizes.follower]
    popular = random.permutation(sizes.users)
    return [popular[pairs // sizes.users], popular[pairs % sizes.users]]


def _messages(random: np.random.Generator, sizes: Sizes) -> tuple[list[Words], list[Words]]:
    """Tweets as they come by chance, each of any user; and retweets."""
    tweets, retweets = sizes.tweet, sizes.retweet
    times = np.cumsum(random.exponential(1.0, tweets))
    dates = np.concatenate([times / times[-1], np.sort(random.random(retweets))])
    order = np.argsort(dates, kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    seconds = (dates * _SECONDS).astype(np.int64)
    numbers = np.arange(tweets + retweets, dtype=np.int64)
    users = random.integers(0, sizes.users, tweets + retweets)
    age = 1 + random.exponential(_RECENT * len(order), retweets).astype(np.int64)
    target = order[np.maximum(place[tweets:] - age, 0)]
    target = np.where(target == numbers[tweets:], order[0], target)
    target = _copied(random, target, retweets)
    tweet = [users[:tweets], numbers[:tweets], seconds[:tweets]]
    return tweet, [users[tweets:], numbers[tweets:], seconds[tweets:], target]


def _copied(random: np.random.Generator, target: Words, retweets: int) -> Words:
    """Half of the retweets retweet what an earlier one does, as that one may in turn."""
    own = np.arange(retweets, dtype=np.int64)
    lag = 1 + random.exponential(_RECENT * retweets, retweets).astype(np.int64)
    source = np.where((random.random(retweets) < _COPIED) & (lag <= own), own - lag, own)
    while True:
        further = source[source]
        if (further == source).all():
            return target[source]
        source = further


def _the_user(random: np.random.Generator, users: int, messages: int) -> dict[str, list[Words]]:
    """The rows of the user with the fanouts of Table 9.3: levels of followers and of retweets, with their
    own numbers. In each level some have most of the next one, and some have none."""
    people, follower = [np.array([users])], []
    for count in FOLLOWER_FANOUTS:
        level = people[-1].max() + 1 + np.arange(count, dtype=np.int64)
        follower.append((_of_some(random, people[-1], count), level))
        people.append(level)
    level, retweet = messages + np.arange(THE_TWEETS, dtype=np.int64), []
    dates = np.sort(random.integers(0, _SECONDS // 2, THE_TWEETS))
    tweet = [np.full(THE_TWEETS, users), level, dates]
    for count in RETWEET_FANOUTS:
        own = level.max() + 1 + np.arange(count, dtype=np.int64)
        of = _of_some(random, level, count)
        dates = dates[of - level[0]] + random.integers(1, _SECONDS // 10, count)
        retweet.append((random.integers(0, users, count), own, dates, of))
        level = own
    return {
        "users": people,
        "follower": [np.concatenate(each) for each in zip(*follower, strict=True)],
        "tweet": tweet,
        "retweet": [np.concatenate(each) for each in zip(*retweet, strict=True)],
    }


def _of_some(random: np.random.Generator, level: Words, count: int) -> Words:
    """A number of draws from a level, by a power law."""
    weights = 1 / (np.arange(len(level)) + 3.0) ** _POWER
    found: Words = random.permutation(level)[random.choice(len(level), count, p=weights / weights.sum())]
    return found
