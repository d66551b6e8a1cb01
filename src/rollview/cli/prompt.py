"""The prompt of ``rollview sql``."""

from __future__ import annotations

import contextlib

from rollview import __version__
from rollview.cli.render import Screen
from rollview.engine.spark_errors import spark_errors
from rollview.errors import RollviewError
from rollview.parse.tokens import split_script
from rollview.session import Rollview


def run_prompt(rv: Rollview, screen: Screen, limit: int) -> None:
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
