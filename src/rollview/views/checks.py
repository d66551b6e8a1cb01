"""What CREATE MATERIALIZED VIEW checks before it writes anything: the name, the tables, the functions, the columns."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlglot import exp

from rollview.errors import BadName, NameTaken, NotIncremental, Place, SqlError, TableNotFound, nearest
from rollview.frontend.query import Query
from rollview.frontend.sql.scope import place
from rollview.parse.names import Name
from rollview.parse.references import Reference, parse_query
from rollview.parse.stored_names import RESERVED
from rollview.parse.views import CreateView, Policy
from rollview.plan.reserved import STATE
from rollview.strategy.reasons import REASONS
from rollview.views.catalog import Catalog
from rollview.views.define import Defined


def is_taken(catalog: Catalog, statement: CreateView, name: str) -> bool:
    """Whether a view of this name exists. Raises an error if the statement may not have the name."""
    if statement.name[-1].lower().startswith(RESERVED):
        raise BadName(f"{name} cannot be a view's name", why=f"names that begin with {RESERVED} belong to rollview")
    if catalog.has(name):
        if not (statement.if_not_exists or statement.or_replace):
            raise NameTaken(
                f"There is a materialized view named {name} already",
                todo="choose another name, or use CREATE OR REPLACE MATERIALIZED VIEW",
            )
        return True
    if catalog.store.exists(name):
        raise NameTaken(f"{name} is the name of a table", todo="choose another name for the view")
    return False


def check_policy(made: Defined) -> None:
    """Raises an error if the policy asks for an incremental refresh, and the view cannot have one."""
    view, part = made.view, made.compiled.part
    if view.policy in (Policy.INCREMENTAL, Policy.STRICT) and view.always_full is not None:
        raise NotIncremental(
            f"{view.name} cannot have REFRESH POLICY {view.policy.value}",
            where=part.where if part is not None else None,
            why=REASONS[view.always_full] + (f": {part.what}" if part is not None else ""),
            todo="use REFRESH POLICY AUTO or FULL; the view then is recomputed at every refresh",
        )


def check_functions(catalog: Catalog, query: Query, trusted: Collection[str]) -> None:
    """A user's own function may give another result at every call, unless it is declared not to."""
    if not query.unknown_functions(trusted):
        return
    known = catalog.engine.functions()
    for call in query.unknown_functions({*known, *trusted}):
        if not catalog.engine.has_function(_called(call)):
            raise SqlError(
                f"{catalog.engine.title} has no function named {call.name}",
                where=Place.call(query.text, call.name),
                todo=nearest(call.name, sorted(known)),
            )
        raise SqlError(
            f"{call.name} is not a function of {catalog.engine.title}",
            where=Place.call(query.text, call.name),
            why="it may give another result at every call, and then the view could never equal its query",
            todo=f"if it does not, say so: rv.declare_deterministic({call.name!r})",
        )


def _called(call: exp.Anonymous) -> str:
    """The name of a function as it is called, with its schema."""
    return f"{call.parent.this.sql('spark')}.{call.name}" if isinstance(call.parent, exp.Dot) else call.name


def sources_of(catalog: Catalog, query: Query) -> dict[Name, str]:
    """What each table name in the query means."""
    found: dict[Name, str] = {}
    for ref in query.references:
        table = catalog.store.canonical(ref.name)
        if not (catalog.has(table) or catalog.store.exists(table)):
            raise _unknown(catalog, query.text, ref)
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
            f"there are {', '.join(sorted({*known})[:8])}"
            if known
            else "there are no tables yet; make one with CREATE TABLE"
        ),
    )


def check_no_cycle(catalog: Catalog, name: str, tables: Collection[str]) -> None:
    """Raises an error if a view would read itself, directly or through others."""
    pending, seen = list(tables), set()
    while pending:
        table = pending.pop()
        if table == name:
            raise SqlError(f"{name} would read itself", todo="let it read the base tables instead")
        if table not in seen and catalog.has(table):
            pending += catalog.get(table).tables
        seen.add(table)


def check_output(query: Query, columns: Sequence[tuple[str, str]]) -> None:
    """Raises an error if two columns of the query have one name, or one has the name of the view's state."""
    seen: set[str] = set()
    for i, (column, _) in enumerate(columns):
        if column.casefold() == STATE:
            raise SqlError(
                f"No column of a view can be named {column}",
                where=_again(query.text, column, i, len(columns)),
                why="the SQL that shows a view calls its stored rows by that name",
                todo="give the column another name: … AS other_name",
            )
        if column.casefold() in seen:
            raise SqlError(
                f"Two columns of the view are named {column}",
                where=_again(query.text, column, i, len(columns)),
                why="names are compared without regard to case",
                todo="give one of them another name: … AS other_name",
            )
        seen.add(column.casefold())


def _again(query: str, label: str, position: int, count: int) -> Place | None:
    """Where the view's own SELECT has a column whose name is taken: the item at its position, or, if stars stand for
    several columns, another item of that name or the last star."""
    tree = parse_query(query).unnest()
    while isinstance(tree, exp.SetOperation):
        tree = tree.this.unnest()
    items = tree.expressions if isinstance(tree, exp.Select) else []
    stars = [item for item in items if item.is_star]
    named = [item for item in items if item.output_name.casefold() == label.casefold()]
    found = [items[position]] if not stars and len(items) == count else named[1:] or stars[-1:]
    return place(query, found[0]) if found else None
