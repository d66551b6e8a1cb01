"""The stored rows as a write leaves them, as a plan: nothing is written.

    after  =  the stored rows that no given row matches  ∪  made

| write | made |
|---|---|
| ``AppendRows`` | the given rows |
| ``UpsertRows`` | for each given row: it, or its new values over the stored row that it matches; none if that is gone |
| ``CountRows`` | the given rows and those that they match, with the sums of their numbers |

The meaning is that of the edits in ``store/edits``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from rollview.plan.expressions import Expr, conjunction, connected, ref, transform
from rollview.plan.nodes import (
    ANTI,
    LEFT,
    SEMI,
    Aggregate,
    Column,
    Computed,
    Filter,
    Join,
    JoinKind,
    Node,
    Project,
    exactly,
    union_of,
)
from rollview.plan.reserved import DELETED
from rollview.state.writes import AppendRows, CountRows, UpsertRows, Write

#: Whether a made row is not stored.
GONE = Column("__gone", "__gone", exp.DataType.build("boolean"))


def after(stored: Node, write: Write) -> Node:
    """All rows after a write, in the columns of the stored ones. The labels of both are stored names."""
    return union_of([left(stored, write), made(stored, write)], stored.columns)


def left(stored: Node, write: Write) -> Node:
    """The stored rows that no given row matches."""
    return stored if isinstance(write, AppendRows) else _matching(ANTI, stored, write)


def with_match(stored: Node, write: Write) -> Node:
    """The stored rows that a given row matches."""
    return _matching(SEMI, stored, write)


def made(stored: Node, write: Write) -> Node:
    """The rows that a write inserts, and those that it puts in the place of the rows it matches."""
    if isinstance(write, CountRows):
        return _counted(stored, write)
    kept = Filter(matched(stored, write), exp.Not(this=ref(GONE.name)))
    return exactly(kept, stored.columns)


def matched(stored: Node, write: Write) -> Node:
    """For each given row what becomes of it: the stored columns, whether it is ``GONE``, and those columns of the given
    rows that are not stored."""
    given = _given(write)
    names = {column.label: column.name for column in given.columns}
    own = {column.label: column.name for column in stored.columns}
    values: Mapping[str, Expr] = write.set if isinstance(write, UpsertRows) else {}
    tests: list[Expr] = [ref(names[DELETED.label])] if DELETED.label in names else []
    rows: Node = given
    if isinstance(write, UpsertRows) and (write.set or write.gone is not None):
        rows = Join(LEFT, given, with_match(stored, write), _same(stored, given, write.on))
        tests += [] if write.gone is None else [_over(write.gone, own, names)]
    gone: Expr = exp.Coalesce(this=connected(exp.Or, tests), expressions=[exp.false()]) if tests else exp.false()
    output = []
    for column in stored.columns:
        value = values.get(column.label)
        output.append(Computed(column, ref(names[column.label]) if value is None else _over(value, own, names)))
    more = [c for c in write.rows.columns if c.label not in own and c.name != DELETED.name]
    passed = [Computed(column, ref(names[column.label])) for column in more]
    return Project(rows, (*output, Computed(GONE, gone), *passed))


def _counted(stored: Node, write: CountRows) -> Node:
    given = exactly(_renamed(write.rows, stored.columns), stored.columns)
    count = next(column for column in stored.columns if column.label == write.count)
    both = union_of([with_match(stored, write), given], stored.columns)
    keys = tuple(Computed(column, ref(column.name)) for column in stored.columns if column is not count)
    total = exp.Cast(this=exp.Sum(this=ref(count.name)), to=count.type.copy())
    some = exp.GT(this=ref(count.name), expression=exp.Literal.number(0))
    return exactly(Filter(Aggregate(both, keys, (Computed(count, total),)), some), stored.columns)


def _matching(kind: JoinKind, stored: Node, write: Write) -> Node:
    assert isinstance(write, UpsertRows | CountRows)
    given = _given(write)
    wanted = [column for column in given.columns if column.label in write.on]
    return Join(kind, stored, exactly(given, wanted), _same(stored, given, write.on))


def _same(stored: Node, given: Node, on: Sequence[str]) -> Expr | None:
    names = {column.label: column.name for column in given.columns}
    own = {column.label: column.name for column in stored.columns}
    return conjunction([exp.NullSafeEQ(this=ref(own[label]), expression=ref(names[label])) for label in on])


def _given(write: Write) -> Node:
    """The given rows under names of their own: stored columns have the names that they had."""
    named = [(Column(f"__s_{column.name}", column.label, column.type), column) for column in write.rows.columns]
    return Project(write.rows, tuple(Computed(new, ref(old.name)) for new, old in named))


def _renamed(rows: Node, columns: Sequence[Column]) -> Node:
    """Rows under the names of the columns that have their labels."""
    names = {column.label: column.name for column in rows.columns}
    return Project(rows, tuple(Computed(column, ref(names[column.label])) for column in columns))


def _over(value: Expr, stored: Mapping[str, str], given: Mapping[str, str]) -> Expr:
    """An expression over ``t``, a stored row, and ``s``, a given one, over the columns of their join."""

    def named(part: Expr) -> Expr:
        if isinstance(part, exp.Column) and part.table in ("t", "s"):
            return ref((stored if part.table == "t" else given)[part.name])
        return part

    return transform(value, named)
