"""The changes of a table that keeps no change feed, or kept none at some time: two of its versions, compared."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import DataFrame, SparkSession

from rollview.engine.protocol import has_no_equality
from rollview.engine.spark import sql_over, verbatim
from rollview.errors import VersionGone
from rollview.parse.names import quote
from rollview.store.protocol import CHANGE_TYPE, COMMIT_TIME, COMMIT_VERSION, DELETE, FEED_PROPERTY, INSERT


class ChangeFeedOff(UserWarning):
    """A table's changes are found by comparing two whole versions, because it keeps no change feed."""


@dataclass(frozen=True)
class Between:
    """Two versions of a table, with its name as SQL writes it, and the time of the later one."""

    table: str
    sql_name: str
    after: int
    upto: int
    time: datetime


def compared(
    spark: SparkSession, between: Between, old: DataFrame, new: DataFrame, columns: Sequence[str] | None
) -> DataFrame:
    """The net change between two versions, as rows deleted and inserted at the later one. It has the requested columns
    that both versions have."""
    table, after, upto = between.table, between.after, between.upto
    switch = f"ALTER TABLE {between.sql_name} SET TBLPROPERTIES ({FEED_PROPERTY} = true)"
    warnings.warn(
        f"{table} keeps no change feed for versions {after + 1} to {upto}: they are compared as a whole. "
        f"Switch it on with {switch}",
        ChangeFeedOff,
        stacklevel=4,
    )
    was = dict(old.dtypes)
    both = {name: kind for name, kind in new.dtypes if was.get(name) == kind and name in (columns or was)}
    if any(map(has_no_equality, both.values())):
        raise VersionGone(
            f"The changes of {table} after version {after} cannot be found",
            why="it keeps no change feed, and VARIANT values of two versions cannot be compared",
            todo=f"switch the feed on: {switch}",
        )
    micros = int(between.time.timestamp() * 1_000_000)
    shown = verbatim(", ".join(quote(name) for name in both))
    query = (
        f"SELECT {shown}, IF(__rv_n > 0, '{INSERT}', '{DELETE}') AS {CHANGE_TYPE}, {upto}L AS {COMMIT_VERSION}, "
        f"timestamp_micros({micros}L) AS {COMMIT_TIME} FROM (SELECT {shown}, sum(__rv_n) AS __rv_n FROM "
        f"(SELECT {shown}, 1 AS __rv_n FROM {{new}} UNION ALL SELECT {shown}, -1 FROM {{old}}) GROUP BY {shown}) "
        f"LATERAL VIEW explode(sequence(1, abs(__rv_n))) AS __rv_copy WHERE __rv_n <> 0"
    )
    return sql_over(spark, query, new=new, old=old)
