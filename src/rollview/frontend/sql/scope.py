"""The columns that names refer to at one place of a query."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from sqlglot import exp

from rollview.errors import ColumnNotFound, Place, SqlError, nearest
from rollview.plan.expressions import Expr, ref
from rollview.plan.nodes import Column


@dataclass(frozen=True)
class BaseTable:
    """What the compiler knows about a table. ``not_null`` are the columns that are never NULL; None stands for the key,
    as the key of a table is never NULL. The key of a view may be NULL."""

    name: str
    columns: tuple[tuple[str, str], ...]
    key: tuple[str, ...] = ()
    not_null: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Entry:
    """A column that a query can name: as ``alias.label``, and, unless ``hidden``, as ``label`` and by ``*``."""

    alias: str | None
    label: str
    column: Column
    hidden: bool = False


@dataclass
class Scope:
    """The columns that a query can name, and the scope of the outer query."""

    sql: str
    entries: list[Entry] = field(default_factory=list)
    parent: Scope | None = None

    def resolve(self, name: exp.Column) -> Expr:
        """The plan column, or field of one, that a name refers to; else an error underlines the name."""
        found = self._find(name)
        if found is None:
            raise ColumnNotFound(
                f"There is no column named {'.'.join(part.name for part in name.parts)}",
                where=place(self.sql, name),
                todo=nearest(name.name, self._labels()),
            )
        return found

    def knows(self, name: exp.Column) -> bool:
        return self._find(name) is not None

    def _labels(self) -> Iterable[str]:
        scope: Scope | None = self
        while scope is not None:
            yield from (entry.label for entry in scope.entries)
            scope = scope.parent

    def _find(self, name: exp.Column) -> Expr | None:
        parts = [part.name for part in name.parts]
        for start in (*range(1, len(parts)), 0):  # t.a and db.t.a before a as a column with fields
            qualifier = parts[start - 1] if start else None
            for column in self._matching(qualifier, parts[start], name):
                value: Expr = typed(column)
                for part in name.parts[start + 1 :]:
                    value = exp.Dot(this=value, expression=exp.to_identifier(part.name, quoted=True))
                return value
        return self.parent._find(name) if self.parent is not None else None

    def _matching(self, alias: str | None, label: str, name: exp.Column) -> list[Column]:
        if alias is None:
            found = [e.column for e in self.entries if not e.hidden and e.label.casefold() == label.casefold()]
        else:
            found = [
                e.column
                for e in self.entries
                if e.alias is not None
                and e.alias.casefold() == alias.casefold()
                and e.label.casefold() == label.casefold()
            ]
        if len({column.name for column in found}) > 1:
            options = ", ".join(f"{e.alias}.{e.label}" for e in self.entries if e.column in found)
            raise SqlError(
                f"{label} could mean several columns", where=place(self.sql, name), todo=f"qualify it: {options}"
            )
        return found[:1]

    def star(self, alias: str | None, where: Expr) -> list[Entry]:
        """The columns that ``*`` or ``alias.*`` stands for."""
        if alias is None:
            return [entry for entry in self.entries if not entry.hidden]
        found = [e for e in self.entries if e.alias is not None and e.alias.casefold() == alias.casefold()]
        if not found:
            raise ColumnNotFound(
                f"There is no table named {alias} here",
                where=place(self.sql, where),
                todo=nearest(alias, [e.alias for e in self.entries if e.alias]),
            )
        return found


def typed(column: Column) -> exp.Column:
    """A plan column in an expression, with its type."""
    value = ref(column.name)
    value.type = column.type
    return value


def place(sql: str, node: Expr) -> Place | None:
    """The place in the text of a part of the tree."""
    spans = [(i.meta["start"], i.meta["end"] + 1) for i in node.walk() if "start" in i.meta]
    return Place(sql, min(s for s, _ in spans), max(e for _, e in spans)) if spans else None
