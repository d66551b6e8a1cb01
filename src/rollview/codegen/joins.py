"""Joins: JOIN in FROM, or subqueries in SELECT or WHERE if a dialect has no such join."""

from __future__ import annotations

from sqlglot import exp

from rollview.codegen.clauses import apart, dummy, joined
from rollview.codegen.ctes import Ctes
from rollview.plan.expressions import Expr, conjunction, conjuncts, names_in, ref
from rollview.plan.nodes import CROSS, FULL, LEFT, MARK, SEMI, SINGLE, Join, MultiJoin, Node, Restrict


def join(ctes: Ctes, node: Join) -> exp.Query:
    if node.kind == MARK:
        return _mark(ctes, node)
    if node.kind == SINGLE:
        return _single(ctes, node)
    if node.kind.keeps_left_only:
        return _semi(ctes, node)
    if node.kind == FULL and ctes.dialect == "postgres" and not _hashable(node):
        return _full_by_parts(ctes, node)
    return _paired(ctes, node)


def restrict(ctes: Ctes, node: Restrict) -> exp.Query:
    return _semi(ctes, node.join)


def _paired(ctes: Ctes, node: Join) -> exp.Select:
    query = _beside(ctes, node)
    how = node.kind.upper() + (" OUTER" if node.kind.is_outer else "")
    on = None if node.kind == CROSS else (node.condition.copy() if node.condition is not None else exp.true())
    _hint(ctes, query, node)
    return joined(query, apart(query, ctes.source(node.right)), how, on)


def _beside(ctes: Ctes, node: Join) -> exp.Select:
    """A SELECT of the join's columns from its left side, to which the right side is joined."""
    if not _continues(node, ctes):
        return ctes.over(node.left, node.columns)
    query = _select(ctes, node.left)
    query.set("expressions", [ref(column.name) for column in node.columns] or [dummy()])
    return query


def _continues(node: Join, ctes: Ctes) -> bool:
    """Whether the join and the one on its left side share a SELECT: not for Spark if one has a hint."""
    left = node.left
    plain = isinstance(left, MultiJoin) or (isinstance(left, Join) and (left.kind.is_inner or left.kind is LEFT))
    hinted = node.small is not None or (isinstance(left, Join) and left.small is not None)
    return plain and ctes.readers[left] == 1 and not (hinted and ctes.dialect == "spark")


def _hint(ctes: Ctes, query: exp.Select, node: Join) -> None:
    """Tells Spark which side of a join is small."""
    if node.small is not None and ctes.dialect == "spark":
        name = ctes.cte(node.left if node.small == "left" else node.right)
        hint = exp.Anonymous(this="BROADCAST", expressions=[exp.to_identifier(name, quoted=True)])
        query.set("hint", exp.Hint(expressions=[hint]))


def _full_by_parts(ctes: Ctes, node: Join) -> exp.Query:
    """A full join that PostgreSQL does not support: the left join, and the right rows without a match."""
    left = join(ctes, Join(LEFT, node.left, node.right, node.condition))
    unmatched = exp.Not(this=exp.Exists(this=_matching(ctes, node, node.condition, side=node.left)))
    padded = exp.Select().from_(ctes.source(node.right), copy=False).where(unmatched, copy=False)
    padded.set(
        "expressions",
        [
            ref(c.name) if c.name in node.right.names else exp.alias_(exp.null(), c.name, quoted=True)
            for c in node.columns
        ],
    )
    return exp.Union(this=left, expression=padded, distinct=False)


def _semi(ctes: Ctes, node: Join) -> exp.Query:
    query = _beside(ctes, node)
    condition = node.condition.copy() if node.condition is not None else exp.true()
    if ctes.dialect == "postgres":
        inner = exp.Exists(this=_matching(ctes, node, condition))
        return query.where(inner if node.kind == SEMI else exp.Not(this=inner), copy=False)
    kind = f"LEFT {node.kind.upper()}" if ctes.dialect == "spark" else node.kind.upper()
    _hint(ctes, query, node)
    return joined(query, ctes.source(node.right), kind, condition)


def _matching(
    ctes: Ctes, node: Join, condition: Expr | None, output: Expr | None = None, side: Node | None = None
) -> exp.Select:
    """The rows of the right side, or of the given one, that satisfy a condition."""
    query = exp.Select(expressions=[output or exp.Literal.number(1)])
    query = query.from_(ctes.source(side or node.right), copy=False)
    return query if condition is None else query.where(condition.copy(), copy=False)


def _mark(ctes: Ctes, node: Join) -> exp.Query:
    assert node.mark is not None
    query = _looked_up(ctes, node)
    value: Expr
    sides = _in_sides(node)
    if node.compared is None:
        value = exp.Exists(this=_matching(ctes, node, node.condition))
    elif sides is not None:
        outer = [left.copy() for left, _ in sides]
        inner = _matching(ctes, node, node.condition)
        inner.set("expressions", [right.copy() for _, right in sides])
        left = outer[0] if len(outer) == 1 else exp.Tuple(expressions=outer)
        value = exp.In(this=left, query=inner.subquery(copy=False))
    else:
        true = conjunction([*conjuncts(node.condition), node.compared])
        unknown = exp.Is(this=exp.Paren(this=node.compared.copy()), expression=exp.null())
        null = conjunction([*conjuncts(node.condition), unknown])
        value = exp.Case(
            ifs=[exp.If(this=exp.Exists(this=_matching(ctes, node, true)), true=exp.true()),
                 exp.If(this=exp.Exists(this=_matching(ctes, node, null)), true=exp.null())],
            default=exp.false(),
        )  # fmt: skip
    return query.select(exp.alias_(value, node.mark.name, quoted=True), copy=False)


def _looked_up(ctes: Ctes, node: Join) -> exp.Select:
    """The left side of a mark or single join. Such joins share a SELECT if none uses a column that another adds."""
    left = node.left
    if isinstance(left, Join) and left.kind in (MARK, SINGLE) and ctes.readers[left] == 1:
        lowest: Node = left
        while isinstance(lowest, Join) and lowest.kind in (MARK, SINGLE) and ctes.readers[lowest] == 1:
            lowest = lowest.left
        added = left.names - lowest.names
        if not any(names_in(value) & added for value in node.expressions):
            return _select(ctes, left)
    return _select(ctes, left) if ctes.is_own_join(left) else ctes.over(left, left.columns)


def _select(ctes: Ctes, node: Node) -> exp.Select:
    found = ctes.query(node)
    assert isinstance(found, exp.Select)
    return found


def _single(ctes: Ctes, node: Join) -> exp.Query:
    query = _looked_up(ctes, node)
    for column in node.right.columns:
        value = _matching(ctes, node, node.condition, ref(column.name)).subquery(copy=False)
        query = query.select(exp.alias_(value, column.name, quoted=True), copy=False)
    return query


def _hashable(node: Join) -> bool:
    """Whether PostgreSQL supports a full join on the condition: it needs an equality of the two sides."""
    for part in conjuncts(node.condition):
        if isinstance(part, exp.EQ):
            a, b = names_in(part.left), names_in(part.right)
            if (
                a
                and b
                and any(a <= x.names and b <= y.names for x, y in ((node.left, node.right), (node.right, node.left)))
            ):
                return True
    return False


def _in_sides(node: Join) -> list[tuple[Expr, Expr]] | None:
    """A comparison that IN can express: pairs of an outer value and an inner column; None if it cannot."""
    found: list[tuple[Expr, Expr]] = []
    for part in conjuncts(node.compared):
        if not isinstance(part, exp.EQ):
            return None
        if not (isinstance(part.right, exp.Column) and part.right.name in node.right.names):
            return None
        if names_in(part.left) & node.right.names:
            return None
        found.append((part.left, part.right))
    return found or None


def multi_join(ctes: Ctes, node: MultiJoin) -> exp.Query:
    """The inputs one after the other, each as soon as a condition joins it to those before it."""
    query = ctes.over(node.parts[0], node.columns)
    placed, waiting, open_ = {0}, list(range(1, len(node.parts))), list(node.graph)
    while waiting:
        tied = [i for i in waiting if any(i in edge and edge <= placed | {i} for edge, _ in open_)]
        chosen = (tied or waiting)[0]
        waiting.remove(chosen)
        placed.add(chosen)
        ready = [condition for edge, condition in open_ if edge <= placed]
        open_ = [(edge, condition) for edge, condition in open_ if not edge <= placed]
        on = conjunction(ready)
        how = "CROSS" if on is None else "INNER"
        query = joined(query, apart(query, ctes.source(node.parts[chosen])), how, on)
    return query
