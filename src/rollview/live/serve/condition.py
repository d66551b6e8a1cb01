"""A part of a live view: the rows that satisfy a condition, and where these are found without looking at others.

What a condition says of columns by ``=`` is compared as words. So subscriptions are found by the values of a changed
row, and rows in the graph or in a group by their keys. What else it says is computed of the rows that are left.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from rollview.engine.expressions import Settings, evaluator
from rollview.errors import ColumnNotFound, RollviewError, UserError, nearest
from rollview.frontend.query import Query
from rollview.frontend.sql import BaseTable
from rollview.live.compile.draft import drafted
from rollview.live.core import Core, Start
from rollview.live.ingest import normalised_keys
from rollview.live.interning import Interner, Words
from rollview.live.paths import Columns, Filtered
from rollview.live.shape import Shape, Vertex
from rollview.live.words import Flags, Kind, Layout
from rollview.parse.names import quote
from rollview.plan.expressions import Expr, conjuncts, show
from rollview.plan.nodes import Scan

#: What a caller may say: SQL over the view's columns, or values of columns; None stands for NULL.
Where = str | Mapping[str, Any] | None


@dataclass(frozen=True)
class Condition:
    """``values`` are arrays of one value, by the places of their columns; ``rest`` are further conditions, over columns
    named by their places, and ``text`` is their text."""

    values: Mapping[int, pa.Array] = field(default_factory=dict)
    rest: tuple[Expr, ...] = ()
    text: str = ""

    @property
    def columns(self) -> tuple[int, ...]:
        """The columns that are compared by ``=``."""
        return tuple(sorted(self.values))

    @property
    def whole(self) -> bool:
        """Whether all rows satisfy it."""
        return not self.values and not self.rest


WHOLE = Condition()


def condition(shape: Shape, settings: Settings, where: Where, title: str) -> Condition:
    """What a caller says, checked. Raises ColumnNotFound, UserError, or Refused for an expression."""
    if where is None:
        return WHOLE
    if isinstance(where, str):
        return _of_text(shape, settings, where, title)
    if not isinstance(where, Mapping):
        raise UserError(f"where is SQL or a dict of values, not {type(where).__name__}", todo="where=\"city = 'Oslo'\"")
    labels = {label.casefold(): place for place, label in enumerate(shape.output.labels)}
    values = {}
    for name, value in where.items():
        place = labels.get(str(name).casefold())
        if place is None:
            raise ColumnNotFound(f"{title} has no column named {name}", todo=nearest(str(name), shape.output.labels))
        values[place] = _array(value, shape.output.kinds[place], str(name))
    return Condition(values)


def _array(value: Any, kind: Kind, name: str) -> pa.Array:
    try:
        made = pa.array([value], type=kind.arrow)
        # Arrow cuts 1.5 to an integer and a time to a date, and takes a time without a zone for one in UTC
        if not (kind.floating or kind.nested) and made[0].as_py() != value:
            raise ValueError(value)
        return made
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        zoned = kind.name == "timestamp" and isinstance(value, datetime)
        raise UserError(
            f"{value!r} is no value of the column {name}",
            why=f"its type is {kind.name.upper()}",
            todo="give the time with its zone: datetime(…, tzinfo=…)" if zoned else "",
        ) from error


def _of_text(shape: Shape, settings: Settings, where: str, title: str) -> Condition:
    output = shape.output
    columns = tuple((label, kind.name) for label, kind in zip(output.labels, output.kinds, strict=True))
    text = f"SELECT {', '.join(quote(label) for label in output.labels)} FROM t WHERE {where}"
    try:
        draft = drafted(Query(text).plan(lambda name: BaseTable("t", columns) if name == ("t",) else None).plan)
        (part,) = draft.parts
        scan: Scan = part.scan
    except (ValueError, RollviewError) as error:
        told = error if isinstance(error, UserError) else None
        raise UserError(
            f"This is no condition over the columns of {title}",
            where=told.where if told else None,
            why=told.what if told else "it is more than a condition of one row",
            todo=f'the columns are {", ".join(output.labels)}: where="{output.labels[0]} IS NOT NULL"',
        ) from error
    names = {column.name: output.labels.index(source) for column, source in zip(scan.output, scan.sources, strict=True)}
    values: dict[int, pa.Array] = {}
    rest: list[Expr] = []
    for each in (part for filter_ in part.filters for part in conjuncts(filter_)):
        found = _equality(each, names, output.kinds, settings)
        if found is not None and found[0] not in values:
            values[found[0]] = found[1]
        else:
            rest.append(_by_place(each, names))
    made = evaluator([(f"x{i}", each) for i, each in enumerate(rest)], _types(output.kinds), settings)
    for i in range(len(rest)):
        if (kind := made.types[f"x{i}"]) != "boolean":
            raise UserError(f"This is no condition: {where}", why=f"it has values of type {kind.upper()}")
    return Condition(values, tuple(rest), " AND ".join(map(show, rest)))


def _types(kinds: Sequence[Kind]) -> dict[str, str]:
    return {f"c{place}": kind.name for place, kind in enumerate(kinds)}


def _by_place(value: Expr, names: Mapping[str, int]) -> Expr:
    return value.copy().transform(
        lambda node: exp.column(f"c{names[node.name]}") if isinstance(node, exp.Column) else node
    )


def _equality(
    value: Expr, names: Mapping[str, int], kinds: Sequence[Kind], settings: Settings
) -> tuple[int, pa.Array] | None:
    """The column and the value of ``column = value``, if the two are compared in the type of the column."""
    value = value.unnest()
    if not isinstance(value, exp.EQ):
        return None
    for column, other in ((value.this, value.expression), (value.expression, value.this)):
        if isinstance(column, exp.Column) and column.name in names and not other.find(exp.Column):
            made = evaluator([("x", other)], {}, settings)
            kind = kinds[names[column.name]]
            same = made.types["x"] == kind.name or (kind.integer and pa.types.is_integer(made.schema.field(0).type))
            if not same or kind.nested or made.can_fail:
                return None
            found = made(pa.table({"one": [1]})).column(0).combine_chunks()
            try:
                return (names[column.name], found.cast(kind.arrow)) if not found.null_count else None
            except pa.ArrowInvalid:  # the value does not fit the column, so no row has it
                return None
    return None


class Selection:
    """A condition as it is evaluated over the rows of one core. ``value`` are the words of its values: see
    ``Layout.identities``."""

    def __init__(self, core: Core, condition: Condition, settings: Settings) -> None:
        self.condition, self._layout = condition, core.layout
        self.value = _identity(core.layout, condition, core.interner)
        self._filtered: Filtered | None = None
        if condition.rest:
            names = [f"c{place}" for place in range(len(core.layout.kinds))]
            self._filtered = Filtered(condition.rest, Columns([(names, core.layout)], core.interner), settings)

    def kept(self, rows: Words) -> Flags | None:
        """Which rows satisfy the condition; None if all do."""
        found: Flags | None = None
        if self.value is not None:
            same = identities(self._layout, rows, self.condition.columns) == np.array([self.value], dtype=np.int64)
            found = same.all(axis=1)
        if self._filtered is None:
            return found
        kept = self.rest(rows if found is None else rows[found])
        if found is None or kept is None:
            return kept if found is None else found
        found[found] = kept
        return found

    def rest(self, rows: Words) -> Flags | None:
        """The same for what is not compared by ``=``."""
        return None if self._filtered is None else self._filtered.kept(rows)


def identities(layout: Layout, rows: Words, columns: Sequence[int]) -> Words:
    """The values of some columns, equal for values that ``=`` finds equal."""
    found = rows
    if any(layout.kinds[column].floating for column in columns):
        found = normalised_keys(rows.copy(), layout)
    return layout.identities(found, columns)


def _identity(layout: Layout, condition: Condition, interner: Interner) -> tuple[int, ...] | None:
    if not condition.values:
        return None
    one = np.zeros((1, layout.width), dtype=np.int64)
    for place, value in condition.values.items():
        layout.put(one, place, value, interner)
    (row,) = identities(layout, one, condition.columns).tolist()
    return tuple(row)


#: Where no rows are: NULL joins with nothing.
NOWHERE = Start(vertex=-1)


def start_of(core: Core, condition: Condition) -> Start | None:
    """Where the rows are found without looking at all others; None if there is no such place."""
    shape, grouping = core.shape, core.shape.grouping
    by_name = {
        value.name: condition.values[place]
        for place, value in enumerate(shape.output.values)
        if place in condition.values and isinstance(value, exp.Column)
    }
    group = None
    if grouping is not None:
        names = [name for name, _, _ in grouping.keys]
        if names and set(names) <= by_name.keys():
            words = grouping.layout.encode([by_name[name] for name in names], 1, core.interner)
            group = tuple(normalised_keys(words, grouping.layout)[0].tolist())
        by_name = {column: by_name[name] for name, column, _ in grouping.keys if name in by_name}
    if core.push and group is not None:
        return Start(group=group)
    for vertex in shape.vertices:
        for part in (shape.parts[number] for number in vertex.parts):
            columns = part.keys[part.vertices.index(vertex.number)]
            if set(columns) <= by_name.keys():
                key = _vertex_key(core, vertex, [by_name[name] for name in columns])
                return NOWHERE if key is None else Start(vertex.number, key, group)
    return None if group is None else Start(group=group)


def _vertex_key(core: Core, vertex: Vertex, values: Sequence[pa.Array]) -> tuple[int, ...] | None:
    """The key of some values; None if no row with them joins."""
    if any(value.null_count and not safe for value, safe in zip(values, vertex.null_safe, strict=True)):
        return None
    layout = vertex.layout
    made = [value.cast(kind.arrow) for value, kind in zip(values, layout.kinds, strict=True)]
    return tuple(normalised_keys(layout.encode(made, 1, core.interner), layout)[0].tolist())
