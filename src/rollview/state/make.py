"""A compiled query → what is stored of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rollview.delta.rules.top_rows import first_rows
from rollview.frontend.query import CompiledView
from rollview.plan.nodes import Node
from rollview.state.bag import bag
from rollview.state.finish import finish_of
from rollview.state.groups import groups
from rollview.state.keyed import keyed, keyed_root
from rollview.state.state import Followed, State
from rollview.state.top_rows import TopRows, top_rows
from rollview.state.types import Types, added_up, window_types


def state_of(compiled: CompiledView, types: Types, labels: Sequence[str], dialect: str = "spark") -> State:
    """The state of a view whose visible columns have these names."""
    finish = finish_of(compiled.plan)
    below = compiled.keyed.plan if finish is None else finish.root.input
    added, kinds = added_up(below, types)
    kinds |= window_types(below, types)
    made = (
        _of_rows(compiled, labels, dialect) if finish is None else groups(compiled.plan, finish, types, labels, dialect)
    )
    return _with_followed(made, Followed(made.followed.plan, added, kinds, compiled.partitions))


def _with_followed(state: State, followed: Followed) -> State:
    """The state with what is known of the plan that it follows."""
    if isinstance(state, TopRows):
        return replace(state, followed=followed, rows=replace(state.rows, followed=followed))
    return replace(state, followed=followed)


def _of_rows(compiled: CompiledView, labels: Sequence[str], dialect: str) -> State:
    """The rows themselves, by their key or as a bag; or the first rows of something."""
    root: Node = compiled.plan if compiled.keyed.key is None else keyed_root(compiled)[0]
    first = first_rows(root)
    if first is not None:
        return top_rows(compiled, first, labels, dialect)
    return bag(compiled, labels, dialect) if compiled.keyed.key is None else keyed(compiled, labels, dialect)
