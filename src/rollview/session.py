"""Rollview: what a user calls. Everything is delegated to the rooms that do it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from rollview.engine.local import local_session, require_delta
from rollview.engine.protocol import Engine, Frame
from rollview.engine.spark import SparkEngine
from rollview.errors import BadName, NameTaken, Place, RollviewError, UserError
from rollview.parse.names import Name, parse_name, quote
from rollview.parse.table_statements import (
    CreateTable,
    DropPlainView,
    DropTable,
    Insert,
    ShowTables,
    TableStatement,
    parse_table_statement,
)
from rollview.parse.tokens import SqlTokens, split_script
from rollview.parse.view_statements import (
    CreateView,
    DescribeView,
    DropView,
    ExplainView,
    Policy,
    RefreshView,
    ShowViews,
    ViewStatement,
    parse_view_statement,
)
from rollview.refresh.creating import create_view
from rollview.refresh.defining import publish
from rollview.refresh.explain import explain_view
from rollview.refresh.relations import rows_of
from rollview.refresh.results import RefreshResult, Verification, ViewStatus
from rollview.refresh.running import drop_view, refresh_view, status
from rollview.refresh.together import refresh_all, refresh_upstream
from rollview.refresh.verify import verify_view
from rollview.refresh.views import STATE_PREFIX, Catalog
from rollview.store.delta import DeltaStore
from rollview.store.embedded import EmbeddedStore
from rollview.store.protocol import Store


def connect(
    warehouse: str | Path | None = None,
    *,
    spark: SparkSession | None = None,
    store: Literal["embedded", "delta"] | None = None,
) -> Rollview:
    """Opens a warehouse.

    - ``connect("./warehouse")``: Delta tables in a folder, on a local Spark; nothing else to install.
    - ``connect("./warehouse", store="delta")``: the same folder through Spark's own Delta (jars from Maven Central).
    - ``connect(spark=spark)``: the catalog of an existing session, classic or Connect, that knows Delta.
    - ``connect("duckdb:")``: tables in DuckDB, in memory or in a file named after the colon, to try things out.

    With a folder, ``spark`` gives the session to use.
    """
    if store not in (None, "embedded", "delta"):
        raise UserError(f"There is no store named {store!r}", todo="use 'embedded' or 'delta'")
    if isinstance(warehouse, str) and warehouse.startswith("duckdb:"):
        return _on_duckdb(warehouse.removeprefix("duckdb:"))
    if warehouse is None:
        if spark is None:
            raise UserError(
                "connect needs a folder or a Spark session",
                todo="rollview.connect('./warehouse') or rollview.connect(spark=spark)",
            )
        if store == "embedded":
            raise UserError("The embedded store needs a folder", todo="rollview.connect('./warehouse', spark=spark)")
        require_delta(spark)
        return Rollview(SparkEngine(spark), DeltaStore(spark))
    if store == "delta":
        session = spark or local_session(delta=True)
        require_delta(session)
        return Rollview(SparkEngine(session), DeltaStore(session, warehouse))
    session = spark or local_session()
    return Rollview(SparkEngine(session), EmbeddedStore(session, warehouse))


def _on_duckdb(path: str) -> Rollview:
    """A session on DuckDB, in memory or in a file."""
    import duckdb

    from rollview.engine.duck import DuckEngine
    from rollview.store.duck import DuckStore

    engine = DuckEngine(duckdb.connect(path or ":memory:"))
    return Rollview(engine, DuckStore(engine))


class Rollview:
    """A session: SQL over the store's tables, and the materialized views over them."""

    def __init__(self, engine: Engine, store: Store) -> None:
        self.engine = engine
        self.store = store
        self.catalog = Catalog(store, engine)
        self._trusted: set[str] = set()

    @property
    def spark(self) -> SparkSession:
        """The Spark session."""
        if isinstance(self.engine, SparkEngine):
            return self.engine.spark
        raise UserError("There is no Spark here", why="the session was opened on DuckDB")

    def sql(self, text: str) -> DataFrame:
        """Runs SQL: statements about materialized views, statements that change tables, and anything that Spark knows.

        Several statements are separated by semicolons; the result of the last one is returned.
        """
        statements = split_script(text)
        if not statements:
            raise UserError("There is no statement in this text")
        for statement in statements[:-1]:
            self._run(statement)
        frame = self._run(statements[-1])
        with self.engine.errors(statements[-1], self._known):
            shown: DataFrame = self.engine.output(frame)
        return shown

    def _known(self) -> list[str]:
        return [*self.tables(), *self.catalog.names()]

    def _run(self, sql: str) -> Frame:
        if (about_view := parse_view_statement(sql)) is not None:
            return self._run_view_statement(about_view)
        about_table = parse_table_statement(sql)
        if isinstance(about_table, ShowTables):
            return self.engine.small([[name] for name in self.tables()], "name STRING")
        with self.engine.errors(sql, self._known):
            if about_table is not None:
                self._check_target(about_table, sql)
            problems = {} if self.store.has_catalog else self._name_relations(SqlTokens.of(sql).words())
            try:
                if about_table is None or isinstance(about_table, DropPlainView):
                    return self.store.pass_on(sql)
                return self.store.run(about_table, sql)
            except PySparkException as error:
                if problems and (error.getCondition() or "").startswith("TABLE_OR_VIEW_NOT_FOUND"):
                    raise next(iter(problems.values())) from error
                raise

    def _name_relations(self, words: set[str]) -> dict[str, RollviewError]:
        """Makes the tables and views that a text may mean readable by their names; tells which cannot be read."""
        problems = self.store.sync(words)
        for word in words:
            if self.catalog.has(word):
                publish(self.catalog, self.catalog.get(word))
        return problems

    def _check_target(self, statement: TableStatement | DropPlainView, sql: str) -> None:
        """Tables are changed by statements, views by refreshes alone."""
        made = (CreateTable, DropTable, DropPlainView)
        parts: Name = statement.name if isinstance(statement, made) else statement.table
        where = Place.find(sql, parts[-1])
        if parts[-1].lower().startswith(STATE_PREFIX):
            raise BadName(
                f"{parts[-1]} belongs to rollview",
                where=where,
                why=f"names that begin with {STATE_PREFIX} are the state tables of views",
            )
        name = self.store.canonical(parts)
        if not self.catalog.has(name):
            return
        if isinstance(statement, CreateTable):
            raise NameTaken(f"{name} is the name of a materialized view", where=where, todo="choose another name")
        if isinstance(statement, DropTable | DropPlainView):
            raise UserError(
                f"{name} is a materialized view", where=where, todo=f"use DROP MATERIALIZED VIEW {quote(name)}"
            )
        verb = "inserted into" if isinstance(statement, Insert) else "changed"
        raise UserError(
            f"{name} is a materialized view and cannot be {verb}",
            where=where,
            why="it shows its query's result and changes when its base tables do",
            todo="change the base tables, then REFRESH MATERIALIZED VIEW " + quote(name),
        )

    def _run_view_statement(self, statement: ViewStatement) -> Frame:
        if isinstance(statement, ShowViews):
            return self._status_frame(self.views())
        if isinstance(statement, CreateView):
            return self._result_frame(create_view(self.catalog, statement, self._trusted))
        name = self.store.canonical(statement.name)
        if isinstance(statement, RefreshView):
            return self._result_frame(refresh_view(self.catalog, name, full=statement.full))
        if isinstance(statement, DropView):
            if not (statement.if_exists and not self.catalog.has(name)):
                drop_view(self.catalog, name)
            return self.engine.small([[name]], "dropped STRING")
        if isinstance(statement, DescribeView):
            columns = [[column.name, column.type] for column in self.catalog.get(name).columns]
            return self.engine.small(columns, "column STRING, type STRING")
        assert isinstance(statement, ExplainView)
        return self.engine.small([[explain_view(self.catalog, name)]], "plan STRING")

    def create(
        self,
        name: str,
        query: str,
        *,
        policy: str | Policy = Policy.AUTO,
        comment: str | None = None,
        or_replace: bool = False,
        if_not_exists: bool = False,
    ) -> RefreshResult:
        """Makes a materialized view."""
        statements = split_script(query)
        if len(statements) != 1:
            raise UserError(f"A view is defined by one query, not by {len(statements)} statements")
        chosen = policy if isinstance(policy, Policy) else Policy.named(policy)
        statement = CreateView(parse_name(name), statements[0], chosen, comment, or_replace, if_not_exists)
        return create_view(self.catalog, statement, self._trusted)

    def declare_deterministic(self, *functions: str) -> None:
        """Promises that these registered functions give the same result for the same arguments: views may use them."""
        self._trusted |= {function.lower() for function in functions}

    def refresh(self, name: str, *, full: bool = False, upstream: bool = False) -> RefreshResult:
        """Brings a view to the newest versions of its base tables; with ``upstream``, the views that it reads first."""
        if upstream:
            return refresh_upstream(self.catalog, self._name(name), full=full)[-1]
        return refresh_view(self.catalog, self._name(name), full=full)

    def refresh_all(self, *, full: bool = False) -> list[RefreshResult]:
        """Refreshes every view, upstream views first, all to the versions that the base tables have now."""
        return refresh_all(self.catalog, full=full)

    def table(self, name: str, version: int | None = None) -> DataFrame:
        """The rows of a view (exactly its query's columns) or of a table, at the newest or at an earlier version."""
        frame: DataFrame = self.engine.output(rows_of(self.catalog, self._name(name), version))
        return frame

    def verify(self, name: str) -> Verification:
        """Compares a view with its query run from scratch over the versions that the view reflects."""
        return verify_view(self.catalog, self._name(name))

    def explain(self, name: str) -> str:
        """What a view is, what it reads, and what its next refresh would do."""
        return explain_view(self.catalog, self._name(name))

    def views(self) -> list[ViewStatus]:
        """The materialized views and how fresh they are."""
        return [status(self.catalog, view) for view in self.catalog.all()]

    def tables(self) -> list[str]:
        """The tables of the store, without the state tables of views."""
        return self.catalog.tables()

    def drop(self, name: str) -> None:
        """Drops a materialized view that no other view reads."""
        drop_view(self.catalog, self._name(name))

    def _name(self, name: str) -> str:
        return self.store.canonical(parse_name(name))

    def _result_frame(self, result: RefreshResult) -> Frame:
        row: list[Any] = [
            result.view,
            result.strategy,
            result.reason,
            result.rows_read,
            result.rows_written,
            result.seconds,
        ]
        return self.engine.small(
            [row],
            "view STRING, strategy STRING, reason STRING, rows_read BIGINT, rows_written BIGINT, seconds DOUBLE",
        )

    def _status_frame(self, views: list[ViewStatus]) -> Frame:
        rows = [
            [v.name, v.policy, v.fresh, v.vector, v.last_refresh.isoformat(timespec="seconds"), v.comment]
            for v in views
        ]
        return self.engine.small(
            rows,
            "name STRING, policy STRING, fresh BOOLEAN, vector MAP<STRING, BIGINT>, "
            "last_refresh STRING, comment STRING",
        )
