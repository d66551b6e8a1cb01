"""The two errors of evaluating expressions: one when an expression is checked, one when a value is computed."""

from __future__ import annotations

from rollview.errors import SqlError, Unsupported


class Refused(Unsupported):
    """The expression is not on the list of those that are evaluated in this process with Spark's values."""

    def __init__(self, subject: str, *, why: str = "", todo: str = "") -> None:
        super().__init__(
            f"{subject} cannot be evaluated outside of Spark",
            why=why or "it is not on the list of expressions that are proven to have Spark's values",
            todo=todo,
        )
        self.subject = subject


class EvaluationFailed(SqlError):
    """A value of an expression is an error under ANSI. ``condition`` is the error condition that Spark names."""

    def __init__(self, condition: str, why: str = "") -> None:
        super().__init__(f"A value cannot be computed: {condition}", why=why or _WHY.get(condition, ""))
        self.condition = condition


_WHY = {
    "ARITHMETIC_OVERFLOW": "the result of an operation does not fit its type",
    "BINARY_ARITHMETIC_OVERFLOW": "the result of an operation does not fit its type",
    "CAST_INVALID_INPUT": "a text is not a value of the type to which it is cast",
    "CAST_OVERFLOW": "a value does not fit the type to which it is cast",
    "DIVIDE_BY_ZERO": "a divisor is zero",
    "NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION": "a decimal needs more digits than its type has",
    "REMAINDER_BY_ZERO": "a divisor is zero",
}
