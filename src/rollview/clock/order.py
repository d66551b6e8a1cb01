"""The commits that one look sees first, in the order in which they are numbered.

Commits are ordered by (commit time, table, version); commits of one table by their versions, whatever their times are.
Commits of several tables that name one transaction are one unit: what each of these tables committed earlier comes
before it.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rollview.clock.unit import micros
from rollview.store.protocol import TRANSACTION, Commit, Identity

#: Transactions that need each other first, so that there is no order, are cut after this many steps.
_DEEP = 50


@dataclass(frozen=True)
class Sighted:
    """A commit that a look sees first."""

    table: str
    table_id: str
    commit: Commit

    @property
    def identity(self) -> Identity:
        return Identity(self.table_id, self.commit.version, self.commit.mark)

    @property
    def transaction(self) -> str | None:
        told = self.commit.metadata.get(TRANSACTION)
        return None if told is None else str(told)


def units_of(sighted: Mapping[str, Sequence[Sighted]]) -> Iterator[list[Sighted]]:
    """The commits of each table, given in the order of their versions, as units in order."""
    return _Merge(sighted).units()


class _Merge:
    """Merges the queues of the tables. ``_next`` is the place of each table's next commit."""

    def __init__(self, sighted: Mapping[str, Sequence[Sighted]]) -> None:
        self._queues = sighted
        self._next = dict.fromkeys(sighted, 0)
        self._members: dict[str, dict[str, int]] = {}
        for table, queue in sighted.items():
            for place, each in enumerate(queue):
                if each.transaction is not None:
                    self._members.setdefault(each.transaction, {})[table] = place
        self._under_way: dict[str, list[Sighted]] = {}

    def units(self) -> Iterator[list[Sighted]]:
        heads = [self._head(table, 0) for table, queue in self._queues.items() if queue]
        heapq.heapify(heads)
        while heads:
            _, table, place = heapq.heappop(heads)
            if place >= self._next[table]:
                yield from self._through(table, place)
            if self._next[table] < len(self._queues[table]) and place < self._next[table]:
                heapq.heappush(heads, self._head(table, self._next[table]))

    def _head(self, table: str, place: int) -> tuple[int, str, int]:
        return micros(self._queues[table][place].commit.time), table, place

    def _through(self, table: str, place: int) -> Iterator[list[Sighted]]:
        """The units up to a commit of a table, and its own."""
        while (at := self._next[table]) <= place:
            self._next[table] += 1
            each = self._queues[table][at]
            name = each.transaction
            if name in self._under_way:
                self._under_way[name].append(each)
            elif name is None or len(self._under_way) >= _DEEP:
                yield [each]
            else:
                yield from self._transaction(name, each)

    def _transaction(self, name: str, first: Sighted) -> Iterator[list[Sighted]]:
        unit = self._under_way[name] = [first]
        for table, place in sorted(self._members[name].items()):
            yield from self._through(table, place)
        del self._under_way[name]
        yield sorted(unit, key=lambda each: (each.table, each.commit.version))
