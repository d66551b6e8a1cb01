"""The select list: expressions, ``*``, and generators."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from rollview.errors import SqlError
from rollview.frontend.sql.context import unbuildable
from rollview.frontend.sql.from_clause import generator_labels
from rollview.frontend.sql.functions import holds_aggregate
from rollview.frontend.sql.scope import place, typed
from rollview.frontend.sql.select_draft import Generated, SelectDraft
from rollview.frontend.sql.understood import STAR, only, only_generator
from rollview.parse.tree import is_generator
from rollview.plan.expressions import Expr


def select_list(select: SelectDraft) -> None:
    for item in select.node.expressions:
        bare = item.this if isinstance(item, exp.Alias | exp.Aliases) else item
        if isinstance(bare, exp.Star) or (isinstance(bare, exp.Column) and isinstance(bare.this, exp.Star)):
            _star(select, bare)
        elif is_generator(bare):
            _generator(select, item, bare)
        else:
            label = item.alias if isinstance(item, exp.Alias) else label_of(bare)
            select.items.append((label, select.bound(bare)))


def label_of(expr: Expr) -> str:
    if isinstance(expr, exp.Column | exp.Dot):
        return expr.name
    return expr.sql("spark")


def item_of(select: SelectDraft, term: Expr) -> Expr | None:
    """The item of the select list that a name or a number refers to."""
    if isinstance(term, exp.Literal) and not term.is_string and term.is_int:
        position = int(term.this)
        if not 0 < position <= len(select.items):
            raise SqlError(f"There is no column {position} in the select list", where=place(select.context.sql, term))
        return select.items[position - 1][1].copy()
    if isinstance(term, exp.Column) and not term.table:
        found = [value for label, value in select.items if label.casefold() == term.name.casefold()]
        return found[0].copy() if found else None
    return None


def _star(select: SelectDraft, star: Expr) -> None:
    whole = star.this if isinstance(star, exp.Column) else star
    left_out = {part.name.casefold() for part in whole.args.get("except_") or ()}
    only(select.context, whole, STAR)
    alias = star.table if isinstance(star, exp.Column) else None
    for entry in select.scope.star(alias, star):
        if entry.label.casefold() not in left_out:
            select.items.append((entry.label, typed(entry.column)))


def _generator(select: SelectDraft, item: Expr, generator: Expr) -> None:
    """A generator in the select list."""
    only_generator(select.context, generator)
    if isinstance(item, exp.Aliases):
        labels = [part.name for part in item.args["expressions"]]
    elif isinstance(item, exp.Alias):
        labels = [item.alias]
    else:
        labels = generator_labels(select.context, generator)
    output = select.context.numbering.columns(labels)
    if _is_over_groups(select.node, generator, labels):
        if select.generated is not None or generator.find(exp.Query) or _has_windows(select.node):
            raise unbuildable(select.context, f"{label_of(generator)} over groups", generator)
        select.generated = Generated(generator, select.bound(generator), output)
    else:
        value = select.bound(generator)
        select.settle()
        select.plan = Generated(generator, value, output).over(select.plan, value)
    select.items += [(column.label, typed(column)) for column in output]


def _has_windows(node: exp.Select) -> bool:
    return any(item.find(exp.Window) for item in node.expressions) or node.args.get("qualify") is not None


def _is_over_groups(node: exp.Select, generator: Expr, labels: Sequence[str]) -> bool:
    """Whether a generator in the select list is applied after the aggregation; before it, if a group key reads its
    columns."""
    group = node.args.get("group")
    if group is None:
        return node.args.get("having") is not None or any(map(holds_aggregate, node.expressions))
    names = {label.casefold() for label in labels}
    keys = all(isinstance(key, exp.Column) and key.name.casefold() not in names for key in group.expressions)
    return holds_aggregate(generator) or (keys and bool(group.expressions))
