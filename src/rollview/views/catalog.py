"""What a view is: its definition, kept in its state table, and the vector that the state shows.

There is no catalog beside the views themselves. The definition is a property of the state table, the reflected vector
is metadata of the commit that wrote the rows; so whatever crashes, the two agree with the data.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from rollview.engine.protocol import Engine
from rollview.errors import Damaged, VersionGone, ViewNotFound, nearest
from rollview.frontend.sql import BaseTable
from rollview.limits import DEFAULT, Limits
from rollview.parse.names import Name
from rollview.parse.stored_names import HELPER_PREFIX, STATE_PREFIX, damaged
from rollview.parse.views import Policy
from rollview.store.protocol import Identity, Store

DEFINITION = "rollview.view"
VECTOR = "rollview.vector"
RUN = "rollview.run"

#: One version for each base table of a view; None for a table that has no versions.
Vector = dict[str, int | None]


@dataclass(frozen=True)
class Column:
    """A column of the query."""

    name: str
    type: str

    @property
    def is_float(self) -> bool:
        return self.type in ("double", "float")


@dataclass(frozen=True)
class Layout:
    """How the view is stored. ``kind`` is one of the kinds of state, or ``rows``: just what the query returned.

    ``types`` are what the engine found when the view was made; with them the same state is derived at every refresh.
    ``picked`` are the stored names of the visible columns, if the view's rows are just the stored ones.
    """

    kind: str
    columns: tuple[str, ...]
    on: tuple[str, ...]
    show: str
    feed: str | None
    types: tuple[tuple[str, ...], ...] = ()
    picked: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Helper:
    """A view of rollview's own that stores the groups of an aggregate inside the query: see ``state/helpers``. ``id``
    says of which, ``tables`` what it reads."""

    id: str
    name: str
    tables: tuple[str, ...]


@dataclass(frozen=True)
class View:
    """A view's definition. ``sources`` says what each table name in the query means, ``bases`` what the tables looked
    like when the view was made, its helpers among them; ``key`` are the visible columns that tell rows apart,
    ``not_null`` those that are never NULL; ``inexact`` are columns of other types than floats that are computed from a
    floating-point aggregate, with this aggregate;
    ``always_full`` is the reason why the view is recomputed at every refresh, if it is; ``fingerprint`` is the same for
    all spellings of the query; ``settings`` are those of the session that change results. ``owner`` is whose helper the
    view is, if it is one."""

    name: str
    id: str
    query: str
    policy: Policy
    comment: str | None
    columns: tuple[Column, ...]
    sources: Mapping[Name, str]
    bases: Mapping[str, BaseTable]
    layout: Layout
    key: tuple[str, ...] = ()
    always_full: str | None = None
    fingerprint: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    helpers: tuple[Helper, ...] = ()
    owner: str | None = None
    not_null: tuple[str, ...] = ()
    inexact: Mapping[str, str] = field(default_factory=dict)

    @property
    def tables(self) -> list[str]:
        """The tables and views that the query reads, each once."""
        return sorted(self.bases.keys() - {helper.name for helper in self.helpers})

    @property
    def title(self) -> str:
        """The name that the user knows."""
        return self.owner or self.name

    def moved(self, tables: Collection[str]) -> list[str]:
        """What the view's plan reads that changes with these tables: they and the helpers over them."""
        return [*tables, *(helper.name for helper in self.helpers if set(helper.tables) & set(tables))]

    def shown(self, vector: Mapping[str, Identity]) -> Vector:
        """The versions of the tables in a vector."""
        return {table: vector[table].version for table in self.tables if table in vector}

    def to_json(self) -> str:
        fields = asdict(self) | {
            "policy": self.policy.value,
            "sources": [[list(k), v] for k, v in self.sources.items()],
        }
        return json.dumps(fields, ensure_ascii=False)

    @staticmethod
    def from_json(text: str) -> View:
        fields = json.loads(text)
        fields["policy"] = Policy(fields["policy"])
        fields["columns"] = tuple(Column(**column) for column in fields["columns"])
        fields["sources"] = {tuple(name): table for name, table in fields["sources"]}
        fields["bases"] = {
            table: BaseTable(
                base["name"], tuple(map(tuple, base["columns"])), tuple(base["key"]), _tuples(base.get("not_null"))
            )
            for table, base in fields["bases"].items()
        }
        fields["helpers"] = tuple(Helper(**h | {"tables": tuple(h["tables"])}) for h in fields.get("helpers", ()))
        layout = {k: _tuples(v) for k, v in fields["layout"].items()}
        names = {name: tuple(fields.get(name, ())) for name in ("key", "not_null")}
        return View(**fields | names | {"layout": Layout(**layout)})


def _tuples(value: Any) -> Any:
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value


@dataclass(frozen=True)
class Reflected:
    """What the stored view shows: the newest commit that a refresh made, and its vector."""

    vector: Mapping[str, Identity]
    sequence: int
    strategy: str
    time: datetime

    def versions(self) -> Vector:
        return {table: identity.version for table, identity in self.vector.items()}


def stamp_metadata(vector: Mapping[str, Identity], sequence: int, strategy: str, run: str) -> dict[str, object]:
    """What a refresh writes into its commit; ``run`` tells it from any other refresh."""
    positions = {table: [identity.table_id, identity.version] for table, identity in vector.items()}
    return {VECTOR: positions, RUN: run, "rollview.sequence": sequence, "rollview.strategy": strategy}


def _defined(properties: Mapping[str, str]) -> View | None:
    """The definition among the properties of a state table, if there is one that can be read."""
    try:
        return View.from_json(properties[DEFINITION])
    except (KeyError, ValueError, TypeError, AttributeError):
        return None


class Catalog:
    """The views of a store, read off their state tables, and the engine that computes them."""

    def __init__(self, store: Store, engine: Engine, limits: Limits = DEFAULT) -> None:
        self.store = store
        self.engine = engine
        self.limits = limits
        self.compiled: dict[str, tuple[View, object]] = {}  # what was compiled last, of which definition

    def state(self, view: str) -> str:
        return self.store.companion(view, STATE_PREFIX)

    def has(self, view: str) -> bool:
        return self.store.exists(self.state(view))

    def names(self) -> list[str]:
        """The views; their helpers are not among them."""
        found = (self.store.owner(table, STATE_PREFIX) for table in self.store.tables())
        return [name for name in found if name is not None and self.store.owner(name, HELPER_PREFIX) is None]

    def tables(self) -> list[str]:
        """The tables that are not the state of a view."""
        return [table for table in self.store.tables() if self.store.owner(table, STATE_PREFIX) is None]

    def get(self, view: str) -> View:
        if not self.has(view):
            todo = nearest(view, self.names())
            if self.store.exists(view):
                todo = f"{view} is a table, not a materialized view"
            raise ViewNotFound(f"There is no materialized view named {view}", todo=todo)
        found = _defined(self.store.properties(self.state(view)))
        if found is None:
            raise damaged(
                self.state(view), f"its stored definition, the property {DEFINITION}, is gone or not readable"
            )
        return found

    def known(self, view: str) -> View | None:
        """A view's definition; of a damaged view, the newest that can be read off what is left. None if none can."""
        with contextlib.suppress(Damaged):
            return self.get(view)
        found = map(_defined, self.store.past_properties(self.state(view)))
        return next((each for each in found if each is not None), None)

    def damage(self, view: str) -> Damaged | None:
        """Why a view's definition or vector cannot be read, if they cannot."""
        try:
            self.reflected(self.get(view))
        except Damaged as error:
            return error
        return None

    def all(self) -> list[View]:
        """The views whose definitions can be read."""
        found = []
        for name in self.names():
            with contextlib.suppress(Damaged):
                found.append(self.get(name))
        return found

    def reflected(self, view: View) -> Reflected:
        state = self.state(view.name)
        try:
            commit = self.store.last_commit(state, having=VECTOR)
            vector = {table: Identity(*position) for table, position in commit.metadata[VECTOR].items()}
            return Reflected(
                vector, commit.metadata["rollview.sequence"], commit.metadata["rollview.strategy"], commit.time
            )
        except (VersionGone, KeyError, TypeError, AttributeError) as error:
            raise damaged(state, "no entry of its log says which versions of its base tables it shows") from error

    def identity(self, table: str) -> Identity:
        """The newest version of a table or view."""
        return self.store.identity(self.stored(table))

    def stored(self, table: str) -> str:
        """Where the rows of a table or view are: the table itself, or the view's state."""
        return self.state(table) if self.has(table) else table

    def readers(self, table: str) -> list[str]:
        """The views that read a table or view, damaged ones among them as far as they are known."""
        views = map(self.known, self.names())
        return [view.name for view in views if view is not None and table in view.tables]
