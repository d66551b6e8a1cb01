"""A view's query: its text, parsed once, and its plan.

text → tree → plan → key → CompiledView
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from rollview.errors import NotDeterministic, Place
from rollview.frontend.sql import Tables, Unbuildable, build_plan
from rollview.frontend.sql.scope import place
from rollview.garbage import collected_rarely
from rollview.keys import Choice, Keyed, decided, with_key
from rollview.parse.references import Reference, parse_query, query_tree, references
from rollview.parse.tokens import Cursor, SqlTokens, misread_pipe
from rollview.plan.fingerprint import fingerprint
from rollview.plan.nodes import Node, Scan, show_plan
from rollview.plan.reserved import TIME, WEIGHT
from rollview.plan.rewrite import apply_rule, normalise
from rollview.plan.rewrite.expand_grouping_sets import expand_grouping_sets
from rollview.stack import deep

#: Functions that return another result at every call: a view that uses one can never equal its query.
_RANDOM = {
    "rand", "randn", "random", "uuid", "shuffle", "randstr", "uniform", "monotonically_increasing_id",
    "spark_partition_id", "input_file_name", "input_file_block_start", "input_file_block_length",
}  # fmt: skip

#: Functions that run code outside the query.
_OUTSIDE = {"reflect", "java_method", "try_reflect"}

#: The keywords for a sample of a table's rows.
_SAMPLE = ("TABLESAMPLE", "SAMPLE")

#: Functions whose result depends on when, where and by whom they are called.
_OF_THE_MOMENT = {
    "current_date", "curdate", "now", "current_timestamp", "localtimestamp", "current_time", "current_user", "user",
    "session_user", "current_timezone", "current_catalog", "current_database", "current_schema", "version",
}  # fmt: skip

TIME_DEPENDENT = "time_dependent"


@dataclass(frozen=True)
class Query:
    """What defines a view: a text in a language; the only one so far is SQL."""

    text: str
    language: str = "sql"

    @property
    def references(self) -> tuple[Reference, ...]:
        """Every reference to a table, in the order of the text."""
        return references(self.text)

    def plan(self, tables: Tables) -> CompiledView:
        """The query compiled over tables with these columns and keys. Raises Unbuildable if it cannot be planned."""
        return compile_view(self.text, tables)

    def refuse_random(self) -> None:
        """Raises an error that underlines what may return another result at every call."""
        refuse_random(self.text, query_tree(self.text))

    def unknown_functions(self, known: Collection[str]) -> list[exp.Anonymous]:
        """The calls of functions that are not known: those that the user registered."""
        return unknown_functions(self.text, known)

    def to_json(self) -> dict[str, Any]:
        return {"language": self.language, "text": self.text}


@dataclass(frozen=True)
class CompiledView:
    """``reason`` says why the view is always recomputed in full; None if it need not be. ``fingerprint`` is that of the
    plan without helpers. ``partitions`` are the helpers of windows' partitions. ``choices`` are what the query leaves
    open, and how the plan decides it."""

    sql: str
    plan: Node
    keyed: Keyed
    fingerprint: str
    reason: str | None = None
    partitions: Mapping[str, Scan] = field(default_factory=dict)
    choices: tuple[Choice, ...] = ()

    def shown(self) -> str:
        return show_plan(self.plan)


@deep
@collected_rarely()
def compile_view(sql: str, tables: Tables) -> CompiledView:
    """Compiles a query. Raises Unbuildable if it cannot be planned, another error if no view can have it."""
    tree = parse_query(sql)
    refuse_random(sql, tree)
    if where := misread_pipe(sql):
        raise Unbuildable(f"{where.text} at this place in a pipe cannot be compiled yet", where=where)
    # before columns are pruned, so that all readers of a CTE share a plan; as a union, grouping sets have a key
    built = decided(apply_rule(build_plan(tree, sql, tables), expand_grouping_sets))
    plan = normalise(built.plan)
    read = {name.casefold() for node in plan.walk() if isinstance(node, Scan) for name in node.sources}
    for column in (WEIGHT, TIME):
        if column.label in read:
            raise Unbuildable(f"A column named {column.label} cannot be compiled: changes have a column of that name")
    reason = TIME_DEPENDENT if any(_calls(node) & _OF_THE_MOMENT for node in tree.walk()) else None
    return CompiledView(sql, plan, with_key(plan), fingerprint(plan), reason, choices=built.choices)


def refuse_random(sql: str, tree: exp.Query) -> None:
    """Raises an error that underlines a function or a sample which may return something else each time."""
    for node in tree.walk():
        if isinstance(node, exp.TableSample):
            raise NotDeterministic(
                "A view cannot read a sample of a table",
                where=_sample(sql),
                why="its rows depend on chance or on the table's files, so the view could never equal its query",
                todo="copy the sample once into a table and read that, or select the rows by a condition",
            )
        if called := _calls(node) & (_RANDOM | _OUTSIDE):
            name = min(called, key=lambda word: (not re.search(rf"\b{word}\b", sql, re.IGNORECASE), word))
            raise NotDeterministic(
                f"A view cannot use {name}()",
                where=place(sql, node) or Place.find(sql, name),
                why="it runs code outside the query, which may return another result at every call"
                if name in _OUTSIDE
                else "it returns another result at every call, so the view could never equal its query",
                todo="compute the value once, into a column of a base table",
            )


def _sample(sql: str) -> Place | None:
    """The place of the first TABLESAMPLE."""
    cursor = Cursor(SqlTokens.of(sql))
    while not cursor.done:
        start = cursor.position
        if any(cursor.take(word) for word in _SAMPLE) and cursor.is_word("("):
            cursor.bracketed()
            return Place(sql, start, cursor.tokens[cursor.at - 1].stop)
        cursor.at += 1
    return None


def unknown_functions(sql: str, known: Collection[str]) -> list[exp.Anonymous]:
    """The calls of functions that are not known: those that the user registered."""
    calls = [node for node in query_tree(sql).walk() if isinstance(node, exp.Anonymous)]
    return [node for node in calls if node.name.lower() not in known]


_NONE: frozenset[str] = frozenset()

#: The names of each type of function, in lower case.
_NAMES: dict[type[exp.Expr], frozenset[str]] = {}


def _calls(node: exp.Expr) -> frozenset[str]:
    """The names of the function that a part of the tree calls, in lower case."""
    if isinstance(node, exp.Anonymous):
        return frozenset((node.name.lower(),))
    if isinstance(node, exp.StrToUnix) and node.args.get("this") is None:  # unix_timestamp()
        return frozenset(("now",))
    if not isinstance(node, exp.Func):
        return _NONE
    kind = type(node)
    if kind not in _NAMES:
        _NAMES[kind] = frozenset(name.lower() for name in node.sql_names())
    return _NAMES[kind]
