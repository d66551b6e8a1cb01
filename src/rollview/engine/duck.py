"""DuckDB as a second engine: the same plans and Δ-scripts in another dialect, for tests and for trying things out."""

from __future__ import annotations

import contextlib
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from functools import lru_cache
from typing import Any

import duckdb
import pyarrow as pa
from sqlglot import exp
from sqlglot.errors import SqlglotError

from rollview.codegen.dialects import TRANSLATED, in_dialect
from rollview.codegen.printer import plan_query, printed
from rollview.engine.protocol import Kept, relation_name
from rollview.engine.work import Constant, Counts, Work, measured
from rollview.engine.zones import zone_named
from rollview.errors import (
    ColumnNotFound,
    Place,
    RollviewError,
    SqlError,
    SqlSyntaxError,
    TableNotFound,
    Unsupported,
    nearest,
)
from rollview.parse.mistakes import readable
from rollview.parse.names import Name
from rollview.parse.references import references, substitute
from rollview.parse.tokens import misread_pipe
from rollview.parse.tree import read
from rollview.plan.nodes import Node, Scan
from rollview.plan.reserved import STATE
from rollview.stack import deep

#: DuckDB runs no jobs. It counts the rows that it scans only if every statement is profiled, and then statements over a
#: few thousand rows take a quarter longer.
_COUNTS = Constant(Counts(jobs=0))


@dataclass(frozen=True)
class DuckFrame:
    """A query that has not run yet."""

    sql: str


class DuckEngine:
    """Implements ``rollview.engine.protocol.Engine`` on a DuckDB connection."""

    title = "DuckDB"
    dialect = "duckdb"
    exact = False
    parallel = False

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._given = connection
        self._beside = threading.local()
        self._opened: list[duckdb.DuckDBPyConnection] = []
        self._kept = 0
        self._printed = lru_cache(maxsize=256)(self._template)  # a view is refreshed by the same plans again and again
        _prepared(connection)

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """The connection of this thread: the one that was given, except inside of ``beside``."""
        found: duckdb.DuckDBPyConnection | None = getattr(self._beside, "now", None)
        return self._given if found is None else found

    @contextlib.contextmanager
    def beside(self) -> Iterator[None]:
        own, outer = self._beside, getattr(self._beside, "now", None)
        if getattr(own, "kept", None) is None:
            own.kept = self._given.cursor()
            self._opened.append(own.kept)
            _prepared(own.kept)
        own.now = own.kept
        try:
            yield
        finally:
            own.now = outer

    def close(self) -> None:
        for each in (*self._opened, self._given):
            each.close()

    def fetch(self, frame: DuckFrame) -> list[tuple[Any, ...]]:
        return self.connection.execute(frame.sql).fetchall()

    def select(self, plan: Node, frames: Mapping[str, DuckFrame], labels: Sequence[str] | None = None) -> DuckFrame:
        text, slots = self._printed(plan, None if labels is None else tuple(labels))
        for name, slot in slots.items():
            text = text.replace(f'"{slot}"', f"({frames[name].sql})")
        return DuckFrame(text)

    def _template(self, plan: Node, labels: tuple[str, ...] | None) -> tuple[str, Mapping[str, str]]:
        """A plan as SQL, and what stands there for the relations that it reads."""
        slots: dict[str, str] = {}

        def marked(scan: Scan) -> str:
            return slots.setdefault(relation_name(scan), f"\x00r{len(slots)}\x00")

        return self.text(plan_query(plan, "duckdb", labels, marked)), slots

    def query(self, sql: str, frames: Mapping[Name, DuckFrame]) -> DuckFrame:
        refs = references(sql)
        slots = {ref.name: f"`\x00r{i}\x00`" for i, ref in enumerate({r.name: r for r in refs}.values())}
        text = substitute(sql, refs, slots, lambda part: part)
        with readable(text):
            written = self.text(tree_of(text))
        for name, slot in slots.items():
            written = written.replace(slot.replace("`", '"'), f"({frames[name].sql})")
        return DuckFrame(written)

    def text(self, query: exp.Expr) -> str:
        """A query, which is not used again, in DuckDB's SQL."""
        return printed(query, "duckdb", copy=False)

    def over_state(self, state: DuckFrame, query: str) -> DuckFrame:
        return DuckFrame(query.replace(f'"{STATE}"', f"({state.sql})"))

    def quoted(self, name: str) -> str:
        return '"' + name.replace('"', '""') + '"'

    def renamed(self, frame: DuckFrame, names: Sequence[str]) -> DuckFrame:
        listed = ", ".join(self.quoted(name) for name in names)
        return DuckFrame(f"SELECT * FROM ({frame.sql}) AS t({listed})")

    def nothing(self, frame: DuckFrame) -> DuckFrame:
        return DuckFrame(f"SELECT * FROM ({frame.sql}) WHERE false")

    def arrow(self, frame: DuckFrame) -> pa.Table:
        return self.connection.sql(frame.sql).to_arrow_table()

    def is_empty(self, frame: DuckFrame, condition: str) -> bool:
        return not self.fetch(DuckFrame(f"SELECT 1 FROM ({frame.sql}) WHERE {condition} LIMIT 1"))

    def functions(self) -> set[str]:
        found = self.connection.execute("SELECT DISTINCT function_name FROM duckdb_functions()").fetchall()
        return {row[0].lower() for row in found} | TRANSLATED

    def has_function(self, name: str) -> bool:
        return name.lower() in self.functions()

    def zone(self) -> tzinfo | None:
        return zone_named(self.connection.execute("SELECT current_setting('TimeZone')").fetchall()[0][0])

    def result_settings(self) -> Mapping[str, str]:
        return {}

    def planning_settings(self, plan: Node) -> Mapping[str, str]:
        return {}

    def has_settings(self, values: Mapping[str, str]) -> bool:
        return True

    def settings(self, values: Mapping[str, str]) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def columns(self, frame: DuckFrame) -> list[tuple[str, str]]:
        described = self.connection.execute(f"DESCRIBE {frame.sql}").fetchall()
        return [(row[0], spark_type(row[1])) for row in described]

    def keep(self, frame: DuckFrame) -> Kept:
        self._kept += 1
        name = f"rv_kept_{self._kept}"
        self.connection.execute(f"CREATE TEMP TABLE {name} AS {frame.sql}")
        local = self.connection.sql(f"SELECT * FROM {name}").to_arrow_table()
        return Kept(DuckFrame(f"SELECT * FROM {name}"), local.num_rows, local)

    def keep_up_to(self, frame: DuckFrame, most: Callable[[], int]) -> Kept | None:
        limit = most()
        counted = DuckFrame(f"SELECT count(*) FROM (SELECT 1 FROM ({frame.sql}) LIMIT {limit + 1})")
        return None if self.fetch(counted)[0][0] > limit else self.keep(frame)

    def local(self, rows: pa.Table, columns: Sequence[tuple[str, str]]) -> Kept:
        self._kept += 1
        name = f"rv_kept_{self._kept}"
        self.connection.register("rv_given", rows)
        self.connection.execute(f"CREATE TEMP TABLE {name} AS SELECT * FROM rv_given")
        self.connection.unregister("rv_given")
        return Kept(DuckFrame(f"SELECT * FROM {name}"), rows.num_rows, rows)

    def forget(self, kept: Iterable[Kept]) -> None:
        for each in kept:
            self.connection.execute(f"DROP TABLE IF EXISTS {each.frame.sql.split()[-1]}")

    def difference(
        self, fresh: DuckFrame, stored: DuckFrame, floats: Sequence[bool], most: int
    ) -> tuple[list[tuple[tuple[Any, ...], int]], tuple[int, int] | None]:
        found: Counter[tuple[Any, ...]] = Counter()
        for frame, weight in ((fresh, 1), (stored, -1)):
            for row in self.fetch(frame):
                found[tuple(_plain(value) for value in row)] += weight
        return [(row, weight) for row, weight in found.items() if weight], None

    def small(self, rows: Iterable[Sequence[object]], schema: str) -> DuckFrame:
        names = [part.split()[0] for part in re.split(r",\s*(?![^<]*>)", schema)]
        listed = ", ".join(f"({', '.join(_literal(value) for value in row)})" for row in rows)
        columns = ", ".join(self.quoted(name) for name in names)
        if not listed:
            return DuckFrame(f"SELECT {', '.join(f'NULL AS {self.quoted(name)}' for name in names)} WHERE false")
        return DuckFrame(f"SELECT * FROM (VALUES {listed}) AS t({columns})")

    def measured(self) -> contextlib.AbstractContextManager[Work]:
        return measured(_COUNTS)

    def output(self, frame: DuckFrame) -> duckdb.DuckDBPyRelation:
        return self.connection.sql(frame.sql)

    def detached(self, frame: DuckFrame) -> duckdb.DuckDBPyRelation:
        found = self.connection.sql(frame.sql)
        rows = self.connection.from_arrow(found.to_arrow_table())
        pairs = zip(found.columns, found.types, rows.types, strict=True)  # Arrow has no HUGEINT
        names = [(self.quoted(name), kind, have) for name, kind, have in pairs]
        return rows.project(", ".join(n if k == h else f"CAST({n} AS {k}) AS {n}" for n, k, h in names))

    @contextlib.contextmanager
    def errors(self, sql: str, names: Callable[[], Iterable[str]] = tuple) -> Iterator[None]:
        try:
            yield
        except RollviewError as error:
            if error.where is not None:
                error.where = error.where.within(sql)
            raise
        except duckdb.Error as error:
            raise translate(error, sql, names()) from error


def _prepared(connection: duckdb.DuckDBPyConnection) -> None:
    # DuckDB 2.0 loses rows of outer and mark joins over small tables when it propagates statistics
    connection.execute("SET disabled_optimizers = 'statistics_propagation'")


def translate(error: duckdb.Error, sql: str, names: Iterable[str] = ()) -> RollviewError:
    """DuckDB's error as one of rollview's: what is wrong, where in ``sql``, and which name may have been meant."""
    said = str(error)
    if match := re.search(r"Table with name (.+) does not exist!", said):
        return TableNotFound(
            f"There is no table or view named {match[1]}",
            where=Place.find(sql, match[1]),
            todo=nearest(match[1].split(".")[-1], names),
        )
    if match := re.search(r'Referenced column "([^\n]+)" (?:was )?not found', said):
        offered = re.search(r"Candidate bindings: (.*)", said)
        columns = re.findall(r'"(?:[^"]+\.)?([^".]+)"', offered[1]) if offered else []
        columns = [column for column in columns if not column.startswith("__")]
        return ColumnNotFound(
            f"There is no column named {match[1]}", where=Place.find(sql, match[1]), todo=nearest(match[1], columns)
        )
    if match := re.search(
        r'(?:Values list|Table) "([^"]+)" does not have a column (?:named|with name) "([^"]+)"', said
    ):
        return ColumnNotFound(
            f"There is no column named {match[2]} in {match[1]}",
            where=Place.find(sql, f"{match[1]}.{match[2]}") or Place.find(sql, match[2]),
        )
    if match := re.search(r'Referenced table "([^"]+)" not found!', said):
        offered = re.search(r"Candidate tables: (.*)", said)
        tables = re.findall(r'"([^"]+)"', offered[1]) if offered else []
        return TableNotFound(
            f"There is no table named {match[1]} here", where=Place.find(sql, match[1]), todo=nearest(match[1], tables)
        )
    if match := re.search(r"Function with name (\S+) does not exist!", said):
        return SqlError(f"DuckDB has no function named {match[1]}", where=Place.call(sql, match[1]))
    if match := re.search(r"Values were not provided for the following parameters: (\w+)", said):
        where = Place.find(sql, match[1]) if match[1].isidentifier() else Place.only(sql, "?")
        return SqlError(
            "There is no value for a parameter", where=where, todo="pass the values, too: rv.sql(text, args)"
        )
    if match := re.search(r'syntax error at or near "+([^"]+)"', said):
        return SqlSyntaxError(
            "DuckDB cannot read this statement", where=Place.only(sql, match[1]), why=f"syntax error at {match[1]}"
        )
    if "SELECT clause without selection list" in said:
        return SqlSyntaxError(
            "DuckDB cannot read this statement", where=Place.only(sql, "SELECT"), why="this SELECT has no columns"
        )
    return _refused(error, said)


def _refused(error: duckdb.Error, said: str) -> RollviewError:
    """An error that names no part of the statement."""
    if isinstance(error, duckdb.InternalException):
        return SqlError(
            "DuckDB fails at this statement",
            why=f"{_reason(said)}; this is a fault of DuckDB {duckdb.__version__}, and the statement may be right",
            todo="write it in another way, or run it on Spark",
        )
    kind = SqlSyntaxError if isinstance(error, duckdb.ParserException) else SqlError
    return kind("DuckDB refuses this statement", why=_reason(said))


def _reason(said: str) -> str:
    """DuckDB's message, without the kind of error and without internal columns."""
    return re.sub(r"^[A-Z]\w+( \w+)? Error: ", "", said.split("\n")[0]).replace("__rid BIGINT, ", "")


@deep
def translated(text: str) -> str:
    """A query or an expression in Spark SQL, translated into DuckDB's SQL."""
    return tree_of(text).sql("duckdb")


def tree_of(text: str) -> exp.Expr:
    """A query or an expression in Spark SQL, as a syntax tree for DuckDB."""
    if where := misread_pipe(text):
        raise Unsupported(
            f"DuckDB does not support {where.text} at this place of a pipe",
            where=where,
            todo="write the query with clauses, or open the warehouse on Spark",
        )
    with readable(text):
        tree = read(text)[0]
    if fixed := next((t for t in tree.find_all(exp.Table) if t.args.get("version") or t.args.get("when")), None):
        raise Unsupported(
            f"A query on DuckDB cannot read a fixed version of {fixed.name}",
            where=Place.find(text, fixed.name),
            todo=f"rv.table({fixed.name!r}, version) reads one",
        )
    return in_dialect(tree, "duckdb")


@lru_cache(maxsize=1024)
def spark_type(kind: str) -> str:
    """A DuckDB type as Spark writes it."""
    if kind == '"NULL"':
        return "void"
    if kind.endswith("[]"):
        return f"array<{spark_type(kind[:-2])}>"
    try:
        found = exp.DataType.build(kind, dialect="duckdb")
    except SqlglotError as error:
        raise Unsupported(f"Spark has no type like DuckDB's {kind}", todo="CAST the value to another type") from error
    return found.sql("spark").lower().replace(", ", ",")


def _literal(value: object) -> str:
    literal: exp.Expr = exp.convert(value)
    return literal.sql("duckdb")


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return "NaN" if value != value else float(f"{value:.8e}")  # NaN equals NaN here
    if isinstance(value, list):
        return tuple(_plain(item) for item in value)
    if isinstance(value, dict):
        return tuple(sorted((str(name), _plain(item)) for name, item in value.items()))
    return value
