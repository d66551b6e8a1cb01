"""Options: one of several words, numbers, functions."""

from __future__ import annotations

import math
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


def at_least_one(value: object, name: str, otherwise: int) -> int:
    """A whole number from 1 on; None stands for another one. Raises UserError."""
    if value is None:
        return otherwise
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise UserError(f"{name} is {value!r}", why="it is a whole number from 1 on")
    return value


def seconds(value: object, name: str) -> float:
    """A number of seconds. Raises UserError."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise UserError(f"{name} is {value!r}", why="it is a number of seconds, not below 0")
    return float(value)


def check_function(value: object, name: str) -> None:
    """Raises UserError if a value is no function."""
    if not callable(value):
        raise UserError(f"{name} is {value!r}", why="it is a function, which is called")
