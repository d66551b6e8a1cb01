"""Checks expressions of a plan: every operation must be on the list, for the types of its operands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter

from rollview.engine.expressions import arithmetic, logic, rounding, strings, times
from rollview.engine.expressions.casts import cast
from rollview.engine.expressions.coercion import together
from rollview.engine.expressions.literals import suffixed
from rollview.engine.expressions.refused import Refused
from rollview.engine.expressions.terms import MOST_TEXT, Entry, Term, apply
from rollview.engine.expressions.types import STRING, VOID, Type
from rollview.engine.expressions.zone import Zone
from rollview.plan.expressions import Expr, show

Form = Callable[["Checker", Expr], Term]


def entries(zone: Zone) -> dict[str, Entry]:
    """The list, without columns, literals and casts."""
    groups = (arithmetic.ENTRIES, logic.ENTRIES, rounding.ENTRIES, strings.ENTRIES, times.entries(zone))
    return {entry.name: entry for group in groups for entry in group}


class Checker:
    """``forms`` gives for each type of syntax node the function that reads it."""

    def __init__(self, columns: Mapping[str, Type], zone: Zone, forms: Mapping[type[Expr], Form]) -> None:
        self.columns, self.zone, self.forms = columns, zone, forms
        self.entries = entries(zone)
        self.places = {name: f"c{i}" for i, name in enumerate(columns)}

    def term(self, node: Expr) -> Term:
        """The expression of a node. Raises Refused if it is not on the list."""
        if (form := self.forms.get(type(node))) is None:
            raise Refused(show(node) if len(show(node)) < 60 else node.key.upper())
        found = form(self, node)
        if len(found.sql) > MOST_TEXT:
            raise Refused("An expression of this depth", todo="compute parts of it into columns of a view below")
        return found

    def terms(self, nodes: Sequence[Expr]) -> list[Term]:
        return [self.term(node) for node in nodes]

    def column(self, name: str) -> Term:
        if name not in self.columns:
            raise Refused(f"The column {name}", why="its type is not known")
        kind, place, own = self.columns[name], f'"{self.places[name]}"', frozenset({"column"})
        return Term(kind, place, column=name, columns=frozenset({name}), entries=own, arrow=itemgetter(name))

    def call(self, name: str, *operands: Term) -> Term:
        """An entry of the list over operands of the types that it takes."""
        found = apply(self.entries[name], operands)
        if found is None:
            shown = ", ".join(str(each.type) for each in operands)
            raise Refused(f"{name} over {shown}")
        return found

    def cast(self, term: Term, kind: Type) -> Term:
        """A value as another type. A literal becomes another literal."""
        if term.literal is None or term.type == kind:
            return cast(term, kind, self.zone)
        found = suffixed(term, kind) or term
        return cast(found, kind, self.zone)

    def together(self, what: str, operands: Sequence[Term]) -> list[Term]:
        """The operands, cast to their common type."""
        return together(operands, self.cast, what)

    def given(self, term: Term, kind: Type) -> Term:
        """An argument of a function that takes this type."""
        if term.type == STRING and kind != STRING and term.literal is None:
            raise Refused(f"A string given as {kind}", why="its implicit cast is not on the list", todo="use CAST")
        return self.cast(term, kind) if term.type != VOID else cast(term, kind, self.zone)
