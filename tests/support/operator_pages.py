"""The examples of the operators' pages: a view, a change, the changed rows of the view, and the Δ-script."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from compare import rows
from rollview import connect
from rollview.parse.tokens import split_script
from rollview.refresh.explain import plan_of
from rollview.strategy.show import show_stages
from rollview.views.relation import newest


@dataclass(frozen=True)
class Outcome:
    """``rows``: the delta of the view, as a table. ``script``: the plan of the refresh, as ``explain`` shows it."""

    rows: str
    script: str


def outcome(sql: str) -> Outcome:
    """The outcome of an example: statements that make tables and one view, then statements that change the tables."""
    rv = connect("duckdb:")
    *before, make, change = re.split(r"(CREATE MATERIALIZED VIEW.*?;\n)", sql, flags=re.DOTALL)
    for statement in split_script("".join(before) + make):
        rv.sql(statement)
    (view,) = rv.catalog.all()
    names, old = rv.table(view.name).columns, Counter(rows(rv.table(view.name)))
    for statement in split_script(change):
        rv.sql(statement)
    reflected, now = rv.catalog.reflected(view).vector, newest(rv.catalog, view, {})
    plan = plan_of(rv.catalog, view, [table for table in view.tables if reflected[table] != now[table]])
    assert plan is not None
    script = "\n".join([f"strategy {plan.strategy}", *show_stages(plan)])
    rv.refresh(view.name)
    new = Counter(rows(rv.table(view.name)))
    weights = {row: new[row] - old[row] for row in old | new if new[row] != old[row]}
    return Outcome(_table(names, weights), script)


def _table(names: list[str], weights: dict[tuple[object, ...], int]) -> str:
    lines = [[f"{weight:+}", *("NULL" if value is None else str(value) for value in row)]
            for row, weight in sorted(weights.items(), key=lambda each: (str(each[0][0]), each[1]))]  # fmt: skip
    cells = [["__w", *names], *lines]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join("  ".join(map(str.rjust, row, widths)) for row in cells)


def shows(excerpt: str, script: str) -> bool:
    """Whether an excerpt has lines of a script as they are: a line ``…`` stands for lines, at the end of a line it
    stands for the rest of the line."""

    def pattern(line: str) -> str:
        if line.strip() == "…":
            return r"(?:[^\n]*\n)+?"
        return re.escape(line.removesuffix("…")) + (r"[^\n]*\n" if line.endswith("…") else r"\n")

    return re.fullmatch("".join(map(pattern, excerpt.strip().split("\n"))), script + "\n") is not None
