"""Options that are one of several words."""

from __future__ import annotations

from enum import Enum
from typing import TypeVar

from rollview.errors import UserError, nearest

Choice = TypeVar("Choice", bound=Enum)


def chosen(kind: type[Choice], value: object, name: str) -> Choice:
    """The choice that a word stands for. Raises UserError."""
    words = [each.value for each in kind]
    try:
        return kind(value)
    except ValueError:
        todo = nearest(str(value), words) or f"use {', '.join(map(repr, words))}"
        raise UserError(f"There is no {name} named {value!r}", todo=todo) from None
