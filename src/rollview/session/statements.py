"""Statements that are not about materialized views: the store runs them, or passes them on to the engine.

A name means what it means in this warehouse when the statement runs, whatever else the Spark session knows.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable

from pyspark.errors import PySparkException

from rollview.engine.protocol import Answer, Frame
from rollview.errors import BadName, ColumnNotFound, NameTaken, Place, RollviewError, TableNotFound, UserError
from rollview.parse.names import Name, parse_name, quote
from rollview.parse.reads import tables_in
from rollview.parse.stored_names import RESERVED
from rollview.parse.tables import (
    CreateTable,
    DropPlainView,
    DropTable,
    Insert,
    ShowTables,
    TableStatement,
    parse_table_statement,
)
from rollview.parse.tokens import SqlTokens
from rollview.views.catalog import Catalog
from rollview.views.write import publish


def run_statement(catalog: Catalog, sql: str) -> Answer | Frame:
    """Runs one statement. What rollview itself answers is not made a frame, so it may need no Spark."""
    about_table = parse_table_statement(sql)
    if isinstance(about_table, ShowTables):
        return Answer({"name": "STRING"}, [[name] for name in catalog.tables()])
    named = tables_in(about_table, sql)
    problems: dict[str, RollviewError] = {}
    try:
        with catalog.engine.errors(sql, lambda: known_names(catalog)), catalog.store.asked():
            if about_table is not None:
                _check_target(catalog, about_table, sql)
            if catalog.store.has_catalog:
                check_catalog(catalog, sorted(named or ()))
            else:
                problems = _name_relations(catalog, _relations(catalog, named, sql))
                if named is not None and (lost := next((n for n in sorted(problems) if n in _last(named)), None)):
                    raise problems[lost]
            if about_table is None or isinstance(about_table, DropPlainView):
                return catalog.store.pass_on(sql)
            return catalog.store.run(about_table, sql)
    except (TableNotFound, ColumnNotFound) as error:
        if error.where is None:
            error.where = Place.find(sql, error.what.partition(" named ")[2])
        if isinstance(error, ColumnNotFound):
            raise
        problem = problems.get(parse_name(error.name or "")[-1].lower())
        raise error if problem is None else problem from error


def known_names(catalog: Catalog) -> list[str]:
    """The tables and views that may have been meant."""
    return [*catalog.tables(), *catalog.names()]


def _relations(catalog: Catalog, named: Collection[Name] | None, sql: str) -> set[str]:
    """The tables and views that a statement may read: those that it names, or, if that is not known, those whose
    names are words of it."""
    if named is not None:
        return {name for name in _last(named) if catalog.store.exists(name) or catalog.has(name)}
    return SqlTokens.of(sql).words() & {*catalog.tables(), *catalog.names()}


def _name_relations(catalog: Catalog, names: set[str]) -> dict[str, RollviewError]:
    """Makes tables and views readable by their names; returns the problems of those that cannot be read."""
    problems = catalog.store.sync(names)
    for name in names:
        if catalog.has(name):
            try:
                publish(catalog, catalog.get(name))
                if lost := catalog.store.damage(catalog.state(name)):
                    raise lost
            except RollviewError as error:
                problems[name] = error
                catalog.store.forget_name(name)
    return problems


def check_catalog(catalog: Catalog, names: Iterable[Name]) -> None:
    """Raises the damage of a table or view of Spark's catalog: Spark finds it when rows are fetched, and an empty
    entry of a log never."""
    for name in names:
        lost = None
        with contextlib.suppress(RollviewError, PySparkException):  # what the name means is for Spark to say
            table = catalog.stored(catalog.store.canonical(name))
            lost = catalog.store.damage(table) if catalog.store.exists(table) else None
        if lost is not None:
            raise lost


def _check_target(catalog: Catalog, statement: TableStatement | DropPlainView, sql: str) -> None:
    """Tables are changed by statements, views by refreshes alone."""
    made = (CreateTable, DropTable, DropPlainView)
    parts: Name = statement.name if isinstance(statement, made) else statement.table
    where = Place.find(sql, parts[-1])
    if parts[-1].lower().startswith(RESERVED):
        raise BadName(
            f"{parts[-1]} belongs to rollview",
            where=where,
            why=f"names that begin with {RESERVED} are its own tables",
        )
    name = catalog.store.canonical(parts)
    if not catalog.has(name):
        return
    if isinstance(statement, CreateTable):
        raise NameTaken(f"{name} is the name of a materialized view", where=where, todo="choose another name")
    if isinstance(statement, DropTable | DropPlainView):
        raise UserError(f"{name} is a materialized view", where=where, todo=f"use DROP MATERIALIZED VIEW {quote(name)}")
    verb = "inserted into" if isinstance(statement, Insert) else "changed"
    raise UserError(
        f"{name} is a materialized view and cannot be {verb}",
        where=where,
        why="it shows its query's result and changes when its base tables do",
        todo="change the base tables, then REFRESH MATERIALIZED VIEW " + quote(name),
    )


def _last(names: Collection[Name]) -> set[str]:
    """The last parts of names, as warehouses in a folder spell them."""
    return {name[-1].lower() for name in names}
