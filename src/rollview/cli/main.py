"""The commands."""

from __future__ import annotations

import decimal
import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from rollview.cli import rolling  # noqa: F401  registers its commands
from rollview.cli.app import DEFAULT, Json, StoreName, StoreOption, Views, Warehouse, app, opened, reporting
from rollview.cli.clock import as_of_option, show_commits, show_position
from rollview.cli.outcomes import show_outcomes
from rollview.cli.prompt import run_prompt
from rollview.cli.render import DIFFERENT, MISTAKE, Screen
from rollview.cli.status import show_status
from rollview.cli.verification import show_verified
from rollview.engine.spark_errors import spark_errors
from rollview.errors import UserError
from rollview.parse.tokens import split_script
from rollview.views.results import Outcome, RefreshResult, counted

__all__ = ["app", "main"]


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
    with reporting(screen):
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
        rv = opened(screen, warehouse, store, must_exist=False)
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
        str | None,
        typer.Option(
            "--as-of", help="Go to a time, a position of the commit clock, or versions of tables, forward or back."
        ),
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
        screen.err.print(f"{result.view}: a step of {counted(result.rows_changed, 'changed row')}", highlight=False)

    with reporting(screen):
        rv = opened(screen, warehouse, store)
        moment = None if as_of is None else as_of_option(as_of)
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
    with reporting(screen):
        show_status(screen, opened(screen, warehouse, store).views())


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
    with reporting(screen):
        found = opened(screen, warehouse, store).explanation(view)
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
    with reporting(screen):
        rv = opened(screen, warehouse, store)
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
def commits(
    warehouse: Warehouse = DEFAULT,
    store: StoreOption = StoreName.embedded,
    after: Annotated[int | None, typer.Option(help="Only commits after this position.")] = None,
    upto: Annotated[int | None, typer.Option(help="Only commits up to this position.")] = None,
    as_json: Json = False,
) -> None:
    """List the commits of all tables in one order: position, time, the tables changed, their versions and rows."""
    screen = Screen(as_json=as_json)
    with reporting(screen):
        rv = opened(screen, warehouse, store)
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
    with reporting(screen):
        rv = opened(screen, warehouse, store)
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
    with reporting(screen):
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
    with reporting(screen):
        run_bench(screen, suite, scale, spread, part, plot)


def main(arguments: list[str] | None = None) -> Any:
    """The entry point of the command."""
    return app(arguments)


if __name__ == "__main__":
    main()
