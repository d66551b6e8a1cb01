"""The examples of the page on live views run in their order, and print what the page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "live.md").read_text(encoding="utf-8")


def test_the_examples_print_what_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    found = re.findall(r"```(python|text)\n(.*?)```", PAGE, flags=re.DOTALL)
    assert [language for language, _ in found].count("text") >= 5
    names: dict[str, object] = {}
    for at, (language, text) in enumerate(found):
        if language == "python":
            exec(text, names)
            printed = capsys.readouterr().out
            if at + 1 < len(found) and found[at + 1][0] == "text":
                assert printed == found[at + 1][1]


def test_every_method_and_option_is_on_the_page() -> None:
    from inspect import signature

    from rollview.live.live import Live

    for name in vars(Live):
        if not name.startswith("_"):
            assert f"live.{name}" in PAGE, name
    for method in (Live.changes, Live.subscribe):
        for option in signature(method).parameters:
            assert option == "self" or option in PAGE, option
