"""Merges of copies, as SQL over ``t``, a stored row, and ``s``, a given one: see ``merge`` in ``protocol``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Taking:
    """Which given rows look for stored ones, how many copies are left of these, and which stored rows go."""

    looks: str
    left: str
    gone: str


def taking(number: str, on: Sequence[str], place: Sequence[str]) -> Taking:
    """``number`` is the column with the copies, ``on`` are all others, ``place`` is where a stored row is; each as SQL
    writes it. Of the rows that are taken from, the first is left with the rest."""
    same, order = ", ".join(f"s.{c}" for c in on), ", ".join(f"t.{c}" for c in place)
    left = f"(sum(t.{number}) OVER (PARTITION BY {same}) + s.{number})"
    first = f"row_number() OVER (PARTITION BY {same} ORDER BY {order}) = 1"
    gone = f"CASE WHEN t.{place[0]} IS NULL THEN s.{number} < 0 ELSE NOT ({first} AND {left} > 0) END"
    return Taking(f"s.{number} < 0", left, gone)
