"""The DuckDB that computes values: one in a process, in memory, with nothing in it but the functions that it calls
back."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Iterator
from typing import Any

import duckdb
import pyarrow as pa

from rollview.engine.expressions.terms import Function


class DuckValues:
    """A connection that is made when it is first used; one thread at a time has it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: duckdb.DuckDBPyConnection | None = None
        self._known: set[str] = set()

    @contextlib.contextmanager
    def over(self, given: pa.Table, functions: Iterable[Function]) -> Iterator[duckdb.DuckDBPyConnection]:
        """The connection, with a table named ``given`` and these functions."""
        with self._lock:
            connection = self._connection()
            for function in functions:
                self._add(connection, function)
            connection.register("given", given)
            try:
                yield connection
            finally:
                connection.unregister("given")

    def _connection(self) -> duckdb.DuckDBPyConnection:
        if self._made is None:
            self._made = duckdb.connect()
            # rows in the order of the table; the optimizer that is off loses rows in DuckDB 2.0
            for setting in ("threads = 1", "TimeZone = 'UTC'", "disabled_optimizers = 'statistics_propagation'"):
                self._made.execute(f"SET {setting}")
        return self._made

    def _add(self, connection: Any, function: Function) -> None:
        if function.name not in self._known:
            takes = [kind.duck for kind in function.takes]
            kind: Any = "arrow"
            connection.create_function(function.name, function.apply, takes, function.gives.duck, type=kind)
            self._known.add(function.name)


DUCK = DuckValues()
