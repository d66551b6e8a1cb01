"""The application that the commands are registered with, their common options, and how they open a warehouse."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from rollview.cli.render import Screen, exit_code
from rollview.errors import InternalError, RollviewError, UserError
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
def reporting(screen: Screen) -> Iterator[None]:
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


def opened(screen: Screen, warehouse: Path, store: StoreName, *, must_exist: bool = True) -> Rollview:
    is_address = ":" in str(warehouse).split("/")[0]  # connect reports a bad one
    if must_exist and not is_address and not warehouse.exists():
        raise UserError(
            f"There is no folder {warehouse}",
            todo="name the warehouse with --warehouse, or create one: rollview sql -w FOLDER -e 'CREATE TABLE …'",
        )
    with screen.busy("opening the warehouse"):
        return connect(warehouse, store=store.value)


@contextlib.contextmanager
def until_interrupted() -> Iterator[None]:
    """Ctrl-C ends the block. Py4J would log the call that it interrupts, with a traceback."""

    def wanted(record: logging.LogRecord) -> bool:
        return record.exc_info is None or not isinstance(record.exc_info[1], KeyboardInterrupt)

    root = logging.getLogger()
    root.addFilter(wanted)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            yield
    finally:
        root.removeFilter(wanted)
