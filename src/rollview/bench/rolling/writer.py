"""A view is propagated all the time while a writer makes two commits a second: whether the mark falls behind."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from rollview.bench.drawing import Chart
from rollview.bench.report import Figure
from rollview.bench.rolling.room import Room
from rollview.bench.rolling.shop import SUMS, Shop
from rollview.bench.turns import Way, check

#: Minutes, the seconds of each at scale 1, and the seconds between two commits.
MINUTES, MINUTE, EVERY = 5, 60.0, 0.5

#: A commit has as many rows as this part of those of the other measurements.
PART = 10


def run(room: Room) -> Iterator[Figure]:
    minute = max(0.3, MINUTE * min(1.0, room.scale))
    with room.opened("writer") as rv:
        shop = Shop(rv, room.scale)
        shop.load()
        shop.commit_rows = max(1, shop.commit_rows // PART)
        rv.create("sums", SUMS, policy="INCREMENTAL")
        shop.append(0)
        mark = rv.propagate("sums").mark
        writer = _Writer(shop, MINUTES * minute, mark)
        if rv.engine.parallel:
            thread = threading.Thread(target=writer.write)
            thread.start()
            while thread.is_alive():
                writer.mark = rv.propagate("sums", progress=lambda step: writer.came(step.mark)).mark
            thread.join()
        else:  # this process does one thing at a time
            while not writer.is_done:
                writer.catch_up()
                writer.came(rv.propagate("sums").mark)
        rv.propagate("sums")
        rv.apply("sums")
        check([Way(rv, "sums")])
    if writer.error is not None:
        raise writer.error
    means = [_mean(writer.lags, n * minute, (n + 1) * minute) for n in range(MINUTES)]
    ratio = means[-1] / max(means[1], EVERY)
    yield Figure(f"lag of the mark in the last minute, as against {means[1]:.1f} s in the second", ratio, most=1.5)
    lines = {"sums": writer.lags}
    room.charts.append(Chart("How old the first commit after the mark is", "seconds", "seconds", lines))


def _mean(lags: list[tuple[float, float]], after: float, upto: float) -> float:
    return statistics.mean([lag for at, lag in lags if after <= at < upto] or [0.0])


@dataclass
class _Writer:
    """Commits at its times for some ``seconds``. ``first`` is the position before its commits, and ``mark`` where the
    view's delta is complete. With each commit, ``lags`` gets the seconds since the start, and the age of the first
    commit after the mark."""

    shop: Shop
    seconds: float
    first: int
    mark: int = 0
    lags: list[tuple[float, float]] = field(default_factory=list)
    error: BaseException | None = None

    def __post_init__(self) -> None:
        self.mark = self.first
        self._start = time.monotonic()
        self._times: list[float] = []

    @property
    def is_done(self) -> bool:
        return self._now() >= self.seconds

    def came(self, mark: int) -> None:
        self.mark = mark

    def write(self) -> None:
        try:
            while not self.is_done:
                self.catch_up()
                time.sleep(max(0.0, EVERY * len(self._times) - self._now()))
        except BaseException as error:
            self.error = error

    def catch_up(self) -> None:
        """Makes the commits that are due."""
        while EVERY * len(self._times) <= self._now() and not self.is_done:
            self.shop.append(len(self._times))
            self._times.append(self._now())
            done = self.mark - self.first
            self.lags.append((self._now(), self._now() - self._times[done] if done < len(self._times) else 0.0))

    def _now(self) -> float:
        return time.monotonic() - self._start
