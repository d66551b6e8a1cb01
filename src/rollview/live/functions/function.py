"""What an aggregate is to a live view: a state that values are added to and taken from, and a result."""

from __future__ import annotations

from typing import Any, Protocol

#: The words of a value, or of a result.
Value = tuple[int, ...]


class Function(Protocol):
    """An aggregate over values of one type. What is added and taken away again leaves no trace in a state.

    A further function is a class with these methods, entered in ``FUNCTIONS``."""

    def empty(self) -> Any:
        """The state of no values."""

    def add(self, state: Any, value: Value, weight: int) -> Any:
        """The state with so many more copies of a value, or fewer; it may be the same object."""

    def add_sum(self, state: Any, number: int, total: int) -> Any:
        """The state with the sum of so many more values."""

    def result(self, state: Any) -> Value | None:
        """The aggregate's value; None for NULL."""

    def interned(self, state: Any) -> list[int]:
        """The numbers of interned values that a state has."""
