"""The affected partitions of a window are recomputed, and the rows of them that differ are merged."""

from __future__ import annotations

from rollview.state.groups import Groups
from rollview.state.state import State
from rollview.strategy.propagate import Change
from rollview.strategy.row_delta import RowDelta, ends_in_window


class PartitionRecompute(RowDelta):
    name = "partition_recompute"
    done = "the affected window partitions were recomputed"

    def refusal(self, state: State, change: Change) -> str | None:
        if isinstance(state, Groups) or not ends_in_window(state):
            return "the query ends in no window function"
        return None
