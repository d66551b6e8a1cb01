"""Unique names for columns, by their origin: ``t3_city`` is column city of the third relation."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot import exp

from rollview.plan.nodes import UNKNOWN, Column


class Numbering:
    """Numbers the relations of a plan. Each plan has its own, so that equal queries get equal names."""

    def __init__(self) -> None:
        self.last = -1

    def columns(self, labels: Sequence[str], types: Sequence[exp.DataType] | None = None) -> tuple[Column, ...]:
        """Columns of a new relation."""
        self.last += 1
        taken: set[str] = set()
        made = []
        for index, label in enumerate(labels):
            clean = re.sub(r"\W", "_", label).lower()[:40] or "c"
            name = f"t{self.last}_{clean}"
            if name in taken:
                name = f"{name}_{index}"
            taken.add(name)
            made.append(Column(name, label, types[index] if types else UNKNOWN))
        return tuple(made)

    def column(self, label: str, type_: exp.DataType = UNKNOWN) -> Column:
        return self.columns([label], [type_])[0]
