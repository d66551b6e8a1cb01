"""The tables that a query reads, and the places in its text that name them.

To run a query over other relations, such as a fixed version of a table, only the names in its text are replaced: Spark
reads everything else as the user wrote it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from sqlglot import exp
from sqlglot.optimizer.scope import traverse_scope

from rollview.errors import Place, SqlSyntaxError, Unsupported
from rollview.parse.mistakes import readable
from rollview.parse.names import Name, quote
from rollview.parse.tree import is_generator, read
from rollview.stack import deep


@dataclass(frozen=True)
class Reference:
    """One reference to a table: its name, the place of the name in the text, and whether it has an alias."""

    name: Name
    start: int
    stop: int
    aliased: bool


def parse_query(sql: str) -> exp.Query:
    """The tree of a query in Spark's dialect; the caller may change it. An error underlines what cannot be parsed."""
    return query_tree(sql).copy()


@lru_cache(maxsize=16)
def query_tree(sql: str) -> exp.Query:
    """The tree of a query, which the caller must not change: it is cached."""
    with readable(sql, "This query cannot be read"):
        trees = read(sql)
    if len(trees) != 1 or not isinstance(trees[0], exp.Query):
        raise SqlSyntaxError(
            "A materialized view is defined by one query",
            where=Place(sql, 0, len(sql.split("\n")[0])),
            todo="start it with SELECT or WITH",
        )
    return trees[0]


@lru_cache(maxsize=64)
@deep
def references(sql: str) -> tuple[Reference, ...]:
    """Every table that the query names, in the order of the text, without CTEs."""
    tree = parse_query(sql)
    for table in tree.find_all(exp.Table, exp.TableAlias):  # names are not case-sensitive
        if isinstance(table.this, exp.Identifier):
            table.this.set("this", table.this.name.lower())
    tables: dict[int, exp.Table] = {}
    with readable(sql, "This query cannot be read"):
        for scope in traverse_scope(tree):
            for source in scope.tables:
                if source.args.get("db") or source.name not in scope.cte_sources:
                    tables[id(source)] = source
    found = [_reference(sql, table) for table in tables.values() if not _makes_its_rows(table)]
    return tuple(sorted(found, key=lambda ref: ref.start))


def _makes_its_rows(table: exp.Table) -> bool:
    """Whether this is a table function such as ``range(10)`` or ``explode(…)``, which reads no table."""
    function = table.this
    return is_generator(function) or (isinstance(function, exp.Anonymous) and function.name.lower() == "range")


def _reference(sql: str, table: exp.Table) -> Reference:
    parts = [part for part in table.parts if isinstance(part, exp.Identifier)]
    if not parts or len(parts) != len(table.parts) or any("start" not in part.meta for part in parts):
        raise Unsupported(
            f"A view cannot read {table.sql('spark')}",
            where=Place.find(sql, table.sql("spark")) or Place.call(sql, table.name or getattr(table.this, "name", "")),
            why="it is not a table with versions",
            todo="load the rows into a table and read that",
        )
    if table.args.get("when") or table.args.get("version"):
        raise Unsupported(
            f"A view cannot read a fixed version of {table.name}",
            where=Place(sql, parts[0].meta["start"], parts[-1].meta["end"] + 1),
            why="a view follows the table as it changes",
            todo="copy that version into a table of its own and read that",
        )
    name = tuple(part.name for part in parts)
    return Reference(name, parts[0].meta["start"], parts[-1].meta["end"] + 1, bool(table.alias))


def substitute(
    sql: str, refs: Sequence[Reference], relations: Mapping[Name, str], keep: Callable[[str], str] = str
) -> str:
    """The query with each referenced table replaced by another relation, under the alias that the query uses.

    ``keep`` is applied to the text between the tables.
    """
    out: list[str] = []
    at = 0
    for ref in refs:
        out += [keep(sql[at : ref.start]), relations[ref.name]]
        if not ref.aliased:
            out.append(keep(f" AS {quote(ref.name[-1])}"))
        at = ref.stop
    return "".join([*out, keep(sql[at:])])
