"""A view's definition → its plan and its state. A definition is compiled once, when it is first asked for.

What the compiler does not support costs speed, not the view: it is recomputed. A failure of the compiler does so, too,
with the reason ``compiler_bug``; it is logged and kept with its traceback. If the environment variable
``ROLLVIEW_STRICT`` is set, as in the tests, it is raised.
"""

from __future__ import annotations

import logging
import os
import traceback
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TypeVar

from rollview.delta.derivation import NotMaintained
from rollview.errors import ColumnNotFound, InternalError, NotDeterministic
from rollview.frontend.query import CompiledView, Query
from rollview.frontend.sql import BaseTable, Tables, Unbuildable
from rollview.parse.names import Name
from rollview.parse.tree import OTHER_SPELLINGS
from rollview.state.helpers import helped, helper_id
from rollview.state.make import state_of
from rollview.state.state import State
from rollview.state.types import NotRecorded, RecordedTypes
from rollview.strategy.choose import Chooser
from rollview.views.definition import View

STRICT = "ROLLVIEW_STRICT"

#: The reason of a view on which the compiler failed.
BUG = "compiler_bug"

logger = logging.getLogger("rollview")

T = TypeVar("T")


class CompilerBug(UserWarning):
    """The compiler failed on a query. The view is recomputed at every refresh."""


class Failed(InternalError):
    """A failure of the compiler. ``trace`` is its traceback."""

    def __init__(self, trace: str) -> None:
        super().__init__(trace.strip().splitlines()[-1], todo="please report it, with the view's query")
        self.trace = trace


def guarded(make: Callable[[], T]) -> T:
    """What a part of the compiler makes. Raises what it means to raise, and Failed for any other exception."""
    try:
        return make()
    except (NotDeterministic, Unbuildable, ColumnNotFound, NotMaintained, NotRecorded, Failed):
        raise
    except Exception as error:
        if os.environ.get(STRICT):
            raise
        raise Failed("".join(traceback.format_exception(error))) from error


def report(title: str, trace: str, when: str = "at every refresh") -> None:
    """Says that the compiler failed on a view, and when the view is recomputed because of that."""
    last = trace.strip().splitlines()[-1]
    logger.error("the compiler failed on %s; it is recomputed %s\n%s", title, when, trace)
    warnings.warn(
        f"rollview's compiler failed on the query of {title}: {last}. The view is recomputed {when}. This "
        "is a bug of rollview; explain shows the traceback.",
        CompilerBug,
        stacklevel=2,
    )


@dataclass(frozen=True)
class Compiled:
    """A view's plan and state. Without them, or if there is a ``reason``, the view is always recomputed; ``part`` is
    the part of the query that cannot be planned, ``refused`` what the engine has against the plan, ``trace`` the
    traceback of a failure of the compiler. The ``chooser`` makes the plans of its refreshes."""

    query: CompiledView | None
    state: State | None = None
    reason: str | None = None
    part: Unbuildable | None = None
    refused: str | None = None
    trace: str | None = None
    chooser: Chooser = field(default_factory=Chooser, compare=False)

    @property
    def because(self) -> str | None:
        """What the reason is about."""
        return self.trace or self.refused or (self.part.what if self.part is not None else None)

    def with_state(self, state: State | None) -> Compiled:
        return replace(self, state=state, chooser=Chooser())


def compiled_query(view: View) -> Compiled:
    """The view's plan over its base tables as they were; without one, the reason."""
    if any(view.settings.get(name) == "true" for name in OTHER_SPELLINGS):
        return Compiled(None, reason="not_compiled")
    bases = tuple((table, view.bases[table]) for table in view.tables)
    found = _planned(view.query, tuple(view.sources.items()), bases)
    if found.query is None or not view.helpers:
        return found
    query, helpers = found.query, {helper.id: helper.name for helper in view.helpers}
    try:
        over = guarded(lambda: helped(query, lambda node, _: helpers.get(helper_id(node))))
    except Failed as error:
        return Compiled(None, reason=BUG, trace=error.trace)
    return Compiled(over, reason=over.reason)


@lru_cache(maxsize=64)
def _planned(query: Query, sources: tuple[tuple[Name, str], ...], bases: tuple[tuple[str, BaseTable], ...]) -> Compiled:
    """A query compiled over tables that look like this."""
    try:
        found = guarded(lambda: query.plan(_finder(dict(sources), dict(bases))))
    except Unbuildable as error:
        return Compiled(None, reason="not_compiled", part=error)
    except ColumnNotFound as error:  # the engine has accepted the query: it knows a name that the compiler does not
        return Compiled(None, reason="not_compiled", part=Unbuildable(error.what, where=error.where))
    except Failed as error:
        return Compiled(None, reason=BUG, trace=error.trace)
    return Compiled(found, reason=found.reason)


def compiled_definition(view: View, dialect: str) -> Compiled:
    """The view's plan, and its state with the types that were recorded when it was created."""
    found = compiled_query(view)
    if found.query is None or not view.layout.types:
        return found
    names = [column.name for column in view.columns]
    query = found.query
    try:
        state = guarded(lambda: state_of(query, RecordedTypes(view.layout.made), names, dialect))
    except NotRecorded:  # another layout than the view's: the view is recomputed
        return found
    except Failed as error:
        return replace(found, reason=BUG, trace=error.trace)
    return found.with_state(state)


def _finder(sources: Mapping[Name, str], bases: Mapping[str, BaseTable]) -> Tables:
    """What the names of tables in a query mean."""

    def table(name: Name) -> BaseTable | None:
        known = sources.get(tuple(part.lower() for part in name)) or sources.get(name)
        return None if known is None else bases[known]

    return table
