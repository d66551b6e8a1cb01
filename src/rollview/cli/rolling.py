"""``rollview propagate``, ``apply`` and ``watch``."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from rollview.cli.app import (
    DEFAULT,
    Json,
    StoreName,
    StoreOption,
    Views,
    Warehouse,
    app,
    opened,
    reporting,
    until_interrupted,
)
from rollview.cli.clock import as_of_option
from rollview.cli.live import watch_live
from rollview.cli.outcomes import outcome_document, show_outcomes
from rollview.cli.propagated import propagated_document, show_propagated
from rollview.cli.render import MISTAKE, Screen, error_document
from rollview.cli.watch import RollingWatch, Rounds, Watch, seconds_of
from rollview.errors import NotIncremental, RollviewError, UserError
from rollview.roll.results import PropagateOutcome
from rollview.roll.rolling import why_not
from rollview.session import Rollview
from rollview.strategy.no_op import NO_OP
from rollview.views.results import FAILED, Outcome, counted

StepRows = Annotated[int | None, typer.Option("--step-rows", help="Changed rows of a table that a step takes in.")]
StepSeconds = Annotated[float | None, typer.Option("--step-seconds", help="The seconds that a step takes.")]


@app.command()
def propagate(
    views: Views = None,
    warehouse: Warehouse = DEFAULT,
    store: StoreOption = StoreName.embedded,
    steps: Annotated[int | None, typer.Option(help="Stop after this many steps of each view.")] = None,
    step_rows: StepRows = None,
    step_seconds: StepSeconds = None,
    as_json: Json = False,
) -> None:
    """Join the changes of tables into the timed deltas of views, in small steps; the views stay as they are. Without
    names, of all views that can be propagated."""
    screen = Screen(as_json=as_json)
    how: dict[str, Any] = {"steps": steps, "step_rows": step_rows, "step_seconds": step_seconds}
    with reporting(screen):
        rv = opened(screen, warehouse, store)
        names = rv.existing(views) if views else _propagated(rv)
        with screen.busy(f"propagating {', '.join(names)}") as say:
            how["progress"] = lambda step: say(str(step))
            if views and len(names) == 1:
                found = [PropagateOutcome(names[0], rv.propagate(names[0], **how))]
            else:
                found = rv.propagate_all(names, **how)
        show_propagated(screen, found)
        if not all(found):
            raise typer.Exit(MISTAKE)


@app.command()
def apply(
    view: Annotated[str, typer.Argument(help="A view.")],
    warehouse: Warehouse = DEFAULT,
    store: StoreOption = StoreName.embedded,
    as_of: Annotated[
        str | None, typer.Option("--as-of", help="A position, a time, or versions of tables; the mark if not given.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Bring a view to a moment that its timed delta reaches, forward or back. No base table is read."""
    screen = Screen(as_json=as_json)
    with reporting(screen):
        rv = opened(screen, warehouse, store)
        with screen.busy(f"applying {view}"):
            result = rv.apply(view, as_of=None if as_of is None else as_of_option(as_of))
        show_outcomes(screen, [Outcome(result.view, result)])


@app.command()
def watch(
    views: Views = None,
    warehouse: Warehouse = DEFAULT,
    store: StoreOption = StoreName.embedded,
    every: Annotated[float, typer.Option(help="Seconds between two checks.")] = 1.0,
    rounds: Annotated[int, typer.Option(help="Stop after this many checks; 0 means never.")] = 0,
    propagate: Annotated[bool, typer.Option("--propagate", help="Propagate the views instead of refreshing.")] = False,
    apply_every: Annotated[
        str | None, typer.Option("--apply-every", help="With --propagate: apply so often, as in 30s, 5m or 2h.")
    ] = None,
    step_rows: StepRows = None,
    step_seconds: StepSeconds = None,
    live: Annotated[bool, typer.Option("--live", help="Keep one view in memory and print its diffs instead.")] = False,
    since: Annotated[str | None, typer.Option(help="--live: begin at a token that was printed.")] = None,
    snapshot: Annotated[bool, typer.Option("--snapshot", help="--live: begin with the rows that there are.")] = False,
    where: Annotated[str | None, typer.Option(help="--live: only rows that satisfy a condition.")] = None,
    as_json: Json = False,
) -> None:
    """Refresh views whenever their base tables change, until Ctrl-C. Failures are retried, with growing pauses. With
    --propagate, propagate them, and apply at an interval. With --live, print the diffs of one view as they come."""
    screen = Screen(as_json=as_json)
    with reporting(screen):
        interval = None if apply_every is None else seconds_of(apply_every)
        if not propagate and (apply_every, step_rows, step_seconds) != (None, None, None):
            raise UserError("--apply-every and steps are for propagating", todo="add --propagate")
        if not live and (since is not None or snapshot or where is not None):
            raise UserError("--since, --snapshot and --where belong to --live", todo="rollview watch VIEW --live")
        if live and propagate:
            raise UserError("--live and --propagate exclude each other", todo="run two commands")
        rv = opened(screen, warehouse, store)
        if live:
            watch_live(screen, rv, views, every, rounds, since=since, snapshot=snapshot, where=where)
            return
        told, names = _Told(screen), rv.existing(views) if views else None
        how = {"step_rows": step_rows, "step_seconds": step_seconds}
        watching = _rolling(rv, names, every, interval, how, told) if propagate else _plain(rv, names, every, told)
        with until_interrupted():
            watching.run(rounds)
        if screen.as_json and not told.events:
            screen.emit({"outcome": NO_OP, "looks": watching.looks})


def _plain(rv: Rollview, names: list[str] | None, every: float, told: _Told) -> Rounds:
    return Watch(rv, names, every, told.changed, told.failed)


def _rolling(
    rv: Rollview, names: list[str] | None, every: float, apply_every: float | None, how: dict[str, Any], told: _Told
) -> Rounds:
    for name in names or ():
        if (why := why_not(rv.catalog, name)) is not None:
            raise NotIncremental(f"{name} cannot be propagated", why=why, todo="watch it without --propagate")
    of = (lambda: _propagated(rv)) if names is None else (lambda: names)
    return RollingWatch(rv, of, every, apply_every, how, told.propagated, told.changed, told.failed)


def _propagated(rv: Rollview) -> list[str]:
    """The views that can be propagated, and damaged ones: these are reported like all that fail."""

    def is_refused(name: str) -> bool:
        try:
            return why_not(rv.catalog, name) is not None
        except RollviewError:
            return False

    return [name for name in rv.catalog.names() if not is_refused(name)]


class _Told:
    """Prints what happens to watched views, as it happens."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self.events = 0

    def changed(self, outcome: Outcome) -> None:
        self._print(
            outcome_document(outcome),
            f"{outcome.view}  {outcome.strategy}  {counted(outcome.rows_written, 'row')}  {outcome.seconds:.2f} s",
        )

    def propagated(self, outcome: PropagateOutcome) -> None:
        done = outcome.propagated()
        rows = f"{counted(done.queries, 'query', 'queries')} of {counted(done.rows, 'changed row')}"
        text = f"{done.view}  propagated  {rows}  up to position {done.mark}  {done.seconds:.2f} s"
        self._print(propagated_document(outcome), text)

    def failed(self, view: str | None, error: RollviewError, again: float) -> None:
        self.events += 1
        if self._screen.as_json:
            failed = {"view": view, "outcome": FAILED, **error_document(error), "again_in": round(again, 3)}
            self._screen.emit(failed)
        else:
            self._screen.error(error, view)
            self._screen.err.print(f"tried again in {again:g} s", highlight=False)

    def _print(self, document: dict[str, Any], text: str) -> None:
        self.events += 1
        if self._screen.as_json:
            self._screen.emit(document)
        else:
            self._screen.out.print(f"{time.strftime('%H:%M:%S')}  {text}", highlight=False)
