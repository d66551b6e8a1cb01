"""A stack for deeply nested SQL.

Parsing, planning and printing recurse into the nesting of a text. If Python's stack is too small, the work is repeated
in a thread with a larger stack; SQL that is too deep for that is refused. Python's recursion limit applies to the whole
process, so it is raised only while such a thread runs.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from rollview.errors import Place, Unsupported

P = ParamSpec("P")
T = TypeVar("T")

#: The depth of nested calls, and the memory for them.
_CALLS, _BYTES = 50_000, 512 * 1024 * 1024

_lock = threading.Lock()
_threads = 0
_limit_before = 0
_here = threading.local()


class TooDeep(Unsupported):
    """SQL that is nested too deeply."""

    def __init__(self, where: Place | None = None) -> None:
        super().__init__(
            "This SQL is nested too deeply",
            where=where,
            why="there are too many levels of parentheses, CASE expressions or subqueries",
            todo="move the inner parts into subqueries or views of their own, or write the nesting as a list: "
            "one CASE with many WHEN, one IN, one chain of AND or OR",
        )


def deep(function: Callable[P, T]) -> Callable[P, T]:
    """Runs the function again on a larger stack if the stack is too small for it. It must have no side effects."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        if getattr(_here, "large", False):
            return function(*args, **kwargs)
        try:
            return function(*args, **kwargs)
        except RecursionError:
            pass  # run outside the handler, whose traceback would keep the whole stack
        return _on_large_stack(lambda: function(*args, **kwargs))

    return run


def _on_large_stack(function: Callable[[], T]) -> T:
    found: list[T] = []
    failed: list[BaseException] = []

    def work() -> None:
        _here.large = True
        try:
            found.append(function())
        except RecursionError:
            failed.append(TooDeep())
        except BaseException as error:
            failed.append(error)

    _raise_limit()
    try:
        thread = _thread_of(work)
        thread.join()
    finally:
        _restore_limit()
    if failed:
        raise failed[0]
    return found[0]


def _thread_of(work: Callable[[], None]) -> threading.Thread:
    with _lock:
        before = threading.stack_size(_BYTES)
        try:
            thread = threading.Thread(target=work, name="rollview-deep")
            thread.start()
        finally:
            threading.stack_size(before)
    return thread


def _raise_limit() -> None:
    global _threads, _limit_before
    with _lock:
        if _threads == 0:
            _limit_before = sys.getrecursionlimit()
            sys.setrecursionlimit(max(_limit_before, _CALLS))
        _threads += 1


def _restore_limit() -> None:
    global _threads
    with _lock:
        _threads -= 1
        if _threads == 0:
            sys.setrecursionlimit(_limit_before)
