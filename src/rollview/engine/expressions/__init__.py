"""Expressions that are evaluated in this process with Spark's values: the list, its checker, its evaluator.

expression → checker (with implicit casts, entry by entry) → term: DuckDB's SQL and Spark's type → evaluator

``tests/engine/test_expressions.py`` proves every entry: over the cross product of its operands' value tables, Spark
and DuckDB give the same values, types and errors. What is not on the list is refused by name before any row is seen.

| file | what it does |
|---|---|
| ``refused.py`` | the errors: an expression is not on the list, a value cannot be computed |
| ``types.py`` | the types of values, in Spark, Arrow and DuckDB |
| ``arrow.py`` | the operations that Arrow computes with the same values |
| ``terms.py`` | typed expressions, and what an entry of the list is |
| ``literals.py`` | literals, as Spark types them |
| ``coercion.py`` | implicit casts |
| ``zone.py`` | local times and moments |
| ``decimals.py`` | arithmetic of decimals of up to 38 digits |
| ``parsing.py`` | text read as integers, booleans and dates |
| ``letters.py`` | upper and lower case of all letters |
| ``casts.py`` | entries: CAST |
| ``arithmetic.py`` | entries: + - * / % DIV, signs, bits |
| ``logic.py`` | entries: comparisons, conditions, CASE, NULL |
| ``rounding.py`` | entries: round, floor, ceil, sqrt, NaN |
| ``strings.py`` | entries: strings |
| ``times.py`` | entries: dates and times |
| ``checker.py`` | the list; checks an expression |
| ``reading.py`` | arguments of syntax nodes |
| ``operators.py`` | how operators, literals and casts are read |
| ``functions.py`` | how functions are read |
| ``settings.py`` | the settings of a session that values depend on |
| ``duck_values.py`` | the DuckDB that computes values |
| ``evaluator.py`` | evaluates checked expressions over Arrow tables |
"""

from rollview.engine.expressions.evaluator import Evaluator, evaluator
from rollview.engine.expressions.refused import EvaluationFailed, Refused
from rollview.engine.expressions.settings import Settings
from rollview.engine.expressions.types import arrow_type

__all__ = ["EvaluationFailed", "Evaluator", "Refused", "Settings", "arrow_type", "evaluator"]
