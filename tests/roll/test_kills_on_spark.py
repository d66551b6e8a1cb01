"""Kills on the embedded store: at every change of the folder, and two processes that are killed with kill -9."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from rolled import AT_ONCE
from rollview import Rollview
from rollview.engine.sources import LocalSpark
from rollview.roll.rolling import rolling
from rollview.store.edits import Append
from rollview.store.embedded import EmbeddedStore
from rollview.store.protocol import Store
from seeds import seed

pytestmark = pytest.mark.slow

ROWS = "SELECT o.id, c.city, o.amount FROM orders o JOIN customers c ON c.id = o.customer"
SUMS = "SELECT c.city, sum(o.amount) AS total FROM orders o JOIN customers c ON c.id = o.customer GROUP BY c.city"


def filled(rv: Rollview) -> None:
    rv.store.create("orders", orders(0, 20), key=["id"])
    rv.store.create("customers", customers(0, 5), key=["id"])
    rv.create("shown", ROWS, policy="INCREMENTAL")
    rv.create("summed", SUMS, policy="INCREMENTAL")


def orders(first: int, count: int) -> pa.Table:
    ids = list(range(first, first + count))
    made = {"id": ids, "customer": [i * 7 % 11 for i in ids], "amount": [i % 13 for i in ids]}
    return pa.table({name: pa.array(values, pa.int32()) for name, values in made.items()})


def customers(first: int, count: int) -> pa.Table:
    ids = list(range(first, first + count))
    return pa.table({"id": pa.array(ids, pa.int32()), "city": [f"c{i % 3}" for i in ids]})


def write(store: Store, number: int) -> None:
    """A commit without Spark: of orders; some are of customers that come later."""
    if number % 3 or number > 18:
        store.commit("orders", [Append(orders(100 + 5 * number, 5))])
    else:
        store.commit("customers", [Append(customers(5 + number // 3, 1))])


def checked(rv: Rollview, view: str, choose: random.Random) -> None:
    """The view is its query at the newest position, and where its delta leads it to."""
    done = rv.propagate(view)
    assert done.lag == 0
    rv.apply(view)
    assert rv.verify(view).ok
    stored = rolling(rv.catalog, view).delta.stored()
    assert stored is not None
    for position in [*(choose.randint(stored.extent.begin, done.mark) for _ in range(4)), stored.extent.begin]:
        assert rv.apply(view, as_of=position).position == position
        assert rv.verify(view).ok


class Killed(BaseException):
    """The process ends here."""


def kill(patched: pytest.MonkeyPatch, at: int, *, before: bool) -> None:
    """Ends the process before or after its ``at``-th change of the folder. What it still tries changes nothing."""
    count = 0

    def killing(work: Callable[..., Any]) -> Callable[..., Any]:
        def done(*args: Any, **kwargs: Any) -> Any:
            nonlocal count
            count += 1
            if count > at or (count == at and before):
                raise Killed
            found = work(*args, **kwargs)
            if count == at:
                raise Killed
            return found

        return done

    changing = ((os, "link"), (os, "rename"), (Path, "unlink"), (Path, "mkdir"), (DeltaTable, "create_checkpoint"))
    for module, name in changing:
        patched.setattr(module, name, killing(getattr(module, name)))


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
@pytest.mark.parametrize("view", ["shown", "summed"])
def test_a_kill_at_any_change_of_the_folder_loses_nothing(
    view: str, before: bool, opened: Callable[..., Rollview], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Propagating is killed at its first change, then at its second, and so on until it ends; then applying."""
    filled(opened(limits=AT_ONCE))
    number = kills = 0
    propagate: Callable[[Rollview], object] = lambda rv: rv.propagate(view, steps=2, step_rows=4)  # noqa: E731
    apply: Callable[[Rollview], object] = lambda rv: rv.apply(view)  # noqa: E731
    opened(limits=AT_ONCE).propagate(view)
    for work in (propagate, apply):
        at = 0
        while True:
            at += 1
            rv = opened(limits=AT_ONCE)
            for _ in range(3):
                write(rv.store, number)
                number += 1
            if work is apply:
                rv.propagate(view)
            with monkeypatch.context() as patched:
                kill(patched, at, before=before)
                try:
                    work(rv)
                    break
                except Killed:
                    kills += 1
    assert kills >= 4
    checked(opened(limits=AT_ONCE), view, random.Random(seed()))


_PROCESS = """
import random, sys, time
from pathlib import Path
sys.path[:0] = {path!r}
from rolled import AT_ONCE
from rollview import connect
from rollview.errors import UserError
choose = random.Random({number})
rv = connect(Path({folder!r}), limits=AT_ONCE)
while True:
    for view in ("shown", "summed"):
        if {propagates}:
            rv.propagate(view, step_rows=choose.choice([3, 20, 1000]))
        else:
            try:
                rv.apply(view)
            except UserError as error:
                assert "Nothing has been propagated" in error.what
    time.sleep(0.1)
"""


def start(folder: Path, number: int, *, propagates: bool) -> subprocess.Popen[bytes]:
    path = [str(Path(__file__).parents[1] / "support")]
    code = _PROCESS.format(path=path, folder=str(folder), number=number, propagates=propagates)
    return subprocess.Popen([sys.executable, "-c", code], start_new_session=True)


def test_two_processes_that_are_killed_again_and_again_lose_nothing(
    tmp_path: Path, opened: Callable[..., Rollview]
) -> None:
    """With kill -9, its Spark too, some seconds after its first work; the writer goes on meanwhile."""
    folder, choose = tmp_path / "warehouse", random.Random(seed())
    rv = opened(limits=AT_ONCE, folder=folder)
    filled(rv)
    store, number = EmbeddedStore(LocalSpark(), folder), 0
    running = {propagates: start(folder, 0, propagates=propagates) for propagates in (True, False)}
    try:
        for kills in range(12):
            victim = choose.random() < 0.6
            begin, lives = time.monotonic(), choose.uniform(12, 25)
            while time.monotonic() - begin < lives:
                assert all(process.poll() is None for process in running.values())
                write(store, number)
                number += 1
                time.sleep(choose.uniform(0.05, 0.6))
            os.killpg(running[victim].pid, signal.SIGKILL)
            running[victim].wait()
            running[victim] = start(folder, kills + 1, propagates=victim)
    finally:
        for process in running.values():
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    again = opened(limits=AT_ONCE, folder=folder)
    for view in ("shown", "summed"):
        stored = rolling(again.catalog, view).delta.stored()
        assert stored is not None
        assert stored.extent.sequence > 10
        checked(again, view, choose)
