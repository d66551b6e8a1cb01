"""The declared key of a table, checked by Spark before rows are written."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from rollview.parse.names import quote
from rollview.store.protocol import DELETE, INSERT
from rollview.store.schema import key_repeated, null_in_key
from rollview.store.spark_sql.row_changes import AFTER, BEFORE, KIND


def check_key(table: str, rows: DataFrame, key: Sequence[str], old: DataFrame | None) -> None:
    """Raises KeyViolated if the rows repeat a key among themselves or of the old rows, or lack it."""
    if not key:
        return
    keys = [quote(c) for c in key]
    fresh = rows.selectExpr(*keys)
    for column in key:
        if not fresh.where(f"{quote(column)} IS NULL").isEmpty():
            raise null_in_key(table, column, "part of the key")
    whole = fresh if old is None else fresh.unionAll(old.selectExpr(*keys).join(fresh, list(key), "left_semi"))
    twice = whole.groupBy(*keys).count().where("count > 1").limit(3).collect()
    if twice:
        raise key_repeated(table, key, twice)


def check_changes(table: str, changed: DataFrame, key: Sequence[str], rows: DataFrame) -> None:
    """The same for changed rows of a table."""
    before, after = ([f"{image}.{quote(c)} AS {quote(c)}" for c in key] for image in (BEFORE, AFTER))
    new = changed.where(f"{KIND} <> '{DELETE}'").selectExpr(*after)
    touched = changed.where(f"{KIND} <> '{INSERT}'").selectExpr(*before)
    check_key(table, new, key, rows.join(touched, list(key), "left_anti"))
