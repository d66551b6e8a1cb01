"""The engine on any Spark session, classic or Connect, through the public DataFrame and SQL API only."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import tzinfo
from typing import Any

import pyarrow as pa
from pyspark.logger import PySparkLogger
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from rollview.codegen.printer import print_plan
from rollview.engine.job_counter import JobCounter
from rollview.engine.protocol import Kept, has_no_equality, relation_name
from rollview.engine.sources import SparkSource, source_of
from rollview.engine.spark_errors import spark_errors
from rollview.engine.work import Work, measured
from rollview.engine.zones import zone_named
from rollview.limits import DEFAULT, Limits
from rollview.parse.logs import silence
from rollview.parse.names import Name, quote
from rollview.parse.references import Reference, references, substitute
from rollview.parse.tree import OTHER_SPELLINGS
from rollview.plan.nodes import MARK, SINGLE, Join, Node, Scan
from rollview.plan.reserved import STATE


@contextlib.contextmanager
def settings(spark: SparkSession, values: Mapping[str, str]) -> Iterator[None]:
    """Sets session settings inside the block, and restores the previous ones after it."""
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
    """SQL over frames: ``{name}`` in the template stands for a frame. A user's text must be escaped by ``verbatim``.

    The frames become part of the plan, so the meaning of the SQL does not depend on the names of the session.
    """
    if not frames:  # Spark would leave the doubled braces of verbatim text as they are
        return spark.sql(template.replace("{{", "{").replace("}}", "}"))
    return spark.sql(template, **frames)


def verbatim(text: str) -> str:
    """A user's text, escaped as part of a template."""
    return text.replace("{", "{{").replace("}", "}}")


def over_state(state: DataFrame, query: str) -> DataFrame:
    """The rows of a query over a view's stored rows. The query calls them ``__state``."""
    template = verbatim(query).replace(quote(STATE), "{state}")
    return sql_over(state.sparkSession, template, state=state)


def run_query(
    spark: SparkSession, sql: str, refs: Sequence[Reference], relations: Mapping[Name, DataFrame]
) -> DataFrame:
    """The rows of a query. Each table that it names is replaced by the given relation."""
    slots = {name: f"r{i}" for i, name in enumerate(relations)}
    template = substitute(sql, refs, {name: f"{{{slot}}}" for name, slot in slots.items()}, verbatim)
    return sql_over(spark, template, **{slots[name]: frame for name, frame in relations.items()})


def declared(spark: SparkSession, columns: str) -> StructType:
    """The schema that a column list declares. Spark parses the list in the active session, so a session must exist."""
    schema = StructType.fromDDL(columns)
    assert isinstance(schema, StructType)
    return schema


def small_frame(spark: SparkSession, rows: Iterable[Sequence[object]], schema: str) -> DataFrame:
    """A frame of a few rows that rollview itself creates."""
    return spark.createDataFrame([tuple(row) for row in rows], schema or StructType([]))


#: Settings of a session that change what a query returns.
_RESULT_SETTINGS = (
    "spark.sql.session.timeZone",
    "spark.sql.ansi.enabled",
    "spark.sql.caseSensitive",
    "spark.sql.timestampType",
    "spark.sql.decimalOperations.allowPrecisionLoss",
    *OTHER_SPELLINGS,
)

#: Held while a session setting keeps rows out of plans: parallel refreshes would undo each other's setting.
_OUTSIDE = threading.Lock()


class SparkEngine:
    """Implements ``rollview.engine.protocol.Engine`` on a Spark session."""

    title = "Spark"
    dialect = "spark"
    exact = True
    parallel = True

    def __init__(self, spark: SparkSession | SparkSource, limits: Limits = DEFAULT) -> None:
        self.source, self.limits = source_of(spark), limits
        silence(*map(PySparkLogger.getLogger, ("SQLQueryContextLogger", "DataFrameQueryContextLogger")))

    @property
    def spark(self) -> SparkSession:
        """The session; a local one is created when it is first used."""
        return self.source.spark

    def close(self) -> None:
        self.source.close()

    def select(self, plan: Node, frames: Mapping[str, DataFrame], labels: Sequence[str] | None = None) -> DataFrame:
        slots: dict[str, str] = {}

        def marked(scan: Scan) -> str:
            return f"\x00{slots.setdefault(relation_name(scan), f'r{len(slots)}')}\x00"

        template = verbatim(print_plan(plan, "spark", labels, marked))
        for slot in slots.values():
            template = template.replace(f"`\x00{slot}\x00`", f"{{{slot}}}")
        found = sql_over(self.spark, template, **{slot: frames[name] for name, slot in slots.items()})
        return found.select("*")  # a resolved plan: a writer would resolve the frames again

    def query(self, sql: str, frames: Mapping[Name, DataFrame]) -> DataFrame:
        refs = references(sql)
        return run_query(self.spark, sql, refs, {ref.name: frames[ref.name] for ref in refs}).select("*")

    def over_state(self, state: DataFrame, query: str) -> DataFrame:
        return over_state(state, query)

    def quoted(self, name: str) -> str:
        return quote(name)

    def renamed(self, frame: DataFrame, names: Sequence[str]) -> DataFrame:
        return frame.toDF(*names)

    def nothing(self, frame: DataFrame) -> DataFrame:
        return frame.where("false")

    def arrow(self, frame: DataFrame) -> pa.Table:
        return frame.toArrow()

    def is_empty(self, frame: DataFrame, condition: str) -> bool:
        return frame.where(condition).isEmpty()

    def functions(self) -> set[str]:
        return {row[0].lower() for row in self.spark.sql("SHOW SYSTEM FUNCTIONS").collect()}

    def has_function(self, name: str) -> bool:
        return self.spark.catalog.functionExists(name)

    def zone(self) -> tzinfo | None:
        session = self.source.made  # a session that is not created yet will have the zone of this machine
        return None if session is None else zone_named(session.conf.get("spark.sql.session.timeZone") or "UTC")

    def result_settings(self) -> Mapping[str, str]:
        return {name: value for name in _RESULT_SETTINGS if (value := self.spark.conf.get(name)) is not None}

    def planning_settings(self, plan: Node) -> Mapping[str, str]:
        # when Spark infers conditions, it resolves the columns of a subquery in a union around it, and can fail
        asking = any(isinstance(node, Join) and node.kind in (MARK, SINGLE) for node in plan.walk())
        return {"spark.sql.constraintPropagation.enabled": "false"} if asking else {}

    def has_settings(self, values: Mapping[str, str]) -> bool:
        return all(self.spark.conf.get(name) == value for name, value in values.items())

    def settings(self, values: Mapping[str, str]) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext() if self.has_settings(values) else settings(self.spark, values)

    def columns(self, frame: DataFrame) -> list[tuple[str, str]]:
        return [(field.name, field.dataType.simpleString()) for field in frame.schema.fields]

    def keep(self, frame: DataFrame) -> Kept:
        return self._here(frame) or self._persisted(frame)

    def keep_up_to(self, frame: DataFrame, most: Callable[[], int]) -> Kept | None:
        if (few := self._here(frame)) is not None:
            return few
        limit = most()
        return None if frame.selectExpr("1").limit(limit + 1).count() > limit else self._persisted(frame)

    def _here(self, frame: DataFrame) -> Kept | None:
        """The rows, fetched into this process; None if there are too many."""
        if any(has_no_equality(kind) for _, kind in self.columns(frame)):  # a NULL of type VARIANT cannot be fetched
            return None
        local = frame.limit(self.limits.rows_here + 1).toArrow()
        return self._local(local, frame.schema) if local.num_rows <= self.limits.rows_here else None

    def _persisted(self, frame: DataFrame) -> Kept:
        stored = frame.persist()
        return Kept(stored, stored.count())

    def local(self, rows: pa.Table, columns: Sequence[tuple[str, str]]) -> Kept:
        return self._local(rows, declared(self.spark, ", ".join(f"{quote(name)} {kind}" for name, kind in columns)))

    def _local(self, rows: pa.Table, schema: StructType) -> Kept:
        # Spark compares the rows inside a plan whenever it compares plans: more than a few are kept outside
        few = rows.num_rows <= self.limits.rows_in_plan
        outside = {} if few else {"spark.sql.execution.arrow.localRelationThreshold": "0"}
        with _OUTSIDE, settings(self.spark, outside):
            # in one batch: Spark drops the batches after an empty one
            made = self.spark.createDataFrame(rows.combine_chunks(), schema=schema)
        if rows.num_rows > self.limits.rows_here:
            return Kept(made, rows.num_rows)
        frame = made.coalesce(1)  # in one partition: grouping them then needs no exchange
        return Kept(frame.hint("broadcast"), rows.num_rows, rows)

    def forget(self, kept: Iterable[Kept]) -> None:
        for each in kept:
            if each.local is None:
                each.frame.unpersist()

    def difference(
        self, fresh: DataFrame, stored: DataFrame, floats: Sequence[bool], most: int
    ) -> tuple[list[tuple[tuple[Any, ...], int]], tuple[int, int] | None]:
        columns = [f"c{i}" for i in range(len(floats))]
        signed = _rounded(fresh, floats, 1).unionAll(_rounded(stored, floats, -1))
        differing = signed.groupBy(*columns).agg({"w": "sum"}).where("`sum(w)` <> 0")
        rows = [(tuple(row)[:-1], row[-1]) for row in differing.limit(most + 1).collect()]
        if len(rows) <= most:
            return rows, None
        totals = differing.selectExpr(
            "sum(CASE WHEN `sum(w)` > 0 THEN `sum(w)` ELSE 0 END)",
            "sum(CASE WHEN `sum(w)` < 0 THEN -`sum(w)` ELSE 0 END)",
        ).collect()[0]
        return rows, (totals[0], totals[1])

    def errors(self, sql: str, names: Callable[[], Iterable[str]] = tuple) -> contextlib.AbstractContextManager[None]:
        return spark_errors(sql, names)

    def small(self, rows: Iterable[Sequence[object]], schema: str) -> DataFrame:
        return small_frame(self.spark, rows, schema)

    def beside(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def measured(self) -> contextlib.AbstractContextManager[Work]:
        return measured(JobCounter(self.source))

    def output(self, frame: DataFrame) -> DataFrame:
        return frame

    def detached(self, frame: DataFrame) -> DataFrame:
        return frame  # what is released is computed again


def _rounded(frame: DataFrame, floats: Sequence[bool], weight: int) -> DataFrame:
    plain = frame.toDF(*[f"c{i}" for i in range(len(floats))])
    exprs = [_comparable(c.name, c.dataType.simpleString(), f) for c, f in zip(plain.schema, floats, strict=True)]
    return plain.selectExpr(*exprs, f"CAST({weight} AS BIGINT) AS w")


def _comparable(name: str, kind: str, is_float: bool) -> str:
    if is_float:
        rounded = f"CAST(format_string('%.8e', CAST({name} AS DOUBLE)) AS DOUBLE)"
        return f"CASE WHEN {name} IS NULL THEN NULL ELSE {rounded} END AS {name}"
    return f"to_json(named_struct('v', {name})) AS {name}" if has_no_equality(kind) else name
