"""The views of a store: their definitions, and the vectors that their states show.

There is no catalog beside the views themselves. The definition is a property of the state table, the reflected vector
is metadata of the commit that wrote the rows; so whatever crashes, the two agree with the data.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from rollview.clock import CommitClock
from rollview.delta.passes.run_time import RUNNING, RunningPass
from rollview.engine.protocol import Engine
from rollview.errors import Damaged, VersionGone, ViewNotFound, nearest
from rollview.limits import DEFAULT, Limits
from rollview.parse.stored_names import DELTA_PREFIX, HELPER_PREFIX, RESERVED, STATE_PREFIX, damaged
from rollview.store.protocol import Commit, Identity, Store
from rollview.views.compiled import Compiled, compiled_definition
from rollview.views.definition import Vector, View

DEFINITION = "rollview.view"
VECTOR = "rollview.vector"
RUN = "rollview.run"
SHAPE = "rollview.shape"
EPOCH = "rollview.epoch"


@dataclass(frozen=True)
class Reflected:
    """What the stored view shows: the newest commit that a refresh made, and its vector. All commits since the rows
    were computed as a whole have one ``epoch``."""

    vector: Mapping[str, Identity]
    sequence: int
    strategy: str
    time: datetime
    epoch: str = ""

    def versions(self) -> Vector:
        return {table: identity.version for table, identity in self.vector.items()}


def stamp_metadata(
    view: View, vector: Mapping[str, Identity], sequence: int, strategy: str, run: str, epoch: str = ""
) -> dict[str, object]:
    """The metadata of a refresh's commit; ``run`` identifies this refresh."""
    at = {table: [identity.table_id, identity.version, identity.mark] for table, identity in vector.items()}
    told = {"rollview.sequence": sequence, "rollview.strategy": strategy}
    return {VECTOR: at, RUN: run, SHAPE: shape_of(view), EPOCH: epoch, **told}


def vector_in(commit: Commit) -> dict[str, Identity]:
    """The vector in the metadata of a refresh's commit."""
    return {table: Identity(*at) for table, at in commit.metadata[VECTOR].items()}


def shape_of(view: View) -> str:
    """The same for all definitions that store the same query in the same way."""
    layout = view.layout
    told = (view.query.text, layout.format, layout.kind, layout.columns, layout.show, sorted(layout.types.items()))
    return hashlib.sha256(repr(told).encode()).hexdigest()[:16]


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
        self.clock = CommitClock(store, engine, limits, every=self.numbered)
        self.running: Sequence[RunningPass] = RUNNING  # the passes that are applied when steps are run
        self._compiled: dict[str, tuple[View, Compiled]] = {}

    def state(self, view: str) -> str:
        return self.store.companion(view, STATE_PREFIX)

    def delta(self, view: str) -> str:
        """The table of a view's timed delta: see ``roll``."""
        return self.store.companion(view, DELTA_PREFIX)

    def has(self, view: str) -> bool:
        return self.store.exists(self.state(view))

    def names(self) -> list[str]:
        """The views; their helpers are not among them."""
        found = (self.store.owner(table, STATE_PREFIX) for table in self.store.tables())
        return [name for name in found if name is not None and self.store.owner(name, HELPER_PREFIX) is None]

    def tables(self) -> list[str]:
        """The tables that are not rollview's own."""
        return [table for table in self.store.tables() if self.store.owner(table, RESERVED) is None]

    def numbered(self) -> list[str]:
        """The tables whose commits the clock numbers: all of the warehouse, or the base tables of a catalog's views."""
        if self.store.lists_own:
            return self.tables()
        return sorted({table for view in self.all() for table in view.tables if not self.has(table)})

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

    def compiled(self, view: View) -> Compiled:
        """The view's plan and state. Each definition is compiled once."""
        known = self._compiled.get(view.name)
        if known is None or known[0] != view:
            known = self._compiled[view.name] = (view, compiled_definition(view, self.engine.dialect))
        return known[1]

    def remember(self, view: View, compiled: Compiled) -> None:
        """What a definition was compiled to when it was made."""
        self._compiled[view.name] = (view, compiled)

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
            told = commit.metadata
            sequence, strategy = told["rollview.sequence"], told["rollview.strategy"]
            return Reflected(vector_in(commit), sequence, strategy, commit.time, told.get(EPOCH, ""))
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
