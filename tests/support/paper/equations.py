"""The equations of sections 3.1 and 3.2: the delta of a join of tables from position a to b."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from rollview.roll.queries import Changes, Query, State


def equation_1(tables: Sequence[str], a: int, b: int) -> Iterator[Query]:
    """Each combination of states at b and changes, with at least one of changes: 2ⁿ − 1 queries, all executed at b."""
    for changed in sorted(
        product((False, True), repeat=len(tables)), key=lambda each: (sum(each), [not c for c in each])
    ):
        if any(changed):
            parts = [Changes(t, a, b) if c else State(t, b) for t, c in zip(tables, changed, strict=True)]
            yield Query(tuple(parts), 1 if sum(changed) % 2 else -1)


def equation_2(tables: Sequence[str], a: int, b: int) -> Iterator[Query]:
    """One query for each table: the tables before it at a, those after it at b. n queries; most are of no one moment."""
    for i, table in enumerate(tables):
        before, after = (State(t, a) for t in tables[:i]), (State(t, b) for t in tables[i + 1 :])
        yield Query((*before, Changes(table, a, b), *after))


def equation_3(a: int, b: int, c: int, d: int) -> list[Query]:
    """Two tables, the forward queries executed at c and d. This is what ComputeDelta executes."""
    return [
        Query((Changes("R1", a, b), State("R2", c))),
        Query((Changes("R1", a, b), Changes("R2", b, c)), -1),
        Query((State("R1", d), Changes("R2", a, b))),
        Query((Changes("R1", a, d), Changes("R2", a, b)), -1),
    ]


def realizable(query: Query, at: int) -> bool:
    """Whether a transaction at this position can give the result: states as they are then, changes up to then."""
    return all(part.at == at if isinstance(part, State) else part.upto <= at for part in query.parts)
