"""The commands."""

from __future__ import annotations

import contextlib
import decimal
import json
import os
import sys
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from rollview.cli.clock import as_of_option, show_commits, show_position
from rollview.cli.live import watch_live
from rollview.cli.outcomes import show_outcomes
from rollview.cli.prompt import run_prompt
from rollview.cli.render import DIFFERENT, MISTAKE, Screen, exit_code
from rollview.cli.status import show_status
from rollview.cli.verification import show_verified
from rollview.cli.watch import watch_views
from rollview.engine.spark_errors import spark_errors
from rollview.errors import InternalError, RollviewError, UserError
from rollview.parse.tokens import split_script
from rollview.session import Rollview, connect
from rollview.views.results import Outcome, RefreshResult

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
    """Turns errors into a message and an exit code; an exception that is not rollview's own is reported as a bug."""
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
    is_address = ":" in str(warehouse).split("/")[0]  # connect reports a bad one
    if must_exist and not is_address and not warehouse.exists():
        raise UserError(
            f"There is no folder {warehouse}",
            todo="name the warehouse with --warehouse, or create one: rollview sql -w FOLDER -e 'CREATE TABLE …'",
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
            raise UserError("--arg needs statements from -e, from -f or from a pipe")
        args = dict(map(_argument, arg or []))
        rv = _open(screen, warehouse, store, must_exist=False)
        if args:
            statements = rv.bound(statements, args)
        if prompt:
            run_prompt(rv, screen, limit)
            return
        for statement in statements:
            with screen.busy(" ".join(statement.split())[:60]), spark_errors(statement):
                screen.result(rv.answer(statement), limit)


def _argument(text: str) -> tuple[str, Any]:
    """A parameter and its value: JSON if it can be parsed, else the text itself."""
    name, given, value = text.partition("=")
    if not given or not name.isidentifier():
        raise UserError(f"--arg {text} has no value", todo="write --arg NAME=VALUE")
    try:
        return name, json.loads(value, parse_float=decimal.Decimal)
    except ValueError:
        return name, value


@app.command()
def refresh(
    views: Views = None,
    warehouse: Warehouse = DEFAULT,
    store: StoreOption = StoreName.embedded,
    full: Annotated[bool, typer.Option("--full", help="Recompute even if nothing has changed.")] = False,
    as_of: Annotated[
        str | None, typer.Option("--as-of", help="Go to a time or a position of the commit clock, forward or back.")
    ] = None,
    step_rows: Annotated[
        int | None, typer.Option("--step-rows", help="Go in several commits of about this many changed rows.")
    ] = None,
    step_seconds: Annotated[
        float | None, typer.Option("--step-seconds", help="Go in several commits that take about this long.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Refresh views to the newest versions of their base tables; without names, all views to the same versions."""
    screen = Screen(as_json=as_json)

    def stepped(result: RefreshResult) -> None:
        screen.err.print(f"{result.view}: a step of {result.rows_changed} changed rows", highlight=False)

    with _reporting(screen):
        rv = _open(screen, warehouse, store)
        moment = int(as_of) if as_of is not None and as_of.strip().isdigit() else as_of
        how: dict[str, Any] = {"full": full, "as_of": moment, "progress": stepped}
        how |= {"step_rows": step_rows, "step_seconds": step_seconds}
        with screen.busy(f"refreshing {', '.join(views) if views else 'all views'}"):
            if views and len(views) == 1:
                result = rv.refresh(views[0], **how)
                outcomes = [Outcome(result.view, result)]
            else:
                outcomes = rv.refresh_all(views or None, **how)
        show_outcomes(screen, outcomes)
        if not all(outcomes):
            raise typer.Exit(MISTAKE)


@app.command()
def status(warehouse: Warehouse = DEFAULT, store: StoreOption = StoreName.embedded, as_json: Json = False) -> None:
    """Show the views and how fresh they are."""
    screen = Screen(as_json=as_json)
    with _reporting(screen):
        show_status(screen, _open(screen, warehouse, store).views())


@app.command()
def explain(
    view: Annotated[str, typer.Argument(help="A view.")],
    warehouse: Warehouse = DEFAULT,
    store: StoreOption = StoreName.embedded,
    verbose: Annotated[bool, typer.Option("--verbose", help="Also show plans and SQL.")] = False,
    as_json: Json = False,
) -> None:
    """Show a view's definition, what it reads, and what its next refresh would do."""
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
        show_verified(screen, found)
        if any(result.error is None and not result.ok for result in found):
            raise typer.Exit(DIFFERENT)
        if not all(found):
            raise typer.Exit(MISTAKE)


@app.command()
def watch(
    views: Views = None,
    warehouse: Warehouse = DEFAULT,
    store: StoreOption = StoreName.embedded,
    every: Annotated[float, typer.Option(help="Seconds between two checks.")] = 1.0,
    rounds: Annotated[int, typer.Option(help="Stop after this many checks; 0 means never.")] = 0,
    live: Annotated[bool, typer.Option("--live", help="Keep one view in memory and print its diffs instead.")] = False,
    since: Annotated[str | None, typer.Option(help="--live: begin at a token that was printed.")] = None,
    snapshot: Annotated[bool, typer.Option("--snapshot", help="--live: begin with the rows that there are.")] = False,
    where: Annotated[str | None, typer.Option(help="--live: only rows that satisfy a condition.")] = None,
    as_json: Json = False,
) -> None:
    """Refresh views whenever their base tables change, until Ctrl-C. Failures are retried, with growing pauses."""
    screen = Screen(as_json=as_json)
    with _reporting(screen):
        if not live and (since is not None or snapshot or where is not None):
            raise UserError("--since, --snapshot and --where belong to --live", todo="rollview watch VIEW --live")
        rv = _open(screen, warehouse, store)
        if live:
            watch_live(screen, rv, views, every, rounds, since=since, snapshot=snapshot, where=where)
        else:
            watch_views(screen, rv, rv.existing(views) if views else None, every, rounds)


@app.command()
def commits(
    warehouse: Warehouse = DEFAULT,
    store: StoreOption = StoreName.embedded,
    after: Annotated[int | None, typer.Option(help="Only commits after this position.")] = None,
    upto: Annotated[int | None, typer.Option(help="Only commits up to this position.")] = None,
    as_json: Json = False,
) -> None:
    """List the commits of all tables in one order: position, time, the tables changed, their versions and rows."""
    screen = Screen(as_json=as_json)
    with _reporting(screen):
        rv = _open(screen, warehouse, store)
        with screen.busy("looking at the tables"):
            found = rv.commits(after, upto)
        show_commits(screen, found)


@app.command()
def position(
    warehouse: Warehouse = DEFAULT,
    store: StoreOption = StoreName.embedded,
    as_of: Annotated[str | None, typer.Option(help="A time, or versions of tables: orders=5,customers=2.")] = None,
    as_json: Json = False,
) -> None:
    """Show the newest position of the commit clock, or the one of a time or of versions of tables."""
    screen = Screen(as_json=as_json)
    with _reporting(screen):
        rv = _open(screen, warehouse, store)
        with screen.busy("looking at the tables"):
            found = rv.position(None if as_of is None else as_of_option(as_of))
        show_position(screen, rv, found)


@app.command()
def demo(
    rows: Annotated[int, typer.Option(help="Rows of all tables of the shop together.")] = 5_000_000,
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
    spread: Annotated[bool, typer.Option(help="tpch: change orders across the whole table, not in a range.")] = False,
    part: Annotated[str | None, typer.Option(help="rolling: only this part of it.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the charts into this file: svg, png or pdf.")] = None,
    as_json: Json = False,
) -> None:
    """Measure rollview; docs/benchmarks.md describes the measurements and their results."""
    from rollview.cli.bench import run_bench

    screen = Screen(as_json=as_json)
    with _reporting(screen):
        run_bench(screen, suite, scale, spread, part, plot)


def main(arguments: list[str] | None = None) -> Any:
    """The entry point of the command."""
    return app(arguments)


if __name__ == "__main__":
    main()
