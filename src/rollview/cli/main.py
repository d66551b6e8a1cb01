"""The commands."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import sys
import time
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from rollview import __version__
from rollview.cli.render import DIFFERENT, Screen, exit_code
from rollview.engine.spark import spark_errors
from rollview.errors import InternalError, RollviewError, UserError
from rollview.parse.names import parse_name
from rollview.parse.tokens import split_script
from rollview.refresh.results import RefreshResult, Verification, ViewStatus
from rollview.session import Rollview, connect

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
    if must_exist and not warehouse.exists():
        raise UserError(
            f"There is no folder {warehouse}",
            todo="name the warehouse with --warehouse, or make one: rollview sql -w FOLDER -e 'CREATE TABLE …'",
        )
    with screen.busy("starting Spark"):
        return connect(warehouse, store=store.value)


def _names(rv: Rollview, views: list[str] | None) -> list[str]:
    return views or [view.name for view in rv.views()]


@app.command()
def sql(
    warehouse: Warehouse = DEFAULT,
    store: StoreOption = StoreName.embedded,
    execute: Annotated[list[str] | None, typer.Option("-e", "--execute", help="SQL to run; may be repeated.")] = None,
    file: Annotated[list[Path] | None, typer.Option("-f", "--file", help="A script to run; may be repeated.")] = None,
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
        rv = _open(screen, warehouse, store, must_exist=False)
        if prompt:
            _prompt(rv, screen, limit)
            return
        for statement in statements:
            with screen.busy(" ".join(statement.split())[:60]), spark_errors(statement):
                screen.frame(rv.sql(statement), limit)


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
                    screen.frame(rv.sql(statement), limit)
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
        if not views:
            with screen.busy("refreshing all views"):
                return _show_results(screen, rv.refresh_all(full=full))
        results: list[RefreshResult] = []
        for name in _in_order(rv, _names(rv, views)):
            with screen.busy(f"refreshing {name}"):
                results.append(rv.refresh(name, full=full))
        return _show_results(screen, results)


def _in_order(rv: Rollview, names: list[str]) -> list[str]:
    """Views after the views that they read."""
    names = [rv.store.canonical(parse_name(name)) for name in names]
    ordered: list[str] = []

    def visit(name: str) -> None:
        if rv.catalog.has(name) and name not in ordered:
            for table in rv.catalog.get(name).tables:
                visit(table)
            ordered.append(name)

    for name in names:
        visit(name) if rv.catalog.has(name) else ordered.append(name)
    return [name for name in ordered if name in names]


def _show_results(screen: Screen, results: list[RefreshResult]) -> None:
    if screen.as_json:
        screen.emit([dataclasses.asdict(r) | {"explanation": r.explanation} for r in results])
        return
    screen.table(
        ["view", "strategy", "rows read", "rows written", "seconds", "why"],
        [[r.view, r.strategy, r.rows_read, r.rows_written, round(r.seconds, 3), r.explanation] for r in results],
    )


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
            [
                [v.name, v.policy, _freshness(v), v.vector, f"{v.last_refresh:%Y-%m-%d %H:%M:%S}", v.last_strategy]
                for v in views
            ],
        )


def _freshness(view: ViewStatus) -> str:
    if view.fresh:
        return "fresh"
    parts = [f"{table} gone or made anew" if n is None else f"{table} +{n}" for table, n in view.behind.items()]
    return "stale: " + ", ".join(parts)


@app.command()
def explain(
    view: Annotated[str, typer.Argument(help="A view.")],
    warehouse: Warehouse = DEFAULT,
    store: StoreOption = StoreName.embedded,
    as_json: Json = False,
) -> None:
    """Show what a view is, what it reads, and what its next refresh would do."""
    screen = Screen(as_json=as_json)
    with _reporting(screen):
        text = _open(screen, warehouse, store).explain(view)
        if as_json:
            screen.emit({"view": view, "plan": text})
        else:
            screen.out.print(text, markup=False, highlight=False)


@app.command()
def verify(
    views: Views = None, warehouse: Warehouse = DEFAULT, store: StoreOption = StoreName.embedded, as_json: Json = False
) -> None:
    """Compare views with their queries run from scratch; exit code 3 if one differs."""
    screen = Screen(as_json=as_json)
    with _reporting(screen):
        rv = _open(screen, warehouse, store)
        found = []
        for name in _names(rv, views):
            with screen.busy(f"verifying {name}"):
                found.append(rv.verify(name))
        if as_json:
            screen.emit([dataclasses.asdict(result) | {"ok": result.ok} for result in found])
        else:
            screen.table(
                ["view", "verdict", "missing", "extra"],
                [[r.view, _verdict(r), r.missing, r.extra] for r in found],
            )
            for result in found:
                for choice in result.choices:
                    screen.out.print(f"{result.view} leaves open {choice}", markup=False, highlight=False)
                for kind, rows in (("missing", result.missing_sample), ("extra", result.extra_sample)):
                    if rows:
                        screen.table(list(rows[0]), [list(row.values()) for row in rows], f"{kind} in {result.view}")
        if not all(result.ok for result in found):
            raise typer.Exit(DIFFERENT)


def _verdict(result: Verification) -> str:
    if not result.ok:
        return "DIFFERENT"
    return "equal, ties decided by the key" if result.choices else "equal"


@app.command()
def watch(
    views: Views = None,
    warehouse: Warehouse = DEFAULT,
    store: StoreOption = StoreName.embedded,
    every: Annotated[float, typer.Option(help="Seconds between two looks.")] = 1.0,
    rounds: Annotated[int, typer.Option(help="Stop after so many looks; 0 means never.")] = 0,
    as_json: Json = False,
) -> None:
    """Refresh views whenever their base tables change, until Ctrl-C."""
    screen = Screen(as_json=as_json)
    with _reporting(screen), contextlib.suppress(KeyboardInterrupt):
        rv = _open(screen, warehouse, store)
        looks = 0
        while True:
            for name in _in_order(rv, _names(rv, views)):
                result = rv.refresh(name)
                if result.strategy != "no_op":
                    _announce(screen, result)
            looks += 1
            if looks == rounds:
                return
            time.sleep(every)


def _announce(screen: Screen, result: RefreshResult) -> None:
    if screen.as_json:
        screen.emit(dataclasses.asdict(result))
    else:
        screen.out.print(
            f"{time.strftime('%H:%M:%S')}  {result.view}  {result.strategy}  {result.rows_written} rows  "
            f"{result.seconds:.2f} s",
            highlight=False,
        )


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
