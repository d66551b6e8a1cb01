"""Rollview: what a user calls. Everything is delegated to the rooms that do it."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from rollview.engine.protocol import Answer, Engine, Frame
from rollview.engine.session import require_delta
from rollview.engine.sources import GivenSpark, LocalSpark
from rollview.engine.spark import SparkEngine
from rollview.errors import (
    BadName,
    ColumnNotFound,
    NameTaken,
    NotAWarehouse,
    Place,
    RollviewError,
    StorageFailed,
    TableNotFound,
    UserError,
)
from rollview.limits import DEFAULT, Limits
from rollview.parse.names import Name, parse_name, quote
from rollview.parse.parameters import Args, bound
from rollview.parse.reads import tables_in
from rollview.parse.stored_names import STATE_PREFIX
from rollview.parse.tables import (
    CreateTable,
    DropPlainView,
    DropTable,
    Insert,
    ShowTables,
    TableStatement,
    parse_table_statement,
)
from rollview.parse.tokens import SqlTokens, split_script
from rollview.parse.tree import RAW_STRINGS
from rollview.parse.views import (
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
from rollview.refresh.batch import refresh_all, refresh_upstream
from rollview.refresh.explain import explain_view
from rollview.refresh.explanation import Explanation
from rollview.refresh.refresh import refresh_view
from rollview.store.delta import DeltaStore
from rollview.store.embedded import EmbeddedStore
from rollview.store.protocol import Store
from rollview.views.catalog import Catalog
from rollview.views.create import create_view
from rollview.views.drop import drop_view
from rollview.views.freshness import Freshness
from rollview.views.relation import relation
from rollview.views.results import Outcome, RefreshResult, Verification, ViewStatus
from rollview.views.status import status_of
from rollview.views.verify import verify_all, verify_view
from rollview.views.write import publish


def connect(
    warehouse: str | Path | None = None,
    *,
    spark: SparkSession | None = None,
    store: Literal["embedded", "delta"] | None = None,
    limits: Limits = DEFAULT,
) -> Rollview:
    """Opens a warehouse.

    - ``connect("./warehouse")``: Delta tables in a folder, on a local Spark; nothing else to install.
    - ``connect("./warehouse", store="delta")``: the same folder through Spark's own Delta (jars from Maven Central).
    - ``connect(spark=spark)``: the catalog of an existing session, classic or Connect, that knows Delta.
    - ``connect("duckdb:")``: tables in DuckDB, in memory or in a file named after the colon, to try things out.

    ``limits`` are the thresholds at which something is done in another way: see ``rollview.limits``.
    With a folder, ``spark`` gives the session to use. Otherwise Spark is started when rows have to be read or written
    for the first time: what views there are, how fresh they are, and that nothing has changed is known without it.
    Closing the session stops it, also at the end of ``with rollview.connect("./warehouse") as rv:``.
    """
    if store not in (None, "embedded", "delta"):
        raise UserError(f"There is no store named {store!r}", todo="use 'embedded' or 'delta'")
    if isinstance(warehouse, str) and warehouse.startswith("duckdb:"):
        return _on_duckdb(warehouse.removeprefix("duckdb:"), limits)
    if warehouse is not None:
        _check_folder(warehouse)
    if spark is not None and not hasattr(spark, "conf"):
        raise UserError(f"spark is a SparkSession, not {_article(spark)}", todo="rollview.connect(spark=spark)")
    if warehouse is None:
        if spark is None:
            raise UserError(
                "connect needs a folder or a Spark session",
                todo="rollview.connect('./warehouse') or rollview.connect(spark=spark)",
            )
        if store == "embedded":
            raise UserError("The embedded store needs a folder", todo="rollview.connect('./warehouse', spark=spark)")
        require_delta(spark)
        return Rollview(SparkEngine(spark, limits), DeltaStore(spark, limits=limits), limits)
    source = LocalSpark(delta=store == "delta") if spark is None else GivenSpark(spark)
    if store == "delta":
        require_delta(source.spark)
        return Rollview(SparkEngine(source, limits), DeltaStore(source.spark, warehouse, limits), limits)
    return Rollview(SparkEngine(source, limits), EmbeddedStore(source, warehouse, limits), limits)


def _check_folder(warehouse: object) -> None:
    """Raises an error for what is no folder's name: an address with a scheme would become a folder called so."""
    if not isinstance(warehouse, str | Path):
        raise UserError(
            f"A warehouse is a folder, not {_article(warehouse)}", todo="give its path as a string or as a Path"
        )
    if found := re.match(r"([A-Za-z][A-Za-z0-9+.-]+):", str(warehouse)):
        raise NotAWarehouse(
            f"{warehouse} is not a folder on this machine",
            why=f"{found[1]}: is the scheme of an address",
            todo="for tables elsewhere, connect to a Spark session whose catalog has them: "
            f"rollview.connect(spark=spark); for a folder on this machine give just its path, or write ./{warehouse}",
        )


def _article(value: object) -> str:
    """What kind of value something is, for messages."""
    kind = type(value).__name__
    return "None" if value is None else f"{'an' if kind[:1] in 'aeiouAEIOU' else 'a'} {kind}"


def _check_text(value: object, what: str, todo: str) -> None:
    if not isinstance(value, str):
        raise UserError(f"{what} is a string, not {_article(value)}", todo=todo)
    if lone := re.search("[\ud800-\udfff]", value):
        raise UserError(f"{what} is no Unicode text", why=f"it has half of a character, {lone[0]!r}", todo=todo)


_NAME, _NAME_TODO = "A name", "give the name of the view or table as a string: 'v', 'schema.v'"
_SQL, _SQL_TODO = "SQL", "give the text of the statement as a string"


def _on_duckdb(path: str, limits: Limits) -> Rollview:
    """A session on DuckDB, in memory or in a file."""
    import duckdb

    from rollview.engine.duck import DuckEngine
    from rollview.store.duck import DuckStore

    try:
        connection = duckdb.connect(path or ":memory:")
    except duckdb.Error as error:
        raise StorageFailed(
            f"The DuckDB file {path} cannot be opened", why=str(error).split("\n")[0], todo="name another file"
        ) from error
    engine = DuckEngine(connection)
    return Rollview(engine, DuckStore(engine), limits)


class Rollview:
    """A session: SQL over the store's tables, and the materialized views over them."""

    def __init__(self, engine: Engine, store: Store, limits: Limits = DEFAULT) -> None:
        self._catalog: Catalog | None = Catalog(store, engine, limits)
        self._trusted: set[str] = set()

    @property
    def catalog(self) -> Catalog:
        """The views, their store and their engine. Raises an error if the session is closed."""
        if self._catalog is None:
            raise UserError("This session is closed", todo="open another: rollview.connect(…)")
        return self._catalog

    @property
    def engine(self) -> Engine:
        """What computes."""
        return self.catalog.engine

    @property
    def store(self) -> Store:
        """Where the tables are."""
        return self.catalog.store

    def close(self) -> None:
        """Ends the session; it can be closed again, but not used. Spark is stopped if rollview started it and no other
        open session of this process uses it; a Spark session that was given stays as it is."""
        if self._catalog is not None:
            self._catalog.engine.close()
        self._catalog = None

    def __enter__(self) -> Rollview:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def spark(self) -> SparkSession:
        """The Spark session; a local one is started now if it was not needed before."""
        if isinstance(self.engine, SparkEngine):
            return self.engine.spark
        raise UserError("There is no Spark here", why="the session was opened on DuckDB")

    def sql(self, text: str, args: Args | None = None) -> DataFrame:
        """Runs SQL: statements about materialized views, statements that change tables, and anything that Spark knows.

        Several statements are separated by semicolons; the result of the last one is returned. ``args`` are values for
        ``:name`` markers, as a dict, or for ``?`` markers, as a list: ``rv.sql("SELECT * FROM t WHERE id = :id",
        {"id": 7})``. A view that is created with them keeps these values.
        """
        _check_text(text, _SQL, _SQL_TODO)
        catalog = self.catalog
        statements = split_script(text)
        if not statements:
            raise UserError("There is no statement in this text")
        if args is not None:
            statements = self.bound(statements, args)
        for statement in statements[:-1]:
            self.answer(statement)
        found = self.answer(statements[-1])
        frame = catalog.engine.small(found.rows, found.schema) if isinstance(found, Answer) else found
        with self.engine.errors(statements[-1], self._known):
            shown: DataFrame = catalog.engine.output(frame)
        return shown

    def bound(self, statements: Sequence[str], args: Args) -> list[str]:
        """The statements with values in the place of their markers, written as this session reads strings."""
        return bound(statements, args, lambda: self.engine.result_settings().get(RAW_STRINGS) == "true")

    def _known(self) -> list[str]:
        return [*self.tables(), *self.catalog.names()]

    def answer(self, sql: str) -> Answer | Frame:
        """Runs one statement. What rollview itself has to tell is not made a frame of, so it may take no Spark."""
        if (about_view := parse_view_statement(sql)) is not None:
            return self._run_view_statement(about_view)
        about_table = parse_table_statement(sql)
        if isinstance(about_table, ShowTables):
            return Answer({"name": "STRING"}, [[name] for name in self.tables()])
        named = tables_in(about_table, sql)
        problems: dict[str, RollviewError] = {}
        try:
            with self.engine.errors(sql, self._known), self.store.asked():
                if about_table is not None:
                    self._check_target(about_table, sql)
                if self.store.has_catalog:
                    self._check_catalog(sorted(named or ()))
                else:
                    problems = self._name_relations(self._relations(named, sql))
                    if named is not None and (lost := next((n for n in sorted(problems) if n in _last(named)), None)):
                        raise problems[lost]
                if about_table is None or isinstance(about_table, DropPlainView):
                    return self.store.pass_on(sql)
                return self.store.run(about_table, sql)
        except (TableNotFound, ColumnNotFound) as error:
            if error.where is None:
                error.where = Place.find(sql, error.what.partition(" named ")[2])
            if isinstance(error, ColumnNotFound):
                raise
            problem = problems.get(parse_name(error.name or "")[-1].lower())
            raise error if problem is None else problem from error

    def _relations(self, named: Collection[Name] | None, sql: str) -> set[str]:
        """The tables and views that a statement may read: those that it names, or, if that is not known, those whose
        names are words of it."""
        if named is not None:
            return {name for name in _last(named) if self.store.exists(name) or self.catalog.has(name)}
        return SqlTokens.of(sql).words() & {*self.catalog.tables(), *self.catalog.names()}

    def _name_relations(self, names: set[str]) -> dict[str, RollviewError]:
        """Makes tables and views readable by their names; tells which cannot be read."""
        problems = self.store.sync(names)
        for name in names:
            if self.catalog.has(name):
                try:
                    publish(self.catalog, self.catalog.get(name))
                    if lost := self.store.damage(self.catalog.state(name)):
                        raise lost
                except RollviewError as error:
                    problems[name] = error
                    self.store.forget_name(name)
        return problems

    def _check_catalog(self, names: Iterable[Name]) -> None:
        """Raises the damage of a table or view of Spark's catalog: Spark finds it when rows are fetched, and an empty
        entry of a log never."""
        for name in names:
            lost = None
            with contextlib.suppress(RollviewError, PySparkException):  # what the name means is for Spark to say
                table = self.catalog.stored(self.store.canonical(name))
                lost = self.store.damage(table) if self.store.exists(table) else None
            if lost is not None:
                raise lost

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

    def _run_view_statement(self, statement: ViewStatement) -> Answer:
        if isinstance(statement, ShowViews):
            return _statuses(self.views())
        if isinstance(statement, CreateView):
            return _result(create_view(self.catalog, statement, self._trusted))
        name = self.store.canonical(statement.name)
        if isinstance(statement, RefreshView):
            return _result(refresh_view(self.catalog, name, full=statement.full))
        if isinstance(statement, DropView):
            if not (statement.if_exists and not self.catalog.has(name)):
                drop_view(self.catalog, name)
            return Answer({"dropped": "STRING"}, [[name]])
        if isinstance(statement, DescribeView):
            columns = [[column.name, column.type] for column in self.catalog.get(name).columns]
            return Answer({"column": "STRING", "type": "STRING"}, columns)
        assert isinstance(statement, ExplainView)
        return Answer({"plan": "STRING"}, [[explain_view(self.catalog, name).text(verbose=statement.verbose)]])

    def create(
        self,
        name: str,
        query: str,
        *,
        policy: str | Policy = Policy.AUTO,
        comment: str | None = None,
        or_replace: bool = False,
        if_not_exists: bool = False,
        args: Args | None = None,
    ) -> RefreshResult:
        """Makes a materialized view. ``args`` are values for markers in the query, as for ``sql``."""
        _check_text(query, "A view's query", "give the SELECT as a string, not its result")
        statements = split_script(query)
        if args is not None:
            statements = self.bound(statements, args)
        if len(statements) != 1:
            raise UserError(f"A view is defined by one query, not by {len(statements)} statements")
        chosen = policy if isinstance(policy, Policy) else Policy.named(policy)
        _check_text(name, _NAME, _NAME_TODO)
        statement = CreateView(parse_name(name), statements[0], chosen, comment, or_replace, if_not_exists)
        return create_view(self.catalog, statement, self._trusted)

    def declare_deterministic(self, *functions: str) -> None:
        """Promises that these registered functions give the same result for the same arguments: views may use them."""
        for function in functions:
            _check_text(function, "A function's name", "give the names as strings")
        self._trusted |= {function.lower() for function in functions}

    def refresh(self, name: str, *, full: bool = False, upstream: bool = False) -> RefreshResult:
        """Brings a view to the newest versions of its base tables; with ``upstream``, the views that it reads first.

        Without ``upstream``, the views that it reads stay as they are; the result's ``stale`` names those behind.
        """
        if upstream:
            return refresh_upstream(self.catalog, self._name(name), full=full)
        return refresh_view(self.catalog, self._name(name), full=full)

    def refresh_all(self, names: Iterable[str] | None = None, *, full: bool = False) -> list[Outcome]:
        """Refreshes every view, or those that are named, upstream views first, all to the versions that the base tables
        have now. No view's failure is raised: each view has an outcome, in the order of the refresh. A view is
        refreshed, or it failed, or it was skipped because of a view upstream that failed::

            for outcome in rv.refresh_all():
                print(outcome.view, outcome.outcome, outcome.explanation)
        """
        return refresh_all(self.catalog, None if names is None else self.existing(names), full=full)

    def existing(self, names: Iterable[str]) -> list[str]:
        """The canonical names of views. Raises an error for a name that is no view's."""
        if not isinstance(names, Iterable):
            raise UserError(f"Names are a list, not {_article(names)}", todo=_NAME_TODO)
        found = [self._name(name) for name in ([names] if isinstance(names, str) else names)]
        for name in found:
            if not self.catalog.has(name):
                self.catalog.get(name)
        return found

    def table(self, name: str, version: int | None = None) -> DataFrame:
        """The rows of a view (exactly its query's columns) or of a table, at the newest or at an earlier version."""
        found = self._name(name)
        if self.store.has_catalog and version is None:
            self._check_catalog([parse_name(name)])
        frame: DataFrame = self.engine.output(relation(self.catalog, found).rows(version))
        return frame

    def verify(self, name: str) -> Verification:
        """Compares a view with its query run from scratch over the versions that the view reflects."""
        return verify_view(self.catalog, self._name(name))

    def verify_all(self, names: Iterable[str] | None = None) -> list[Verification]:
        """Verifies every view, or those that are named. No view's failure is raised: a view that cannot be compared has
        an ``error``, and is not ``ok``."""
        return verify_all(self.catalog, None if names is None else self.existing(names))

    def explain(self, name: str, *, verbose: bool = False) -> str:
        """What a view is, what it reads and stores, and what its next refresh would do, as text. With ``verbose``, its
        plan, the compiled SQL, and the plans of a refresh's steps, too."""
        return self.explanation(name).text(verbose=verbose)

    def explanation(self, name: str) -> Explanation:
        """The same as an object."""
        return explain_view(self.catalog, self._name(name))

    def views(self) -> list[ViewStatus]:
        """The materialized views and how fresh they are, damaged ones among them."""
        freshness = Freshness(self.catalog)
        return [status_of(self.catalog, name, freshness) for name in self.catalog.names()]

    def tables(self) -> list[str]:
        """The tables of the store, without the state tables of views."""
        return self.catalog.tables()

    def drop(self, name: str) -> None:
        """Drops a materialized view that no other view reads."""
        drop_view(self.catalog, self._name(name))

    def _name(self, name: str) -> str:
        _check_text(name, _NAME, _NAME_TODO)
        return self.store.canonical(parse_name(name))


def _moment(view: ViewStatus) -> str | None:
    return None if view.last_refresh is None else view.last_refresh.isoformat(timespec="seconds")


def _last(names: Collection[Name]) -> set[str]:
    """The last parts of names, as warehouses in a folder spell them."""
    return {name[-1].lower() for name in names}


def _result(result: RefreshResult) -> Answer:
    columns = {
        "view": "STRING",
        "strategy": "STRING",
        "reason": "STRING",
        "rows_changed": "BIGINT",
        "rows_read": "BIGINT",
        "rows_written": "BIGINT",
        "jobs": "INT",
        "bytes_written": "BIGINT",
        "seconds": "DOUBLE",
        "stale": "STRING",
    }
    row: list[Any] = [getattr(result, name) for name in columns]
    return Answer(columns, [[*row[:-1], ", ".join(result.stale) or None]])


def _statuses(views: list[ViewStatus]) -> Answer:
    columns = {
        "name": "STRING",
        "policy": "STRING",
        "fresh": "BOOLEAN",
        "vector": "MAP<STRING, BIGINT>",
        "last_refresh": "STRING",
        "comment": "STRING",
        "damage": "STRING",
    }
    rows = [[v.name, v.policy, v.fresh, v.vector, _moment(v), v.comment, v.damage] for v in views]
    return Answer(columns, rows)
