"""The views of Tables 9.1 and 9.2, whose text is lost: made again from what the chapter says of them."""

from __future__ import annotations

from dataclasses import dataclass

from rollview.bench.graphivm.data import SCHEMA


@dataclass(frozen=True)
class Join:
    """Two occurrences of tables, by number, and the columns that they have equal."""

    a: int
    a_column: str
    b: int
    b_column: str


@dataclass(frozen=True)
class JoinView:
    """Tables that are joined along a tree. All columns are shown. If the view is an aggregate, its rows are
    counted ``by`` a column of an occurrence."""

    name: str
    tables: tuple[str, ...]
    joins: tuple[Join, ...]
    by: tuple[int, str] | None = None

    @property
    def sql(self) -> str:
        tables = ", ".join(f"{table} AS a{i}" for i, table in enumerate(self.tables))
        joins = " AND ".join(f"a{j.a}.{j.a_column} = a{j.b}.{j.b_column}" for j in self.joins)
        return f"SELECT {', '.join(self._shown())} FROM {tables} WHERE {joins}{self._group()}"

    @property
    def columns(self) -> list[str]:
        """The names of the view's columns."""
        return [shown.split(" AS ")[1] for shown in self._shown()]

    def _shown(self) -> list[str]:
        if self.by is not None:
            return [f"a{self.by[0]}.{self.by[1]} AS c0", "count(*) AS c1"]
        names = [f"a{i}.{column}" for i, table in enumerate(self.tables) for column in SCHEMA[table]]
        equal = {f"a{j.b}.{j.b_column}" for j in self.joins}
        return [f"{name} AS c{i}" for i, name in enumerate(name for name in names if name not in equal)]

    def _group(self) -> str:
        return "" if self.by is None else f" GROUP BY a{self.by[0]}.{self.by[1]}"

    def rows(self) -> JoinView:
        """The view whose rows an aggregate counts."""
        return JoinView(self.name, self.tables, self.joins)


Q1 = JoinView("Q1", ("tweet", "follower"), (Join(0, "userId", 1, "userId"),))
Q2 = JoinView("Q2", ("tweet", "retweet"), (Join(0, "tweetId", 1, "retweetTweetId"),))
Q3 = JoinView(
    "Q3",
    ("users", "tweet", "retweet"),
    (Join(0, "userId", 1, "userId"), Join(1, "tweetId", 2, "retweetTweetId")),
)
ROWS = (Q1, Q2, Q3)

#: How many rows each of these has: by author, by tweet, by author.
AGGREGATES = (
    JoinView("Q1Agg", Q1.tables, Q1.joins, (0, "userId")),
    JoinView("Q2Agg", Q2.tables, Q2.joins, (0, "tweetId")),
    JoinView("Q3Agg", Q3.tables, Q3.joins, (0, "userId")),
)

FANOUT = JoinView("QFanout", Q1.tables, Q1.joins)

#: The lengths of the chains: n joins of followers or retweets, so n + 1 joins in all.
LENGTHS = (1, 2, 3, 4)


def follower_chain(n: int) -> JoinView:
    """User ⋈ Tweet ⋈ F1 ⋈ … ⋈ Fn, where each one follows the follower before."""
    first = (Join(0, "userId", 1, "userId"), Join(1, "userId", 2, "userId"))
    more = tuple(Join(i, "followerId", i + 1, "userId") for i in range(2, n + 1))
    return JoinView(f"follower chain, {n + 1} joins", ("users", "tweet", *("follower",) * n), first + more)


def retweet_chain(n: int) -> JoinView:
    """Follower ⋈ Tweet ⋈ R1 ⋈ … ⋈ Rn, where each one retweets the retweet before."""
    first = (Join(0, "userId", 1, "userId"), Join(1, "tweetId", 2, "retweetTweetId"))
    more = tuple(Join(i, "tweetId", i + 1, "retweetTweetId") for i in range(2, n + 1))
    return JoinView(f"retweet chain, {n + 1} joins", ("follower", "tweet", *("retweet",) * n), first + more)
