"""What a view is: its definition, which is kept as a property of its state table."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from rollview.frontend.query import Query
from rollview.frontend.sql import BaseTable
from rollview.parse.names import Name
from rollview.parse.views import Policy
from rollview.state.types import FORMAT
from rollview.store.protocol import Identity

#: One version for each base table of a view; None for a table that has no versions.
Vector = dict[str, int | None]


@dataclass(frozen=True)
class ViewColumn:
    """A column of the query."""

    name: str
    type: str

    @property
    def is_float(self) -> bool:
        return self.type in ("double", "float")


@dataclass(frozen=True)
class Layout:
    """How the view is stored. ``kind`` is one of the kinds of state, or ``rows``: just what the query returned.

    ``types`` are those of the stored columns, ``made`` those of what the query's aggregates and window functions make,
    both by name and as the engine found them when the view was created: with them the same state is derived at every
    refresh. ``picked`` are the stored names of the visible columns, if the view's rows are just the stored ones.
    ``format`` is the number of the way in which this version of rollview lays out states.
    """

    kind: str
    columns: tuple[str, ...]
    on: tuple[str, ...]
    show: str
    feed: str | None
    types: Mapping[str, str] = field(default_factory=dict)
    made: Mapping[str, str] = field(default_factory=dict)
    picked: tuple[str, ...] | None = None
    format: int = FORMAT


#: The layout of a view whose query has no plan.
ROWS = "rows"


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
    ``always_full`` is the reason why the view is recomputed at every refresh, if it is, and ``because`` the part of the
    query, or the failure of the compiler, that it is about; ``fingerprint`` is the same for
    all spellings of the query; ``settings`` are those of the session that change results. ``owner`` is whose helper the
    view is, if it is one. ``keep_changes`` are the seconds for which its timed delta is kept, if not the usual ones."""

    name: str
    id: str
    query: Query
    policy: Policy
    comment: str | None
    columns: tuple[ViewColumn, ...]
    sources: Mapping[Name, str]
    bases: Mapping[str, BaseTable]
    layout: Layout
    key: tuple[str, ...] = ()
    always_full: str | None = None
    because: str | None = None
    fingerprint: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    helpers: tuple[Helper, ...] = ()
    owner: str | None = None
    not_null: tuple[str, ...] = ()
    inexact: Mapping[str, str] = field(default_factory=dict)
    keep_changes: int | None = None

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
            "query": self.query.to_json(),
            "policy": self.policy.value,
            "sources": [[list(k), v] for k, v in self.sources.items()],
        }
        return json.dumps(fields, ensure_ascii=False)

    @staticmethod
    def from_json(text: str) -> View:
        """The definition in a text. Of a layout in another format only its number is read."""
        fields = json.loads(text)
        fields["query"] = Query(**fields["query"])
        fields["policy"] = Policy(fields["policy"])
        fields["columns"] = tuple(ViewColumn(**column) for column in fields["columns"])
        fields["sources"] = {tuple(name): table for name, table in fields["sources"]}
        fields["bases"] = {
            table: BaseTable(
                base["name"], tuple(map(tuple, base["columns"])), tuple(base["key"]), _tuples(base.get("not_null"))
            )
            for table, base in fields["bases"].items()
        }
        fields["helpers"] = tuple(Helper(**h | {"tables": tuple(h["tables"])}) for h in fields.get("helpers", ()))
        fields["layout"] = _layout(fields["layout"])
        names = {name: tuple(fields.get(name, ())) for name in ("key", "not_null")}
        known = {each.name for each in dataclasses.fields(View)}
        return View(**{name: value for name, value in (fields | names).items() if name in known})


def _layout(stored: Mapping[str, Any]) -> Layout:
    if stored.get("format") != FORMAT:
        kept = {name: stored[name] for name in ("kind", "show")}
        columns, on = _tuples(stored["columns"]), _tuples(stored["on"])
        return Layout(**kept, columns=columns, on=on, feed=None, format=int(stored.get("format", 0)))
    return Layout(**{name: _tuples(value) for name, value in stored.items()})


def _tuples(value: Any) -> Any:
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value
