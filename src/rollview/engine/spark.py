"""What is done with any Spark session, classic or Connect, through the public DataFrame and SQL API alone."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from rollview.errors import (
    ColumnNotFound,
    Place,
    RollviewError,
    SqlError,
    SqlSyntaxError,
    TableNotFound,
    nearest,
)
from rollview.parse.names import Name, parse_name, quote
from rollview.parse.references import Reference, substitute


@contextlib.contextmanager
def settings(spark: SparkSession, values: Mapping[str, str]) -> Iterator[None]:
    """Session settings that hold inside the block only."""
    before: dict[str, str | None] = {name: spark.conf.get(name, None) for name in values}
    try:
        for name, value in values.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, old in before.items():
            if old is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, old)


def sql_over(spark: SparkSession, template: str, **frames: Any) -> DataFrame:
    """SQL over frames: ``{name}`` in the template stands for a frame. Text of a user goes in through ``verbatim``.

    The frames become part of the plan: what the SQL means does not change when names of the session do.
    """
    if not frames:  # Spark would leave the doubled braces of verbatim text as they are
        return spark.sql(template.replace("{{", "{").replace("}}", "}"))
    return spark.sql(template, **frames)


def verbatim(text: str) -> str:
    """A user's text as part of a template."""
    return text.replace("{", "{{").replace("}", "}}")


def run_query(
    spark: SparkSession, sql: str, refs: Sequence[Reference], relations: Mapping[Name, DataFrame]
) -> DataFrame:
    """The query, each table that it names replaced by the given relation."""
    slots = {name: f"r{i}" for i, name in enumerate(relations)}
    template = substitute(sql, refs, {name: f"{{{slot}}}" for name, slot in slots.items()}, verbatim)
    return sql_over(spark, template, **{slots[name]: frame for name, frame in relations.items()})


def small_frame(spark: SparkSession, rows: Iterable[Sequence[object]], schema: str | StructType) -> DataFrame:
    """A frame of a few rows made by rollview itself."""
    return spark.createDataFrame([tuple(row) for row in rows], schema)


@contextlib.contextmanager
def spark_errors(sql: str, names: Callable[[], Iterable[str]] = tuple) -> Iterator[None]:
    """Turns what Spark says about ``sql`` into our words; ``names`` lists the tables that could have been meant."""
    try:
        yield
    except PySparkException as error:
        raise translate(error, sql, names()) from error


def translate(error: PySparkException, sql: str, names: Iterable[str] = ()) -> RollviewError:
    """Spark's error as ours: what, where in ``sql``, and what may have been meant."""
    condition = error.getCondition() or ""
    parameters = error.getMessageParameters() or {}
    place = _place(error, sql)
    if condition.startswith("TABLE_OR_VIEW_NOT_FOUND"):
        shown = parameters.get("relationName", "")
        name = ".".join(parse_name(shown))
        return TableNotFound(
            f"There is no table or view named {shown}",
            where=place or Place.find(sql, name),
            todo=nearest(name, names) or _listing(names),
        )
    if condition.startswith("UNRESOLVED_COLUMN"):
        shown = parameters.get("objectName", "")
        name = ".".join(parse_name(shown))
        offers = parameters.get("proposal", "")
        columns = [parse_name(offer.strip())[-1] for offer in offers.split(",")] if offers else []
        hint = nearest(name.split(".")[-1], columns)
        return ColumnNotFound(
            f"There is no column named {shown}",
            where=place or Place.find(sql, name),
            todo=hint or (f"the columns here are {', '.join(quote(c) for c in columns)}" if columns else ""),
        )
    message = _sentence(error)
    if condition.startswith(("PARSE_", "INVALID_IDENTIFIER")) or "ParseException" in type(error).__name__:
        todo = "put the name into backticks" if "IDENTIFIER" in condition else ""
        return SqlSyntaxError("Spark cannot read this SQL", where=place, why=message, todo=todo)
    return SqlError("Spark refuses this statement", where=place, why=message)


def _listing(names: Iterable[str]) -> str:
    known = sorted(names)
    if not known:
        return "there are no tables yet; make one with CREATE TABLE"
    more = f" and {len(known) - 8} more" if len(known) > 8 else ""
    return f"the tables here are {', '.join(quote(n) for n in known[:8])}{more}"


def _place(error: PySparkException, sql: str) -> Place | None:
    for context in error.getQueryContext() or []:
        try:
            fragment = context.fragment()
            start = context.startIndex()
        except Exception:  # contexts of DataFrame calls have no text
            continue
        if fragment and sql[start : start + len(fragment)] == fragment:
            return Place(sql, start, start + len(fragment))
        if found := Place.find(sql, fragment):
            return found
    if match := re.search(r"\(line (\d+), pos (\d+)\)", str(error)):
        begin = sum(len(line) + 1 for line in sql.split("\n")[: int(match[1]) - 1]) + int(match[2])
        word = re.match(r"\w+|.?", sql[begin:])
        if begin < len(sql) and word:
            return Place(sql, begin, begin + max(1, len(word[0])))
    return None


def _sentence(error: PySparkException) -> str:
    """Spark's message without its error class, plan, SQL echo and stack."""
    text = (error.getMessage() or str(error)).strip()
    text = re.split(r"\n\s*\n|\n==|;\s*line \d+ pos \d+|\(line \d+, pos \d+\)|SQLSTATE: \w+", text)[0]
    return re.sub(r"^\[[A-Z_.0-9]+\]\s*", "", text).strip()
