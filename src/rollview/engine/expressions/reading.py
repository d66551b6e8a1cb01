"""What the forms of operators and of functions share: the arguments of syntax nodes, and forms made of an entry's name.

A node with an argument that is not read is refused: what it means is not known.
"""

from __future__ import annotations

from sqlglot import exp

from rollview.engine.expressions.checker import Checker, Form
from rollview.engine.expressions.refused import Refused
from rollview.engine.expressions.terms import Term
from rollview.engine.expressions.types import Type
from rollview.plan.expressions import Expr, show

#: Arguments that sqlglot sets on nodes of Spark's dialect, and what they must be.
_USUAL: dict[str, object] = {"typed": False, "safe": True, "coalesce": False, "ignore_nulls": True}


def arguments(node: Expr, *names: str) -> list[Expr]:
    """The arguments of a node; those that are not set are left out. Raises Refused if others are set."""
    for name, value in node.args.items():
        if name in names or value is None or value is False or value == [] or value == "":
            continue
        if name not in _USUAL or value != _USUAL[name]:
            raise Refused(show(node), why=f"its {name.strip('_')} is not on the list")
    found: list[Expr] = []
    for name in names:
        value = node.args.get(name)
        found += value if isinstance(value, list) else [value] if isinstance(value, exp.Expr) else []
    return found


def plain(name: str, *names: str) -> Form:
    """The entry over operands as they are."""
    return lambda c, node: c.call(name, *c.terms(arguments(node, *names)))


def typed(name: str, kinds: tuple[Type, ...], *names: str) -> Form:
    """The entry over operands that are cast to these types; there may be fewer operands than types."""

    def form(c: Checker, node: Expr) -> Term:
        return over(c, name, kinds, arguments(node, *names))

    return form


def over(c: Checker, name: str, kinds: tuple[Type, ...], nodes: list[Expr]) -> Term:
    if len(nodes) > len(kinds):
        raise Refused(f"{name} with {len(nodes)} arguments")
    return c.call(name, *(c.given(c.term(node), kind) for node, kind in zip(nodes, kinds, strict=False)))
