"""A peer in the place of the join graph: it takes the same changed rows, and gives the same paths.

So a live view can be made with it, and all that is not the graph is the same for both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from rollview.bench.graphivm.peers.joining import Joining, Kept, auxiliary, classic
from rollview.bench.graphivm.peers.outer import Outer
from rollview.bench.graphivm.peers.relations import Relation, empty_arena, occurrences
from rollview.bench.graphivm.views import JoinView
from rollview.errors import InternalError
from rollview.live.generated.source import names_of
from rollview.live.generated.text import Text
from rollview.live.graph.protocol import GraphOf, LookAhead, Paths, Rows, Size
from rollview.live.interning import Words
from rollview.live.kernel import numbers as n
from rollview.live.kernel.build import compiled_text, module
from rollview.live.kernel.plan import plan_of
from rollview.live.shape import Shape


class Kind(str, Enum):
    """The peers of chapter 8."""

    CLASSIC = "classic IVM"
    AUXILIARY = "auxiliary views"
    OUTER = "full outer join table"


class Peer:
    """Implements ``Graph``. With ``keep``, the rows of the view are kept, too; the full outer join table has them."""

    def __init__(self, kind: Kind, view: JoinView, shape: Shape, piece: int, *, keep: bool) -> None:
        self.kind, self.shape, self._piece = kind, shape, piece
        self.plan = plan_of(shape, LookAhead.NONE)
        self.occurrences = occurrences(view, shape, self.plan)
        self.kept: Kept | Outer = Outer(self.occurrences, self.plan)
        if kind is not Kind.OUTER:
            made = classic if kind is Kind.CLASSIC else auxiliary
            self.kept = made(self.occurrences, self.plan, keep=keep)
        self.arena = empty_arena(self.kept.tables, self.kept.after)
        self._words = np.array(self.kept.words(), dtype=np.int64)
        self._state = np.zeros(2, dtype=np.int64)
        self._out = np.empty((self.plan.fields + 1, 64), dtype=np.int64)
        self.shows, self.distinct, self.visited = self.plan.shown.rows, False, 0
        self._functions: dict[tuple[int, bool, bool], Callable[..., Any]] = {}

    def expect(self, rows: Mapping[int, int]) -> None:
        """Its tables grow as they are filled."""

    def change(self, part: int, rows: Rows, *, push: bool = True) -> Iterator[Paths]:
        yield from self.changed(part, rows.all, push=push)

    def changed(self, part: int, rows: Words, *, push: bool = True) -> Iterator[Paths]:
        """Like ``change``; of each row, all words lie side by side."""
        if self.kind is Kind.CLASSIC and not push and not self._keeps:
            self._load(part, rows.reshape(-1))
        else:
            yield from self._paths(self.function(part, view=push or self._keeps), rows, push)

    def _paths(self, change: Callable[..., Any], rows: Words, push: bool) -> Iterator[Paths]:
        state, words, count = self._state, rows.reshape(-1), len(rows)
        state[0] = 0
        while state[0] < count:
            self.arena, self._out = change(self.arena, self._words, state, words, count, push, self._out, self._piece)
            if done := int(state[1]):
                fields, width = self._out[:, :done].copy(), self.plan.fields
                yield Paths(fields[:width].T, fields[width], fields[width + 1 :].T)

    def function(self, part: int, *, own: bool = True, view: bool = True) -> Callable[..., Any]:
        """The compiled function for changes of one part: what it does to what is kept, and to the view."""
        found = self._functions.get((part, own, view))
        if found is None:
            compiled = module("peer", self._source(part, own=own, view=view)).changed
            found = self._functions[part, own, view] = compiled
        return found

    def generate(self, part: int, vertex: int | None = None, keys: Sequence[tuple[int, ...]] = ()) -> Iterator[Paths]:
        """All rows of the view: as they are kept, or by joining the rows of a base table."""
        if isinstance(self.kept, Outer):
            raise InternalError("the rows of a full outer join table cannot be listed")
        if (view := self.kept.view) is not None:
            out = self._listed(view)
            for at in range(0, out.shape[1], self._piece):
                found = out[:, at : at + self._piece]
                yield Paths(found[:-1].T, found[-1], found[:0].T)
            return
        own, relation = self.plan.parts[part], self.kept.relations[part]
        listed = self._listed(relation)
        rows = np.zeros((listed.shape[1], own.in_fields + own.stride), dtype=np.int64)
        for i, (_, at) in enumerate(relation.columns):
            rows[:, at] = listed[i]
        rows[:, own.in_fields + own.width] = listed[-1]
        yield from self._paths(self.function(part, own=False), rows, True)

    def _listed(self, relation: Relation) -> Words:
        out = np.empty((relation.width + 1, int(self.arena[relation.table + 2])), dtype=np.int64)
        _rows().listed_rows(self.arena, relation.table, relation.width, out)
        return out

    def size(self) -> Size:
        return Size(0, 0, 0, 8 * int(self.arena[n.TOP]))

    def numbers(self) -> npt.NDArray[np.int64]:
        """No interned values: the tables have numbers only."""
        return np.zeros(0, dtype=np.int64)

    @property
    def deletes(self) -> bool:
        """Whether rows can be taken away, too."""
        return isinstance(self.kept, Kept)

    @property
    def _keeps(self) -> bool:
        return isinstance(self.kept, Kept) and self.kept.view is not None

    def _load(self, part: int, words: Words) -> None:
        """Changes a base table, which is all that classic IVM does without the view."""
        assert isinstance(self.kept, Kept)
        own, relation = self.plan.parts[part], self.kept.relations[part]
        columns = np.array([at for _, at in relation.columns], dtype=np.int64)
        wide, counted = own.in_fields + own.stride, own.in_fields + own.width
        self.arena = _rows().loaded(self.arena, self._words, relation.at, words, wide, counted, columns)

    def _source(self, part: int, *, own: bool, view: bool) -> str:
        text = Text()
        if isinstance(self.kept, Outer):
            self.kept.write(text, part)
        else:
            Joining(self.occurrences, self.plan, self.kept, part).write(text, own=own, view=view)
        return _module(compiled_text(f'"""{part}"""\n{text}'), _rows())


def peer(kind: Kind, view: JoinView, *, keep: bool = False) -> GraphOf:
    """Makes peers of a kind for a view, as a live view makes its graph."""

    def made(shape: Shape, look_ahead: LookAhead, piece: int) -> Peer:
        return Peer(kind, view, shape, piece, keep=keep)

    return made


def _module(body: str, *others: ModuleType) -> str:
    head = ["import sys", "import numpy as np", "from numba import njit", *names_of(body, *others)]
    return "\n".join([*head, "", body, ""])


@lru_cache(maxsize=1)
def _rows() -> ModuleType:
    """The functions that all peers call."""
    return module("rows", _module(compiled_text((Path(__file__).parent / "rows.py").read_text(encoding="utf-8"))))
