"""Two processes over one warehouse, of which one is killed: before or after the n-th write to the store.

One process propagates, the other one applies. They are sessions of their own, each with what it has read of the clock
and of the view. After any write of one, the other may run, and tables may change. A killed process does nothing more:
whatever it still tries to write fails. Then it is started again.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rolled import World
from rollview import Rollview
from rollview.parse.stored_names import CLOCK, DELTA_PREFIX, STATE_PREFIX

#: The methods of a store that write.
WRITING = ("commit", "create", "recreate", "set_properties", "drop", "prune", "tidy")

Work = Callable[[Rollview], object]


class Killed(BaseException):
    """The process ends here."""


class Machine:
    """Runs processes over the store of a world. ``at`` is the write that kills, counted from 1, ``before`` says whether
    the process ends before that write or after it. ``wrote`` counts the writes to each kind of table, ``did`` the calls
    of each method."""

    def __init__(self, world: World, at: int, *, before: bool, choose: random.Random) -> None:
        self.world, self._at, self._before, self._choose = world, at, before, choose
        self.writes = self.kills = 0
        self.did = dict.fromkeys(WRITING, 0)
        self.wrote = dict.fromkeys((CLOCK, DELTA_PREFIX, STATE_PREFIX), 0)
        self._sessions: dict[str, Rollview] = {}
        self._running: list[str] = []
        self._dead: set[str] = set()
        self._others: dict[str, Work] = {}

    @contextmanager
    def started(self, **others: Work) -> Iterator[None]:
        """Inside the block, writes are counted. ``others`` are what each process does while another one runs."""
        store, self._others = self.world.rv.store, others
        before = {name: getattr(store, name) for name in WRITING}
        for name, method in before.items():
            setattr(store, name, self._counted(name, method))
        try:
            yield
        finally:
            for name, method in before.items():
                setattr(store, name, method)

    def run(self, process: str, work: Work) -> None:
        """Runs a process until its work is done; once more if it is killed."""
        while not self._ends(process, work):
            pass

    def _ends(self, process: str, work: Work) -> bool:
        rv = self.world.rv
        session = self._sessions.setdefault(process, Rollview(rv.engine, rv.store, rv.catalog.limits))
        self._running.append(process)
        try:
            work(session)
            return True
        except Killed:
            self.kills += 1
            self._dead.discard(process)
            del self._sessions[process]
            return False
        finally:
            self._running.pop()

    def _counted(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def done(table: str, *rest: Any, **more: Any) -> Any:
            process = self._running[-1]
            if process in self._dead:
                raise Killed
            self.writes += 1
            self.did[name] += 1
            kills = self.writes == self._at
            if kills:
                self._dead.add(process)
            if kills and self._before:
                raise Killed
            found = method(table, *rest, **more)
            self.wrote[next(kind for kind in self.wrote if table.startswith(kind))] += 1
            if kills:
                raise Killed
            self._meanwhile(process)
            return found

        return done

    def _meanwhile(self, process: str) -> None:
        """What happens between two writes of a process: one level deep."""
        if len(self._running) > 1:
            return
        if self._choose.random() < 0.3:
            self.world.happen()
        for other, work in self._others.items():
            if other != process and self._choose.random() < 0.5:
                self.run(other, work)
