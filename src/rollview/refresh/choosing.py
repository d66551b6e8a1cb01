"""Which strategies a view's refresh can take, and why not the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rollview.delta.partials import ADD, RECOMPUTE
from rollview.parse.views import Policy
from rollview.plan.nodes import show
from rollview.state.state import GROUPS, State
from rollview.strategy.script import (
    AGGREGATE_MERGE,
    APPEND,
    GROUP_RECOMPUTE,
    PARTITION_RECOMPUTE,
    ROW_DELTA,
    refresh_script,
)
from rollview.views.definition import View
from rollview.views.results import FULL, NO_OP, REASONS


@dataclass(frozen=True)
class Choice:
    """A strategy, whether the view can be refreshed by it, and when or why not."""

    strategy: str
    applies: bool
    why: str


def choices(view: View, state: State | None) -> list[Choice]:
    """Every strategy, in the order of what it costs."""
    reason = "policy" if view.policy is Policy.FULL else view.always_full
    unchanged = Choice(
        NO_OP, reason not in ("time_dependent", "not_versioned"), "while no column that the view uses has changed"
    )
    if reason is not None or state is None:
        told = REASONS[reason or "not_compiled"]
        others = (APPEND, ROW_DELTA, AGGREGATE_MERGE, GROUP_RECOMPUTE, PARTITION_RECOMPUTE)
        return [unchanged, *(Choice(name, False, told) for name in others), Choice(FULL, True, told)]
    much = ", or if so much has changed that it costs less" if view.policy is Policy.AUTO else ""
    full = Choice(FULL, True, f"if it is asked for, if the history of a table is gone{much}")
    if view.policy is Policy.STRICT:
        full = Choice(FULL, False, "the policy is INCREMENTAL STRICT; only REFRESH … FULL does it")
    middle = _of_groups(view, state) if state.kind == GROUPS else _of_rows(view, state)
    return [unchanged, *middle, full]


def _of_rows(view: View, state: State) -> list[Choice]:
    tables = view.tables
    growing = [t for t in tables if _strategy(view, state, [t], [t]) == APPEND]
    together = len(growing) == len(tables) and _strategy(view, state, tables, growing) == APPEND
    if growing:
        how = " and ".join(growing) if together else " or ".join(growing) + " alone" if len(growing) > 1 else growing[0]
        append = Choice(APPEND, True, f"if rows are only added, to {how}")
    else:
        append = Choice(APPEND, False, "new rows of a table can take rows of the result away")
    windows = _strategy(view, state, tables) == PARTITION_RECOMPUTE
    groups = "the view's rows are no groups: the query ends in no GROUP BY, or does more than look at its groups"
    return [
        append,
        Choice(ROW_DELTA, not windows, "the rows are those of a window" if windows else "for any other change"),
        Choice(AGGREGATE_MERGE, False, groups),
        Choice(GROUP_RECOMPUTE, False, groups),
        Choice(PARTITION_RECOMPUTE, windows, "for any change" if windows else "the query ends in no window function"),
    ]


def _of_groups(view: View, state: State) -> list[Choice]:
    rows = "the view's rows are groups"
    fixed = [show(p.value) for p in state.partials if p.combine == RECOMPUTE]
    growing = [show(p.value) for p in state.partials if p.combine not in (ADD, RECOMPUTE)]
    merges = [t for t in view.tables if _strategy(view, state, [t], [t]) == AGGREGATE_MERGE]
    if not fixed and not growing:
        merge, again = Choice(AGGREGATE_MERGE, True, "for any change"), "every aggregate can be added to"
    elif merges:
        merge = Choice(
            AGGREGATE_MERGE,
            True,
            f"if rows are only added, to {' or '.join(merges)}: {', '.join(growing)} cannot be taken from",
        )
        again = ""
    else:
        never = ", ".join(fixed or growing)
        merge, again = Choice(AGGREGATE_MERGE, False, f"{never} cannot be added to and taken from"), ""
    return [
        Choice(APPEND, False, rows),
        Choice(ROW_DELTA, False, rows),
        merge,
        Choice(
            GROUP_RECOMPUTE, not again, again or "for any other change" if merge.applies else again or "for any change"
        ),
        Choice(PARTITION_RECOMPUTE, False, "the query ends in no window function"),
    ]


def _strategy(view: View, state: State, changed: Sequence[str], growing: Sequence[str] = ()) -> str | None:
    script = refresh_script(state, view.moved(changed), growing, passes=())
    return None if script is None else script.strategy
