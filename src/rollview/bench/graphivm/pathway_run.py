"""Pathway on QFanout: run by a Python that has Pathway, not by the one of the measurement. Prints JSON.

Arguments: a Parquet file with followers, one with tweets, how many of these, "eager" if each is a batch of its own, and
"delivered" if a function of Python gets each row of the diffs; otherwise they are discarded. The whole process is
measured, with its threads, with one tweet and with all of them; the difference counts.
"""

import json
import os
import sys
import time
from importlib import import_module


def seconds(followers: str, tweets: str, count: int, eager: bool, delivered: bool) -> float:
    """The CPU seconds of a run with a number of tweets. All followers come at the first time, the tweets later."""
    pw = import_module("pathway")
    read_parquet = import_module("pandas").read_parquet
    follower, tweet = read_parquet(followers), read_parquet(tweets).head(count)
    follower["__time__"], follower["__diff__"] = 2, 1
    tweet["__time__"], tweet["__diff__"] = ([4 + 2 * i for i in range(len(tweet))] if eager else 4), 1
    pw.internals.parse_graph.G.clear()
    left = pw.debug.table_from_pandas(tweet)
    right = pw.debug.table_from_pandas(follower)
    joined = left.join(right, left.userId == right.userId).select(
        left.userId, left.tweetId, left.tweetDate, right.followerId
    )
    if delivered:
        pw.io.subscribe(joined, on_change=lambda key, row, time, is_addition: None)
    else:
        pw.io.null.write(joined)
    start = time.process_time()
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    return time.process_time() - start


if __name__ == "__main__":
    _, followers, tweets, count, *options = sys.argv
    eager, delivered = "eager" in options, "delivered" in options
    one, every = (seconds(followers, tweets, n, eager, delivered) for n in (1, int(count)))
    sys.stdout.write(json.dumps({"seconds": every - one}) + os.linesep)
