"""The commands."""

from __future__ import annotations

import contextlib
import dataclasses
import decimal
import json
import os
import sys
import time
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from rollview import __version__
from rollview.cli.render import DIFFERENT, MISTAKE, Screen, error_document, exit_code
from rollview.cli.watch import Watch
from rollview.engine.spark_errors import spark_errors
from rollview.errors import InternalError, RollviewError, UserError
from rollview.parse.tokens import split_script
from rollview.session import Rollview, connect
from rollview.strategy.no_op import NO_OP
from rollview.views.results import FAILED, Outcome, Verification, ViewStatus, are_behind

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Incremental materialized views for Apache Spark.\n\nExit codes: 0 done, 1 your mistake, 2 wrong usage, "
    "3 verify found a difference, 4 not incremental, 70 a bug.",
)


class StoreName(str, Enum):
    embedded = "embedded"
    delta = "delta"


Warehouse = Annotated[
    Path, typer.Option("--warehouse", "-w", envvar="ROLLVIEW_WAREHOUSE", help="The warehouse folder.")
]
StoreOption = Annotated[
    StoreName, typer.Option("--store", envvar="ROLLVIEW_STORE", help="How tables are read and written.")
]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on stdout, for programs.")]
Views = Annotated[list[str] | None, typer.Argument(help="Views; all of them if none is named.")]
DEFAULT = Path("warehouse")


@contextlib.contextmanager
def _reporting(screen: Screen) -> Iterator[None]:
    """Errors become a message and an exit code; anything unforeseen is a bug of ours and says so."""
    try:
        yield
    except RollviewError as error:
        screen.error(error)
        raise typer.Exit(exit_code(error)) from error
    except (typer.Exit, KeyboardInterrupt, BrokenPipeError):
        raise
    except Exception as error:
        if os.environ.get("ROLLVIEW_DEBUG"):
            raise
        bug = InternalError(
            f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}",
            todo="set ROLLVIEW_DEBUG=1 to see where, and report it with the statement that led here",
        )
        screen.error(bug)
        raise typer.Exit(exit_code(bug)) from error


def _open(screen: Screen, warehouse: Path, store: StoreName, *, must_exist: bool = True) -> Rollview:
    if must_exist and ":" not in str(warehouse).split("/")[0] and not warehouse.exists():  # connect tells of an address
        raise UserError(
            f"There is no folder {warehouse}",
            todo="name the warehouse with --warehouse, or make one: rollview sql -w FOLDER -e 'CREATE TABLE …'",
        )
    with screen.busy("opening the warehouse"):
        return connect(warehouse, store=store.value)


@app.command()
def sql(
    warehouse: Warehouse = DEFAULT,
    store: StoreOption = StoreName.embedded,
    execute: Annotated[list[str] | None, typer.Option("-e", "--execute", help="SQL to run; may be repeated.")] = None,
    file: Annotated[list[Path] | None, typer.Option("-f", "--file", help="A script to run; may be repeated.")] = None,
    arg: Annotated[
        list[str] | None,
        typer.Option("--arg", help="NAME=VALUE for :NAME in the SQL; VALUE is JSON or text. May be repeated."),
    ] = None,
    limit: Annotated[int, typer.Option(help="Rows shown of each result.")] = 100,
    as_json: Json = False,
) -> None:
    """Run SQL: given with -e, from files with -f, from a pipe, or typed at a prompt."""
    screen = Screen(as_json=as_json)
    with _reporting(screen):
        texts = list(execute or [])
        for path in file or []:
            try:
                texts.append(path.read_text(encoding="utf-8"))
            except OSError as error:
                raise UserError(f"{path} cannot be read", why=error.strerror or str(error)) from error
        prompt = not texts and sys.stdin.isatty()
        if not texts and not prompt:
            texts.append(sys.stdin.read())
        statements = [statement for text in texts for statement in split_script(text)]
        if arg and prompt:
            raise UserError("--arg is for statements given with -e, with -f or from a pipe")
        args = dict(map(_argument, arg or []))
        rv = _open(screen, warehouse, store, must_exist=False)
        if args:
            statements = rv.bound(statements, args)
        if prompt:
            _prompt(rv, screen, limit)
            return
        for statement in statements:
            with screen.busy(" ".join(statement.split())[:60]), spark_errors(statement):
                screen.result(rv.answer(statement), limit)


def _argument(text: str) -> tuple[str, Any]:
    """A parameter and its value: JSON if it can be read as such, else the text itself."""
    name, given, value = text.partition("=")
    if not given or not name.isidentifier():
        raise UserError(f"--arg {text} gives no value", todo="write --arg NAME=VALUE")
    try:
        return name, json.loads(value, parse_float=decimal.Decimal)
    except ValueError:
        return name, value


def _prompt(rv: Rollview, screen: Screen, limit: int) -> None:
    """Reads statements until the input ends; a statement ends with a semicolon."""
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401  line editing and history
    screen.out.print(f"rollview {__version__}: statements end with ; and Ctrl-D ends the session", style="dim")
    text = ""
    while True:
        try:
            text += input("rollview> " if not text else "      … ") + "\n"
        except (EOFError, KeyboardInterrupt):
            screen.out.print()
            return
        if not text.rstrip().endswith(";"):
            text = text if text.strip() else ""
            continue
        try:
            for statement in split_script(text):
                with screen.busy("running"), spark_errors(statement):
                    screen.result(rv.answer(statement), limit)
        except RollviewError as error:
            screen.error(error)
        text = ""


@app.command()
def refresh(
    views: Views = None,
    warehouse: Warehouse = DEFAULT,
    store: StoreOption = StoreName.embedded,
    full: Annotated[bool, typer.Option("--full", help="Recompute even if nothing has changed.")] = False,
    as_json: Json = False,
) -> None:
    """Bring views to the newest versions of their base tables; without names, all of them to one and the same."""
    screen = Screen(as_json=as_json)
    with _reporting(screen):
        rv = _open(screen, warehouse, store)
        with screen.busy(f"refreshing {', '.join(views) if views else 'all views'}"):
            if views and len(views) == 1:
                result = rv.refresh(views[0], full=full)
                outcomes = [Outcome(result.view, result)]
            else:
                outcomes = rv.refresh_all(views or None, full=full)
        _show_outcomes(screen, outcomes)
        if not all(outcomes):
            raise typer.Exit(MISTAKE)


def _outcome_document(outcome: Outcome) -> dict[str, Any]:
    """An outcome as JSON: the fields of the result, the error, or because of what."""
    told: dict[str, Any] = {"view": outcome.view, "outcome": outcome.outcome}
    if outcome.result is not None:
        told |= dataclasses.asdict(outcome.result)
    if outcome.error is not None:
        told |= error_document(outcome.error)
    if outcome.because is not None:
        told |= {"because": outcome.because}
    return told | {"explanation": outcome.explanation}


def _show_outcomes(screen: Screen, outcomes: list[Outcome]) -> None:
    if screen.as_json:
        screen.emit([_outcome_document(outcome) for outcome in outcomes])
        return
    rows = []
    for outcome in outcomes:
        done = outcome.result
        figures: list[Any] = [""] * 5
        if done is not None:
            figures = [done.strategy, done.rows_changed, done.rows_read, done.rows_written, done.seconds]
        rows.append([outcome.view, outcome.outcome, *figures, outcome.explanation])
    screen.table(["view", "outcome", "strategy", "changed", "read", "written", "seconds", "why"], rows)
    for outcome in outcomes:
        if outcome.error is not None:
            screen.error(outcome.error, outcome.view)


@app.command()
def status(warehouse: Warehouse = DEFAULT, store: StoreOption = StoreName.embedded, as_json: Json = False) -> None:
    """Show the views and how fresh they are."""
    screen = Screen(as_json=as_json)
    with _reporting(screen):
        views = _open(screen, warehouse, store).views()
        if as_json:
            screen.emit([dataclasses.asdict(view) | {"fresh": view.fresh} for view in views])
            return
        screen.table(
            ["view", "policy", "state", "reflects", "last refresh (UTC)", "strategy"],
            [[v.name, v.policy, _freshness(v), v.vector, _moment(v), v.last_strategy] for v in views],
        )


def _moment(view: ViewStatus) -> str | None:
    return None if view.last_refresh is None else f"{view.last_refresh:%Y-%m-%d %H:%M:%S}"


def _freshness(view: ViewStatus) -> str:
    if view.damage is not None:
        return f"damaged: {view.damage}"
    if view.fresh:
        return "fresh"
    if view.unversioned and not view.behind:
        return f"unknown: {', '.join(view.unversioned)} cannot tell what changed"
    lost = dict.fromkeys(view.went_back, "back at an earlier version")
    parts = [
        f"{table} {lost.get(table, 'gone or recreated')}" if n is None else f"{table} +{n}"
        for table, n in view.behind.items()
    ]
    return "stale: " + "; ".join(
        [*([", ".join(parts)] if parts else []), *([are_behind(view.stale, view.stuck)] if view.stale else [])]
    )


@app.command()
def explain(
    view: Annotated[str, typer.Argument(help="A view.")],
    warehouse: Warehouse = DEFAULT,
    store: StoreOption = StoreName.embedded,
    verbose: Annotated[bool, typer.Option("--verbose", help="Plans and SQL, too.")] = False,
    as_json: Json = False,
) -> None:
    """Show what a view is, what it reads, and what its next refresh would do."""
    screen = Screen(as_json=as_json)
    with _reporting(screen):
        found = _open(screen, warehouse, store).explanation(view)
        if as_json:
            screen.emit(found.to_json())
        else:
            screen.out.print(found.text(verbose=verbose), markup=False, highlight=False)


@app.command()
def verify(
    views: Views = None, warehouse: Warehouse = DEFAULT, store: StoreOption = StoreName.embedded, as_json: Json = False
) -> None:
    """Compare views with their queries run from scratch; exit code 3 if one differs, 1 if one cannot be compared."""
    screen = Screen(as_json=as_json)
    with _reporting(screen):
        rv = _open(screen, warehouse, store)
        found = []
        for name in rv.existing(views) if views else rv.catalog.names():
            with screen.busy(f"verifying {name}"):
                found += [rv.verify(name)] if views and len(views) == 1 else rv.verify_all([name])
        _show_verified(screen, found)
        if any(result.error is None and not result.ok for result in found):
            raise typer.Exit(DIFFERENT)
        if not all(found):
            raise typer.Exit(MISTAKE)


def _verified_document(result: Verification) -> dict[str, Any]:
    """A verification as JSON: what differs, or the error."""
    if result.error is not None:
        return {"view": result.view, "ok": False, **error_document(result.error)}
    told = dataclasses.asdict(result) | {"ok": result.ok}
    del told["error"]
    return told


def _show_verified(screen: Screen, found: list[Verification]) -> None:
    if screen.as_json:
        screen.emit([_verified_document(result) for result in found])
        return
    screen.table(
        ["view", "verdict", "missing", "extra"],
        [[r.view, _verdict(r), *([r.missing, r.extra] if r.error is None else ["", ""])] for r in found],
    )
    for result in found:
        for choice in result.choices:
            screen.out.print(f"{result.view} leaves open {choice}", markup=False, highlight=False)
        if result.inexact:
            screen.out.print(_by_chance(result), markup=False, highlight=False)
        for kind, rows in (("missing", result.missing_sample), ("extra", result.extra_sample)):
            if rows:
                screen.table(list(rows[0]), [list(row.values()) for row in rows], f"{kind} in {result.view}")
        if result.error is not None:
            screen.error(result.error, result.view)


def _verdict(result: Verification) -> str:
    if result.error is not None:
        return FAILED
    if not result.ok:
        return "DIFFERENT"
    return "equal, ties decided by the key" if result.choices else "equal"


def _by_chance(result: Verification) -> str:
    columns = ", ".join(result.inexact)
    why = "computed from floating-point aggregates, whose last digits depend on the order of rows"
    return f"{result.view} differs only in {columns}, {why}: this may be chance"


@app.command()
def watch(
    views: Views = None,
    warehouse: Warehouse = DEFAULT,
    store: StoreOption = StoreName.embedded,
    every: Annotated[float, typer.Option(help="Seconds between two looks.")] = 1.0,
    rounds: Annotated[int, typer.Option(help="Stop after this many looks; 0 means never.")] = 0,
    as_json: Json = False,
) -> None:
    """Refresh views whenever their base tables change, until Ctrl-C. What fails is tried again, later and later."""
    screen = Screen(as_json=as_json)
    told = 0

    def changed(outcome: Outcome) -> None:
        nonlocal told
        told += 1
        if screen.as_json:
            screen.emit(_outcome_document(outcome))
        else:
            screen.out.print(
                f"{time.strftime('%H:%M:%S')}  {outcome.view}  {outcome.strategy}  {outcome.rows_written} rows  "
                f"{outcome.seconds:.2f} s",
                highlight=False,
            )

    def failed(view: str | None, error: RollviewError, again: float) -> None:
        nonlocal told
        told += 1
        if screen.as_json:
            screen.emit({"view": view, "outcome": FAILED, **error_document(error), "again_in": round(again, 3)})
        else:
            screen.error(error, view)
            screen.err.print(f"tried again in {again:g} s", highlight=False)

    with _reporting(screen):
        rv = _open(screen, warehouse, store)
        watching = Watch(rv, rv.existing(views) if views else None, every, changed, failed)
        with contextlib.suppress(KeyboardInterrupt):
            watching.run(rounds)
        if screen.as_json and not told:
            screen.emit({"outcome": NO_OP, "looks": watching.looks})


@app.command()
def demo(
    rows: Annotated[int, typer.Option(help="Rows of the shop, all tables together.")] = 5_000_000,
    warehouse: Annotated[Path | None, typer.Option("--warehouse", "-w", help="Keep the shop in this folder.")] = None,
    store: StoreOption = StoreName.embedded,
    as_json: Json = False,
) -> None:
    """Build a shop, three views over it, change 0.1 % of the rows, and show what a refresh costs."""
    from rollview.cli.demo import run_demo

    screen = Screen(as_json=as_json)
    with _reporting(screen):
        run_demo(screen, rows, warehouse, store.value)


@app.command()
def bench(
    suite: Annotated[str, typer.Argument(help="The measurement; docs/benchmarks.md lists them.")] = "no-op",
    scale: Annotated[float, typer.Option(help="The scale of the data, for measurements that have one.")] = 1.0,
    spread: Annotated[bool, typer.Option(help="tpch: orders of the whole table change, not of a range.")] = False,
    as_json: Json = False,
) -> None:
    """Measure rollview; what is measured, and with which figures, stands in docs/benchmarks.md."""
    from rollview.bench import SCALED, SUITES

    screen = Screen(as_json=as_json)
    with _reporting(screen):
        if suite not in SUITES:
            raise UserError(f"There is no measurement named {suite}", todo=f"there are {', '.join(SUITES)}")
        with screen.busy(f"measuring {suite}"):
            if suite == "tpch":
                report = SUITES[suite](scale, spread)
            else:
                report = SUITES[suite](scale) if suite in SCALED else SUITES[suite]()
        if as_json:
            screen.emit(report.to_dict())
        else:
            screen.table(report.columns, report.rows, report.title)


def main(arguments: list[str] | None = None) -> Any:
    """The entry point of the command."""
    return app(arguments)


if __name__ == "__main__":
    main()
