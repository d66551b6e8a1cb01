"""Rolling propagation without data: the queries of each step."""

from __future__ import annotations

import pytest

from rollview.errors import InternalError
from rollview.roll.forwarding import Forwarded
from rollview.roll.queries import Time, shown


def test_a_step_joins_its_changes_with_the_other_tables_as_they_stood_where_they_are_forwarded_to() -> None:
    forwarded = Forwarded(("R1", "R2", "R3"), (2, 5, 4))
    assert (forwarded.mark, forwarded.next_place(), forwarded.is_level) == (2, 0, False)

    step = forwarded.by_history(0, 6)
    assert str(step) == "R1(2,6] ⋈ (R2@2 + R2(2,5]) ⋈ (R3@2 + R3(2,4])"
    assert step.time is Time.GREATEST

    step = forwarded.by_presence(0, 6, (7, 7, 7))
    assert str(step) == "R1(2,6] ⋈ (R2@7 − R2(5,7]) ⋈ (R3@7 − R3(4,7])"
    assert step.time is Time.LEAST
    assert shown(step.expanded()) == (
        "R1(2,6] ⋈ R2@7 ⋈ R3@7 − R1(2,6] ⋈ R2@7 ⋈ R3(4,7] − R1(2,6] ⋈ R2(5,7] ⋈ R3@7 + R1(2,6] ⋈ R2(5,7] ⋈ R3(4,7]"
    )
    assert forwarded.advanced(0, 6).mark == 4


def test_where_all_tables_stand_level_there_is_nothing_to_compensate_over_history() -> None:
    level = Forwarded.level(("orders", "orders"), 3)
    assert level.is_level
    assert level.next_place() == 0
    assert str(level.by_history(1, 4)) == "orders@3 ⋈ orders(3,4]"


def test_tables_may_be_read_at_moments_of_their_own_but_not_before_the_changes_end() -> None:
    forwarded = Forwarded(("R1", "R2", "R3"), (2, 5, 4))
    assert str(forwarded.by_presence(0, 6, (9, 6, 8))) == "R1(2,6] ⋈ (R2@6 − R2(5,6]) ⋈ (R3@8 − R3(4,8])"
    with pytest.raises(InternalError, match="too old"):
        forwarded.by_presence(0, 6, (9, 5, 8))


def test_a_table_is_not_forwarded_twice() -> None:
    with pytest.raises(InternalError, match="forwarded to 2 already"):
        Forwarded(("R1", "R2"), (2, 5)).by_history(0, 2)
