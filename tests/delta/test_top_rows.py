"""The first rows of something: maintained from the rows that are stored, and from the table only when these run out."""

from __future__ import annotations

import random

import pytest

from compare import rows
from rollview import Rollview, connect
from rollview.views.results import RefreshResult

LIMITS = {
    "top": "SELECT upper(note) AS n FROM sale ORDER BY amount DESC, id LIMIT 3 OFFSET 2",
    "by_value": "SELECT note, cust FROM visit ORDER BY amount + 1, note, cust LIMIT 3",
    "joined": "SELECT c.city, s.amount FROM sale s JOIN city c ON c.id = s.cust ORDER BY s.amount, s.id LIMIT 5",
    "numbered": "SELECT id FROM sale QUALIFY row_number() OVER (ORDER BY amount, id) <= 5",
}
PARTITIONS = {
    "latest": "SELECT cust, id, amount FROM sale QUALIFY row_number() OVER (PARTITION BY cust ORDER BY id DESC) = 1",
    "with_number": "SELECT * FROM (SELECT id, cust, row_number() OVER (PARTITION BY cust ORDER BY amount DESC, id) AS r "
    "FROM sale) WHERE r <= 2",
    "of_a_bag": "SELECT note FROM visit QUALIFY row_number() OVER (PARTITION BY cust ORDER BY amount, note) = 1",
    "numbered_bag": "SELECT cust, amount, row_number() OVER (PARTITION BY cust ORDER BY amount DESC NULLS FIRST) AS r "
    "FROM visit QUALIFY r < 4",
}
READERS = {"of_top": "SELECT n, count(*) AS c FROM top GROUP BY n", "of_bag": "SELECT DISTINCT note FROM of_a_bag"}


def filled(rng: random.Random, count: int = 200) -> Rollview:
    rv = connect("duckdb:")
    rv.sql("CREATE TABLE sale (id INT, cust INT, amount INT, note STRING, PRIMARY KEY (id))")
    rv.sql("CREATE TABLE visit (cust INT, amount INT, note STRING)")
    rv.sql("CREATE TABLE city (id INT, city STRING, PRIMARY KEY (id))")
    rv.sql("INSERT INTO city VALUES (0, 'a'), (1, 'b'), (2, 'a')")
    more(rv, rng, 0, count)
    return rv


def more(rv: Rollview, rng: random.Random, start: int, count: int) -> None:
    def value(below: int) -> str:
        return "NULL" if rng.random() < 0.1 else str(rng.randrange(below))

    sales = (f"({start + i}, {value(4)}, {value(50)}, 'n{rng.randrange(3)}')" for i in range(count))
    visits = (f"({value(4)}, {value(8)}, 'n{rng.randrange(3)}')" for _ in range(count))
    rv.sql(f"INSERT INTO sale VALUES {', '.join(sales)}; INSERT INTO visit VALUES {', '.join(visits)}")


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 20))])
def test_first_rows_follow_whatever_comes_and_goes(seed: int) -> None:
    rng = random.Random(seed)
    rv = filled(rng)
    for name, query in (LIMITS | PARTITIONS | READERS).items():
        rv.create(name, query, policy="INCREMENTAL STRICT")
    for step in range(6):
        rv.sql(
            rng.choice(
                [
                    f"DELETE FROM sale WHERE id % 7 = {rng.randrange(7)}; DELETE FROM visit WHERE amount = {rng.randrange(8)}",
                    f"DELETE FROM sale WHERE amount > {rng.randrange(50)}; DELETE FROM visit WHERE amount < {rng.randrange(4)}",
                    f"UPDATE sale SET amount = amount + 3, cust = 1 WHERE id % 5 = {rng.randrange(5)}",
                    f"UPDATE city SET city = 'c' WHERE id = {rng.randrange(3)}; UPDATE visit SET note = 'x' WHERE amount = 3",
                ]
            )
        )
        more(rv, rng, 1000 * (step + 1), rng.randrange(1, 20))
        for result in rv.refresh_all():
            assert rv.verify(result.view).ok, (result, step)


def read(result: RefreshResult) -> set[str]:
    """The relations that a refresh read."""
    return {name for ran in result.ran for name in ran.reads}


@pytest.mark.parametrize("name", ["top", "numbered", "latest", "with_number", "by_value", "of_a_bag"])
@pytest.mark.one_in(2)
def test_the_table_is_read_only_when_too_few_rows_are_left(name: str) -> None:
    rv = filled(random.Random(5))
    rv.create(name, (LIMITS | PARTITIONS)[name])
    table = "visit" if "visit" in (LIMITS | PARTITIONS)[name] else "sale"
    rv.sql("INSERT INTO sale VALUES (900, 1, 70, 'x'), (901, 3, -5, 'y'), (902, 9, 70, 'z')")
    rv.sql("INSERT INTO visit VALUES (1, -3, 'x'), (9, 4, 'y')")
    few = rv.refresh(name)
    assert rv.verify(name).ok
    assert f"{table} change" in read(few)
    assert not read(few) & {f"{table} new", f"{table} old"}
    rv.sql("DELETE FROM sale WHERE id > 1; DELETE FROM visit WHERE amount < 7 OR amount IS NULL")
    many = rv.refresh(name)
    assert rv.verify(name).ok
    assert f"{table} new" in read(many)


def test_a_limit_shows_no_more_than_it_says_and_keeps_no_more_than_it_needs() -> None:
    rv = filled(random.Random(6), 400)
    rv.create("v", "SELECT id FROM sale ORDER BY id LIMIT 3")
    rv.create("reader", "SELECT count(*) AS n FROM v")
    rv.create("bag", "SELECT note FROM visit ORDER BY note LIMIT 3")
    for start in (-1000, -2000):
        more(rv, random.Random(start), start, 300)
        rv.refresh_all()
        assert len(rows(rv.table("v"))) == 3
        assert rows(rv.table("reader")) == [(3,)]
        assert rv.store.count(rv.catalog.state("v")) == 103
        assert sum(copies for _, copies in rows(rv.engine.output(rv.store.read(rv.catalog.state("bag"))))) == 103
    rv.sql("DELETE FROM sale WHERE id < -1950")
    rv.refresh_all()
    assert sorted(rows(rv.table("v"))) == [(-1950,), (-1949,), (-1948,)]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id, row_number() OVER (PARTITION BY cust ORDER BY id) AS r FROM sale QUALIFY r > 2",
        "SELECT id, row_number() OVER (PARTITION BY cust ORDER BY id) AS r FROM sale QUALIFY r = 2",
        "SELECT id, rank() OVER (PARTITION BY cust ORDER BY amount) AS r FROM sale QUALIFY r <= 2",
        "SELECT id, r * 2 AS twice FROM (SELECT id, row_number() OVER (ORDER BY id) AS r FROM sale) WHERE r <= 9",
        "SELECT r, id FROM (SELECT id, row_number() OVER (ORDER BY id) AS r FROM sale) WHERE r <= 9",
    ],
)
@pytest.mark.one_in(2)
def test_what_only_looks_like_first_rows_is_right_too(query: str) -> None:
    rng = random.Random(7)
    rv = filled(rng)
    rv.create("v", query, policy="INCREMENTAL STRICT")
    more(rv, rng, -50, 20)
    rv.sql("DELETE FROM sale WHERE id % 9 = 1")
    rv.refresh("v")
    assert rv.verify("v").ok
