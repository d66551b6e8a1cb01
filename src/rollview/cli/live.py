"""``rollview watch v --live``: the diffs of a live view as they come."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence

from rollview.cli.render import Screen, error_document
from rollview.cli.watch import Pauses
from rollview.errors import RollviewError, SchemaChanged, UserError
from rollview.live.live import Live
from rollview.live.serve.diff import Batch
from rollview.session import Rollview
from rollview.views.results import FAILED

#: The rows of a batch that are shown on a terminal.
_SHOWN = 20


class Told:
    """Shows the batches of one view."""

    def __init__(self, screen: Screen, view: str) -> None:
        self._screen, self.view = screen, view
        self.token: str | None = None
        self.error: BaseException | None = None

    def __call__(self, batch: Batch) -> None:
        if self._screen.as_json:
            told = {"vector": dict(batch.vector), "token": batch.token, "complete": batch.complete}
            told |= {"snapshot": batch.snapshot, "time": batch.time.isoformat()}
            self._screen.emit({"view": self.view, **told, "rows": batch.to_pylist()})
        else:
            self._table(batch)
        sys.stdout.flush()
        self.token = batch.token  # now that it has been shown

    def end(self, error: BaseException | None) -> None:
        """The subscription has ended: the batches cannot be shown, or ``--where`` fails over a row."""
        self.error = error

    def _table(self, batch: Batch) -> None:
        vector = ", ".join(f"{table} {version}" for table, version in batch.vector.items())
        *columns, weight = batch.table.column_names
        rows = [
            [_sign(row.pop(weight), snapshot=batch.snapshot), *row.values()]
            for row in batch.table.slice(0, _SHOWN).to_pylist()
        ]
        kind = "snapshot" if batch.snapshot else "diff"
        told = f"{batch.time.astimezone():%H:%M:%S.%f}"[:-3] + f"  {kind}  {vector}"
        self._screen.out.print(told, style="bold", highlight=False)
        self._screen.table(["", *columns], rows)
        if len(batch) > _SHOWN:
            self._screen.out.print(f"and {len(batch) - _SHOWN} more rows (--json has all)", highlight=False)


def _sign(weight: int, *, snapshot: bool) -> str:
    """How many copies of a row come or go."""
    copies = "" if abs(weight) == 1 else f" {abs(weight)}"
    return copies.strip() if snapshot else f"{'+' if weight > 0 else '-'}{copies}"


def watch_live(
    screen: Screen,
    rv: Rollview,
    views: Sequence[str] | None,
    every: float,
    rounds: int,
    *,
    since: str | None,
    snapshot: bool,
    where: str | None,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Shows the diffs of one view until Ctrl-C, or for a number of ``rounds``. What fails is tried again, with growing
    pauses."""
    if not views or len(views) != 1:
        raise UserError("--live watches one view", todo="name one: rollview watch VIEW --live")
    told = Told(screen, views[0])
    with screen.busy(f"reading the tables of {views[0]}"):
        live = rv.live(views[0])
    with live:
        live.subscribe(told, where=where, since=since, snapshot=snapshot, when_behind="hold", on_end=told.end)
        told.token = told.token or live.token
        try:
            _follow(screen, live, told, every, rounds, sleep)
        except KeyboardInterrupt:
            pass
        finally:
            if not screen.as_json:
                screen.err.print(f"--since {told.token} continues here", highlight=False, soft_wrap=True)


def _follow(screen: Screen, live: Live, told: Told, every: float, rounds: int, sleep: Callable[[float], None]) -> None:
    pauses, looks = Pauses(max(every, 0.05)), 0
    while True:
        pause = every
        try:
            live.poll()
            pauses.worked("")
        except SchemaChanged:
            raise
        except RollviewError as error:
            pause = pauses.failed("")
            if screen.as_json:
                screen.emit(
                    {"view": told.view, "outcome": FAILED, **error_document(error), "again_in": round(pause, 3)}
                )
            else:
                screen.error(error, told.view)
        if told.error is not None:
            raise told.error
        looks += 1
        if looks == rounds:
            return
        sleep(pause)
