"""What a live view is made of: a materialized view or a query → its plan, shape, key and settings.

Everything that a live view cannot have is refused here, before any row is read.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

from rollview.engine.expressions import Settings
from rollview.engine.expressions.settings import NEEDED
from rollview.engine.protocol import Engine
from rollview.engine.zones import zone_named
from rollview.errors import RollviewError, UserError
from rollview.frontend.query import CompiledView, Query
from rollview.frontend.sql import BaseTable
from rollview.live.compile.compiling import compiled_shape
from rollview.live.compile.refused import not_live
from rollview.live.shape import Shape
from rollview.parse.views import Policy
from rollview.strategy.reasons import REASONS
from rollview.views.catalog import Catalog, shape_of
from rollview.views.checks import sources_of
from rollview.views.compiled import compiled_query
from rollview.views.define import undefined
from rollview.views.definition import View
from rollview.views.relation import check_columns, relation

#: What Spark calls types that only DuckDB has: a sum of integers, which a view has stored, is a number of 128 bits.
_SPARKS = {"int128": "decimal(38,0)"}

_ZONE, _ZONE_FILE = "spark.sql.session.timeZone", Path("/etc/localtime")


@dataclass(frozen=True)
class Definition:
    """``key`` are the places of the columns that tell the view's rows apart: none if there is one row at most, None if
    no visible columns do. ``mark`` tells the definition of a materialized view from a later one of the same name."""

    view: View
    shape: Shape
    settings: Settings
    fingerprint: str
    key: tuple[int, ...] | None
    named: bool
    mark: str = ""

    @property
    def title(self) -> str:
        """The view's name, or the beginning of its query."""
        if self.named:
            return self.view.name
        text = " ".join(self.view.query.text.split())
        return text if len(text) <= 60 else f"{text[:59]}…"

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the view's columns."""
        return self.shape.output.labels

    @property
    def types(self) -> tuple[str, ...]:
        """Their types, as Spark writes them."""
        return tuple(kind.name for kind in self.shape.output.kinds)

    @property
    def bases(self) -> Mapping[str, BaseTable]:
        """The tables and views that are read."""
        return {table: self.view.bases[table] for table in self.shape.tables}


def of_view(catalog: Catalog, name: str) -> Definition:
    """The definition of a materialized view as a live view."""
    view = replace(catalog.get(name), helpers=())
    return _defined(catalog, view, view.settings, named=True, mark=shape_of(catalog.get(name)))


def of_query(catalog: Catalog, text: str) -> Definition:
    """The definition of a query as a live view."""
    query = Query(text)
    query.refuse_random()
    sources = sources_of(catalog, query)
    bases = {table: relation(catalog, table).base() for table in sorted(set(sources.values()))}
    view = undefined("", query, Policy.AUTO, sources, bases, {})
    return _defined(catalog, view, {}, named=False)


def _defined(catalog: Catalog, view: View, stored: Mapping[str, str], *, named: bool, mark: str = "") -> Definition:
    compiled = compiled_query(view)
    if compiled.query is None or compiled.query.reason is not None:
        reason = compiled.reason or "not_compiled"
        part = compiled.part
        refused = not_live("a query that is not compiled", REASONS[reason] + (f": {part.what}" if part else ""))
        refused.where = part.where if part else None
        raise refused
    query = compiled.query
    settings = _settings(catalog.engine, stored)
    columns = {t: [(n, _SPARKS.get(kind, kind)) for n, kind in base.columns] for t, base in view.bases.items()}
    shape = compiled_shape(query.plan, lambda table: columns[table], settings)
    _check_names(shape.output.labels)
    for table in shape.tables:
        version = catalog.identity(table).version
        if version is None:
            raise not_live(f"a query over {table}", "the table has no versions, so its changes are not known")
        check_columns(relation(catalog, table), view.bases[table], columns_read(shape, table), version)
    return Definition(view, shape, settings, query.fingerprint, _key(query, shape), named, mark)


def _check_names(labels: tuple[str, ...]) -> None:
    folded = [label.casefold() for label in labels]
    twice = next((label for label in labels if folded.count(label.casefold()) > 1), None)
    if twice is not None:
        raise UserError(
            f"The live view would have two columns named {twice}",
            why="names are compared without regard to case",
            todo="give one of them another name: SELECT … AS …",
        )


def _key(query: CompiledView, shape: Shape) -> tuple[int, ...] | None:
    """The places of the columns of the key, as far as it can be seen."""
    keyed = query.keyed
    if keyed.key is None or set(keyed.key) & set(keyed.hidden):
        return None
    shown = [column.name for column in query.plan.columns]
    if not set(keyed.key) <= set(shown):
        return None
    return tuple(sorted(shown.index(name) for name in keyed.key))


def columns_read(shape: Shape, table: str) -> list[str]:
    """The columns of a table that a live view reads."""
    return list(dict.fromkeys(source for part in shape.occurrences(table) for _, source, _ in part.sources))


def _settings(engine: Engine, stored: Mapping[str, str]) -> Settings:
    """The settings by which expressions are evaluated: those that a materialized view was made with, else those of the
    session. A Spark that was not started yet has the settings by default, and the time zone of this machine."""
    wrong = {name: value for name, value in NEEDED.items() if stored.get(name, value) != value}
    if wrong:
        name, value = next(iter(wrong.items()))
        raise not_live(
            f"a view made with {name} = {stored[name]}", f"values are proven to be Spark's with {value} only"
        )
    if _ZONE in stored:
        return Settings.in_zone(zone_named(stored[_ZONE]))
    zone = engine.zone()
    if zone is not None:
        return Settings.of(engine)
    if (here := _zone_here()) is not None:
        return Settings.in_zone(here)
    engine.result_settings()  # starts Spark
    return Settings.of(engine)


def _zone_here() -> tzinfo | None:
    """The time zone of this machine, if it can be told by name."""
    try:
        if named := os.environ.get("TZ"):
            return zone_named(named.lstrip(":"))
        parts = _ZONE_FILE.resolve(strict=True).parts
        return ZoneInfo("/".join(parts[parts.index("zoneinfo") + 1 :]))
    except (RollviewError, OSError, ValueError, KeyError):
        return None
