"""Making, refreshing and dropping views. The order of steps is the order of the functions."""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from rollview.compile.fingerprint import fingerprint
from rollview.compile.printing import print_plan
from rollview.compile.view import TIME_DEPENDENT, CompiledView, compile_view, unknown_functions
from rollview.engine.spark import run_query, spark_errors, sql_over, verbatim
from rollview.errors import (
    BadName,
    ColumnNotFound,
    Conflict,
    InternalError,
    InUse,
    NameTaken,
    NotDeterministic,
    NotIncremental,
    Place,
    SchemaChanged,
    SqlError,
    TableNotFound,
    UserError,
    VersionGone,
    nearest,
)
from rollview.parse.names import Name, quote
from rollview.parse.references import Reference, references
from rollview.parse.view_statements import CreateView, Policy
from rollview.plan.building import BaseTable
from rollview.refresh.results import FULL, NO_OP, RefreshResult, ViewStatus
from rollview.refresh.views import (
    DEFINITION,
    RUN,
    STATE_PREFIX,
    Catalog,
    Reflected,
    View,
    stamp_metadata,
    stored_columns,
)
from rollview.store.protocol import Commit, Identity, Stamp

_TRIES = 5


def frame_of(catalog: Catalog, table: str, version: int | None = None) -> DataFrame:
    """The rows of a table, or the visible rows of a view; the newest, or of a version."""
    store = catalog.store
    if not catalog.has(table):
        return store.read(table, version)
    columns = catalog.get(table).columns
    rows = store.read(catalog.state(table), version)
    return rows.selectExpr(*[f"{quote(c.stored)} AS {quote(c.name)}" for c in columns])


def query_at(spark: SparkSession, catalog: Catalog, view: View, vector: Mapping[str, Identity]) -> DataFrame:
    """The view's query over its base tables at a vector. Raises VersionGone if a table has been made anew since."""
    for table, identity in vector.items():
        if catalog.identity(table).table_id != identity.table_id:
            raise VersionGone(
                f"Version {identity.version} of {table} is no longer there",
                why="the table was dropped and made again",
                todo=f"REFRESH MATERIALIZED VIEW {quote(view.name)} FULL recomputes the view",
            )
    frames = {table: frame_of(catalog, table, identity.version) for table, identity in vector.items()}
    refs = references(view.query)
    with spark_errors(view.query, lambda: vector):
        return run_query(spark, view.query, refs, {ref.name: frames[view.sources[ref.name]] for ref in refs})


def newest(catalog: Catalog, view: View) -> dict[str, Identity]:
    """The vector of the newest versions: what a refresh that starts now goes to."""
    try:
        return {table: catalog.identity(table) for table in view.tables}
    except TableNotFound as error:
        raise SchemaChanged(
            f"A table that {view.name} reads is gone: {error.what}",
            why=f"the view keeps what it shows: {_shown(catalog, view)}",
            todo=f"make the table again, or DROP MATERIALIZED VIEW {quote(view.name)}",
        ) from error


def _shown(catalog: Catalog, view: View) -> str:
    versions = catalog.reflected(view).versions()
    return ", ".join(f"{table} at version {version}" for table, version in versions.items())


def create_view(
    spark: SparkSession, catalog: Catalog, statement: CreateView, trusted: Collection[str] = ()
) -> RefreshResult:
    """Makes a view: its state table's first commit holds definition, rows and vector.

    ``trusted`` names the user's own functions that are declared to be deterministic.
    """
    begin = time.monotonic()
    store = catalog.store
    name = store.canonical(statement.name)
    if statement.name[-1].lower().startswith(STATE_PREFIX):
        raise BadName(f"{name} cannot be a view's name", why=f"names that begin with {STATE_PREFIX} belong to rollview")
    exists = catalog.has(name)
    if exists and statement.if_not_exists:
        versions = catalog.reflected(catalog.get(name)).versions()
        return RefreshResult(name, NO_OP, None, versions, versions, 0, 0, time.monotonic() - begin)
    if exists and not statement.or_replace:
        raise NameTaken(
            f"There is a materialized view named {name} already",
            todo="choose another name, or use CREATE OR REPLACE MATERIALIZED VIEW",
        )
    if not exists and store.exists(name):
        raise NameTaken(f"{name} is the name of a table", todo="choose another name for the view")
    if statement.policy in (Policy.INCREMENTAL, Policy.STRICT):
        raise NotIncremental(
            f"{name} cannot have REFRESH POLICY {statement.policy.value}",
            why="this version of rollview recomputes every view",
            todo="use REFRESH POLICY AUTO or FULL",
        )
    sources = _sources(catalog, statement.query)
    _check_functions(spark, statement.query, trusted)
    old = catalog.get(name) if exists else None
    view = View(
        name, old.id if old else uuid.uuid4().hex, statement.query, statement.policy, statement.comment, (), sources
    )
    if old is not None:
        _check_no_cycle(catalog, view)
    vector = {table: catalog.identity(table) for table in view.tables}
    frame = query_at(spark, catalog, view, vector)
    compiled, why = compiled_view(catalog, view)
    if compiled is None or not _runs(spark, catalog, compiled, vector, frame):
        view = replace(view, always_full="not_compiled")
    else:
        view = replace(view, always_full=why, fingerprint=fingerprint(compiled.plan))
        if old is not None and old.fingerprint == view.fingerprint:
            _redefine(catalog, old, view, frame.columns)
            versions = catalog.reflected(old).versions()
            return RefreshResult(name, NO_OP, None, versions, versions, 0, 0, time.monotonic() - begin)
    _check_output(statement.query, frame)
    types = [field.dataType.simpleString() for field in frame.schema.fields]
    view = replace(view, columns=stored_columns(frame.columns, types))
    if old is not None and _shape(old) != _shape(view) and (readers := catalog.readers(name)):
        raise InUse(
            f"{name} cannot be replaced by a view with other columns",
            why=f"{', '.join(readers)} read it",
            todo="drop the views that read it first",
        )
    rows = frame.toDF(*[column.stored for column in view.columns])
    before = catalog.reflected(old) if old is not None else None
    sequence = before.sequence + 1 if before else 1
    properties = {DEFINITION: view.to_json()}
    stamp = Stamp(stamp_metadata(vector, sequence, FULL, uuid.uuid4().hex), view.id, sequence)
    with spark_errors(statement.query):
        if old is None:
            commit = store.create(catalog.state(name), rows, properties=properties, stamp=stamp)
        else:
            commit = store.replace(catalog.state(name), rows, key=(), properties=properties, stamp=stamp)
    if not _is_ours(commit, stamp):
        raise Conflict(f"{name} was refreshed or replaced by another session meanwhile", todo="repeat the statement")
    publish(catalog, view)
    return RefreshResult(
        name,
        FULL,
        "created" if old is None else "replaced",
        before.versions() if before else {},
        {t: i.version for t, i in vector.items()},
        _size(catalog, vector),
        commit.rows or 0,
        time.monotonic() - begin,
    )


def _check_functions(spark: SparkSession, query: str, trusted: Collection[str]) -> None:
    """A user's own function may give another result at every call, unless it is declared not to."""
    if not unknown_functions(query, trusted):
        return
    system = {row[0].lower() for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect()}
    for call in unknown_functions(query, {*system, *trusted}):
        raise SqlError(
            f"{call.name} is not a function of Spark",
            where=Place.find(query, call.name),
            why="it may give another result at every call, and then the view could never equal its query",
            todo=f"if it does not, say so: rv.declare_deterministic({call.name!r})",
        )


def _redefine(catalog: Catalog, old: View, new: View, names: Sequence[str]) -> None:
    """Another spelling, policy or comment of the same view: its rows stay."""
    columns = tuple(replace(column, name=name) for column, name in zip(old.columns, names, strict=True))
    new = replace(new, columns=columns)
    if new != old:
        catalog.store.set_properties(catalog.state(old.name), {DEFINITION: new.to_json()})
        publish(catalog, new)


def compiled_view(catalog: Catalog, view: View) -> tuple[CompiledView | None, str | None]:
    """The view's plan, and the reason why it is always recomputed; without a plan, that is the reason."""

    def table(name: Name) -> BaseTable | None:
        known = view.sources.get(tuple(part.lower() for part in name)) or view.sources.get(name)
        if known is None:
            return None
        fields = frame_of(catalog, known).schema.fields
        key = () if catalog.has(known) else catalog.store.key(known)
        return BaseTable(known, tuple((f.name, f.dataType.simpleString()) for f in fields), key)

    try:
        compiled = compile_view(view.query, table)
    except NotDeterministic:
        raise
    except Exception:
        # Spark has understood the query. Whatever the compiler does not understand in it costs speed, not the view.
        return None, "not_compiled"
    return compiled, compiled.reason


def _runs(
    spark: SparkSession, catalog: Catalog, compiled: CompiledView, vector: Mapping[str, Identity], frame: DataFrame
) -> bool:
    """Whether Spark takes the compiled query. Raises InternalError if it finds other types in it than in the text."""
    frames = {table: frame_of(catalog, table, identity.version) for table, identity in vector.items()}
    slots = {table: f"r{i}" for i, table in enumerate(frames)}
    template = verbatim(print_plan(compiled.plan, relations=lambda scan: f"\x00{slots[scan.table]}\x00"))
    for slot in slots.values():
        template = template.replace(f"`\x00{slot}\x00`", f"{{{slot}}}")
    try:
        found = sql_over(spark, template, **{slots[table]: frames[table] for table in frames}).schema
    except PySparkException:
        return False
    types = [field.dataType for field in found.fields]
    if types != [field.dataType for field in frame.schema.fields]:
        raise InternalError(
            "The compiled query has other types than the view's",
            why=f"{found.simpleString()} instead of {frame.schema.simpleString()}",
            todo="report the query",
        )
    return True


def _shape(view: View) -> list[tuple[str, str]]:
    return [(column.name.casefold(), column.type) for column in view.columns]


def _sources(catalog: Catalog, query: str) -> dict[Name, str]:
    """What each table name in the query means."""
    found: dict[Name, str] = {}
    for ref in references(query):
        table = catalog.store.canonical(ref.name)
        if not (catalog.has(table) or catalog.store.exists(table)):
            raise _unknown(catalog, query, ref)
        found[ref.name] = table
    return found


def _unknown(catalog: Catalog, query: str, ref: Reference) -> TableNotFound:
    known = catalog.tables() + catalog.names()
    name = ".".join(ref.name)
    return TableNotFound(
        f"There is no table or view named {name}",
        where=Place(query, ref.start, ref.stop),
        todo=nearest(name, known)
        or (
            f"there are {', '.join(sorted(known)[:8])}"
            if known
            else "there are no tables yet; make one with CREATE TABLE"
        ),
    )


def _check_no_cycle(catalog: Catalog, view: View) -> None:
    pending, seen = list(view.tables), set()
    while pending:
        table = pending.pop()
        if table == view.name:
            raise SqlError(f"{view.name} would read itself", todo="let it read the base tables instead")
        if table not in seen and catalog.has(table):
            pending += catalog.get(table).tables
        seen.add(table)


def _check_output(query: str, frame: DataFrame) -> None:
    seen: set[str] = set()
    for column in frame.columns:
        if column.casefold() in seen:
            raise SqlError(
                f"Two columns of the view are named {column}",
                where=Place.find(query, column),
                why="names are compared without regard to case",
                todo="give one of them another name: … AS other_name",
            )
        seen.add(column.casefold())


def publish(catalog: Catalog, view: View) -> None:
    """Makes the view's name readable from Spark SQL, showing the query's columns only."""
    catalog.store.publish_view(view.name, catalog.state(view.name), [(c.stored, c.name) for c in view.columns])


def refresh_view(spark: SparkSession, catalog: Catalog, name: str, *, full: bool = False) -> RefreshResult:
    """Brings a view to the newest versions of its base tables."""
    begin = time.monotonic()
    for _ in range(_TRIES):
        view = catalog.get(name)
        before = catalog.reflected(view)
        target = newest(catalog, view)
        versions = {table: identity.version for table, identity in target.items()}
        if before.vector == target and not full and view.always_full != TIME_DEPENDENT:
            return RefreshResult(name, NO_OP, None, before.versions(), versions, 0, 0, time.monotonic() - begin)
        reason = _reason(view, before, target, full)
        with _schema_errors(view):
            frame = query_at(spark, catalog, view, target)
            _check_same_columns(view, frame)
        rows = frame.toDF(*[column.stored for column in view.columns])
        sequence = before.sequence + 1
        stamp = Stamp(stamp_metadata(target, sequence, FULL, uuid.uuid4().hex), view.id, sequence)
        with spark_errors(view.query):
            commit = catalog.store.replace(catalog.state(name), rows, stamp=stamp)
        if _is_ours(commit, stamp):
            read, written = _size(catalog, target), commit.rows or 0
            seconds = time.monotonic() - begin
            return RefreshResult(name, FULL, reason, before.versions(), versions, read, written, seconds)
    raise Conflict(f"{name} was refreshed or replaced by other sessions {_TRIES} times meanwhile", todo="try again")


def _is_ours(commit: Commit, stamp: Stamp) -> bool:
    """Whether the newest commit is the one just asked for, and not another session's with the same sequence number."""
    return bool(commit.metadata.get(RUN) == stamp.metadata[RUN])


def _reason(view: View, before: Reflected, target: Mapping[str, Identity], full: bool) -> str:
    if full:
        return "requested"
    if view.policy is Policy.FULL:
        return "policy"
    if view.always_full is not None:
        return view.always_full
    if any(before.vector[t].table_id != i.table_id for t, i in target.items() if t in before.vector):
        return "table_replaced"
    return "no_delta_rules"


@contextlib.contextmanager
def _schema_errors(view: View) -> Iterator[None]:
    """A query that was right when the view was made and is not any more: a base table has changed its shape."""
    try:
        yield
    except (SqlError, ColumnNotFound) as error:
        raise _changed(view, error) from error


def _changed(view: View, error: UserError) -> SchemaChanged:
    return SchemaChanged(
        f"The query of {view.name} no longer fits its base tables: {error.what}",
        where=error.where,
        why=error.why or "a base table was replaced by one with another schema; the view is as it was",
        todo="bring the column back, or define the view anew with CREATE OR REPLACE MATERIALIZED VIEW",
    )


def _check_same_columns(view: View, frame: DataFrame) -> None:
    now = [(field.name, field.dataType.simpleString()) for field in frame.schema.fields]
    was = [(column.name, column.type) for column in view.columns]
    if now == was:
        return
    differing = [
        f"{a[0]} was {a[1].upper()} and is {b[1].upper()}" if a[0] == b[0] else f"{a[0]} is now {b[0]}"
        for a, b in zip(was, now, strict=False)
        if a != b
    ]
    if len(now) != len(was):
        differing.append(f"there were {len(was)} columns and there are {len(now)}")
    raise SchemaChanged(
        f"The columns of {view.name} would change: {'; '.join(differing)}",
        why="a base table was replaced by one with another schema; the view is as it was",
        todo="define the view anew with CREATE OR REPLACE MATERIALIZED VIEW",
    )


def _size(catalog: Catalog, vector: Mapping[str, Identity]) -> int:
    """The rows of the base tables at a vector: what a recomputation reads."""
    return sum(catalog.store.count(catalog.stored(t), i.version) for t, i in vector.items())


def drop_view(catalog: Catalog, name: str) -> None:
    """Drops a view that no other view reads."""
    catalog.get(name)
    if readers := catalog.readers(name):
        raise InUse(
            f"{name} cannot be dropped",
            why=f"{', '.join(readers)} read it",
            todo="drop these first: " + "; ".join(f"DROP MATERIALIZED VIEW {quote(r)}" for r in readers),
        )
    catalog.store.unpublish_view(name)
    catalog.store.drop(catalog.state(name))


def status(catalog: Catalog, view: View) -> ViewStatus:
    """How fresh a view is."""
    reflected = catalog.reflected(view)
    behind: dict[str, int | None] = {}
    for table, shown in reflected.vector.items():
        try:
            now = catalog.identity(table)
        except TableNotFound:
            behind[table] = None
            continue
        if now.table_id != shown.table_id:
            behind[table] = None
        elif now.version != shown.version:
            behind[table] = now.version - shown.version
    return ViewStatus(
        view.name, view.policy.value, reflected.versions(), behind, reflected.time, reflected.strategy, view.comment
    )
