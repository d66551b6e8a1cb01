"""Reading a live view: whole, in part, by look-ups; what it says of itself; what it refuses."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from live_served import held, queried, rows_of
from live_shop import JOIN, SUMS, opened, sales
from rollview import connect
from rollview.errors import ColumnNotFound, RollviewError, TableNotFound, UserError, ViewNotFound
from rollview.limits import Limits
from rollview.live.compile.refused import NotLive
from rollview.live.graph.reference import NoSuchRow
from rollview.live.memory import TooLarge

FOLLOWED = (
    "SELECT shop.name, city, id FROM sale JOIN shop ON sale.shop = shop.name",
    "SELECT sale.shop, city, sum(price) AS total FROM sale JOIN shop ON sale.shop = shop.name GROUP BY ALL",
)
TOP = "SELECT city, max(price) AS m, count(*) AS n FROM sale JOIN shop ON sale.shop = shop.name GROUP BY city"


@pytest.mark.parametrize("push", [True, False])
@pytest.mark.parametrize("sql", [JOIN, SUMS, *FOLLOWED])
def test_a_part_of_a_view_is_what_its_condition_selects(sql: str, push: bool) -> None:
    rv = opened()
    rv.sql("INSERT INTO sale VALUES (4, 'b', NULL), (5, NULL, 1), (6, 'a', -10)")
    live = rv.live(sql, push=push)
    assert held(live) == queried(rv, sql)
    for where in (
        "city = 'Oslo'",
        "city = 'nowhere'",
        "city > 'P'",
        "city = 'Oslo' AND city LIKE 'O%'",
        "city IS NULL",
    ):
        assert rows_of(live.table(where)) == queried(rv, f"SELECT * FROM ({sql}) WHERE {where}"), where
    assert rows_of(live.table({"city": "Turin"})) == queried(rv, f"SELECT * FROM ({sql}) WHERE city = 'Turin'")


def test_rows_are_looked_up_without_visiting_others() -> None:
    rv = opened()
    rv.sql("INSERT INTO sale SELECT CAST(range AS INT), 'b', 1 FROM range(100, 200)")
    live = rv.live(FOLLOWED[0])
    graph = live._state.core.graph
    for visits, where in ((3, {"name": "a"}), (0, {"name": "nowhere"}), (0, {"name": None})):
        before = graph.visited
        found = live.get(where)
        assert graph.visited - before <= visits
        assert [row["city"] for row in found] == ["Oslo"] * (2 if visits else 0)
    groups = rv.live(FOLLOWED[1], push=False)
    graph = groups._state.core.graph
    before = graph.visited
    assert groups.get(shop="a") == [{"shop": "a", "city": "Oslo", "total": 17}]
    assert graph.visited - before <= 4
    assert "by name" in live.explain()
    assert "by shop" in groups.explain()
    assert "a look-up visits all rows" in rv.live(JOIN).explain()


def test_values_that_are_only_looked_up_are_forgotten() -> None:
    rv = opened()
    live = rv.live(JOIN)
    before = held(live)
    waiting_ = live.changes(where={"city": "Rome"})
    for n in range(25_000):
        assert live.get(city=f"nowhere {n}") == []
    assert len(live._state.core.interner) < 21_000
    rv.sql("INSERT INTO shop VALUES ('c', 'Rome'); INSERT INTO sale VALUES (9, 'c', 1)")
    live.poll()
    assert waiting_.next(0) is not None
    assert held(live) - before == {(9.0, 1.0, "Rome"): 1}


def test_a_view_is_found_by_its_name_in_any_spelling() -> None:
    rv = opened()
    rv.create("Sold", JOIN)
    live = rv.live("`SOLD`")
    assert live.columns == {"id": "int", "price": "int", "city": "string"}
    assert live.key == ("id",)
    assert rv.live(SUMS).key == ("city",)
    assert rv.live("SELECT count(*) AS n FROM sale").key == ()
    assert rv.live("SELECT city FROM sale JOIN shop ON sale.shop = shop.name").key is None
    assert live.vector == {"sale": 1, "shop": 1}
    text = live.explain()
    for part in ("live view sold", "t0_shop = t1_name: sale, shop", "5 projected tuples", "3 of sale, 2 of shop"):
        assert part in text, text


def test_a_view_over_a_view_reads_what_that_one_stores() -> None:
    rv = opened()
    for number, (name, sql) in enumerate((("sold", JOIN), ("top", TOP), ("bag", "SELECT city, price FROM sold"))):
        rv.create(name, sql)
        live = rv.live(f"SELECT * FROM {name} WHERE city <> 'Paris'")
        assert held(live) == queried(rv, sql)
        rv.sql(f"UPDATE sale SET price = price + 1 WHERE id = 1; INSERT INTO sale VALUES (1{number}, 'b', 3)")
        rv.refresh(name, upstream=True)
        assert live.poll() >= 1
        assert held(live) == queried(rv, sql)


def test_a_view_over_a_sum_that_duckdb_stores_in_128_bits() -> None:
    rv = opened()
    rv.create("v", SUMS)
    sql = "SELECT total, count(*) AS n, sum(total) AS s FROM v JOIN sale ON total = id GROUP BY total"
    rv.sql("INSERT INTO sale VALUES (17, 'c', 1)")
    live = rv.live(sql)
    assert live.columns == {"total": "decimal(38,0)", "n": "bigint", "s": "decimal(38,0)"}
    assert live.get(total=17) == [{"total": 17, "n": 1, "s": 17}]
    rv.sql("UPDATE sale SET price = price - 15 WHERE id = 1")
    rv.refresh("v")
    assert live.poll() >= 1
    assert held(live) == queried(rv, sql) == {(2.0, 1.0, 2.0): 1}


@pytest.mark.parametrize(
    ("sql", "kind", "said"),
    [
        ("SELECT id FROM sale LEFT JOIN shop ON shop = name", NotLive, "LEFT"),
        ("SELECT DISTINCT shop FROM sale", NotLive, "DISTINCT"),
        ("SELECT id FROM sale, shop WHERE price > 1", NotLive, "no equality"),
        ("SELECT a.id FROM sale a, sale b, sale c WHERE a.id = b.id AND b.price = c.price AND a.shop = c.shop", NotLive, "cycle"),
        ("SELECT percentile(price, 0.5) AS p FROM sale", NotLive, "PERCENTILE"),
        ("SELECT parts, count(*) AS n FROM nested GROUP BY parts", NotLive, "GROUP BY .*parts"),
        ("SELECT more, count(*) AS n FROM nested GROUP BY more", NotLive, "GROUP BY .*more"),
        ("SELECT regexp_replace(shop, 'a', 'b') AS s FROM sale", RollviewError, "(?i)regexp_replace"),
        ("SELECT current_date() AS d FROM sale", NotLive, "current time"),
        ("SELECT rand() AS r FROM sale", RollviewError, "rand"),
        ("SELECT id, id FROM sale", UserError, "two columns named id"),
        ("SELECT id FROM nowhere", TableNotFound, "nowhere"),
        ("SELECT nothing FROM sale", RollviewError, "nothing"),
        ("SELECT id FROM sale; SELECT 1", UserError, "2 statements"),
        ("sale", ViewNotFound, "is a table"),
        ("nowhere", ViewNotFound, "nowhere"),
    ],
)  # fmt: skip
def test_what_has_no_live_view_is_refused_when_it_is_made(sql: str, kind: type[RollviewError], said: str) -> None:
    rv = opened()
    rv.sql("CREATE TABLE nested (parts ARRAY<DOUBLE>, more STRUCT<a: ARRAY<STRUCT<b: FLOAT>>>, plain ARRAY<INT>)")
    with pytest.raises(kind, match=said):
        rv.live(sql)
    assert rv.live("SELECT plain, count(*) AS n FROM nested GROUP BY plain").table().num_rows == 0


def test_a_view_that_would_take_too_much_memory_is_refused_beforehand_and_later() -> None:
    rv = opened(limits=Limits(live_bytes=500))
    with pytest.raises(TooLarge, match=r"about [\s\S]*Limits.live_bytes"):
        rv.live(JOIN)
    live = opened(limits=Limits(live_bytes=2_000_000)).live(JOIN)
    before = held(live)
    with pytest.raises(TooLarge):
        live.apply(sales(*((n, "a", 1, 1) for n in range(10, 25_000))))
    assert held(live) == before


def test_conditions_that_are_none_are_refused() -> None:
    live = opened().live(JOIN)
    for where, said in (
        ("nothing = 1", "(?s)no condition.*nothing"),
        ("id IN (SELECT 1)", "no condition"),
        ("id = 1 UNION SELECT 1", "no condition"),
        ("regexp_replace(city, 'a', 'b') = 'x'", "(?i)regexp_replace"),
        (5, "SQL or a dict"),
        ({"nothing": 1}, "no column named nothing"),
        ({"id": "x"}, "is no value of the column id"),
    ):
        with pytest.raises(RollviewError, match=said):
            live.table(where)  # type: ignore[arg-type]


def test_a_value_is_looked_up_only_if_its_column_can_have_it() -> None:
    rv = opened()
    rv.sql("CREATE TABLE at (d DATE, t TIMESTAMP, n TIMESTAMP_NTZ, p DECIMAL(5,2))")
    rv.sql(
        "INSERT INTO at VALUES (DATE'2024-01-01', TIMESTAMP'2024-01-01 10:00:00+00:00', TIMESTAMP_NTZ'2024-01-01 10:00:00', 1)"
    )
    live = rv.live("SELECT * FROM at")
    (row,) = live.get()
    for name, value in row.items():
        assert live.get({name: value}) == [row]
    local, moment = datetime(2024, 1, 1, 10), datetime(2024, 1, 1, 11, tzinfo=timezone(timedelta(hours=1)))
    assert live.get(t=moment) == live.get(n=local) == live.get(p=1) == [row]
    for name, value in (("d", moment), ("t", local), ("t", 5), ("n", moment), ("p", Decimal("1.001"))):
        with pytest.raises(UserError, match="is no value of the column"):
            live.get({name: value})
    with pytest.raises(UserError, match="with its zone"):
        live.get(t=local)


def test_changes_by_hand_are_checked_before_anything_is_changed() -> None:
    live = opened().live(JOIN)
    before = held(live)
    good = sales((9, "a", 1, 1))["sale"]
    for changes, kind, said in (
        ({"nowhere": good}, TableNotFound, "does not read nowhere"),
        ({"sale": good.drop_columns(["price"])}, ColumnNotFound, "no column price"),
        ({"sale": good.drop_columns(["__w"])}, ColumnNotFound, "copies"),
        ({"sale": good.set_column(0, "id", [["x"]])}, UserError, "column id"),
        ({"sale": [1]}, UserError, "table of Arrow"),
        (sales((99, "a", 1, -1)), NoSuchRow, "does not have"),
    ):
        with pytest.raises(kind, match=said):
            live.apply(changes)
    assert held(live) == before
    assert live.apply({"sale": good}) == 1
    assert live.get(id=9) == [{"id": 9, "price": 1, "city": "Oslo"}]
    with pytest.raises(UserError, match="not in its store"):
        live.poll()


def test_options_are_words_that_are_known() -> None:
    rv = opened()
    with pytest.raises(UserError, match="did you mean `global`"):
        rv.live(JOIN, look_ahead="globl")
    live = rv.live(JOIN)
    with pytest.raises(UserError, match="envelope"):
        live.changes(envelope="json")
    with pytest.raises(UserError, match="when_behind"):
        live.changes(when_behind="wait")
    with pytest.raises(UserError, match="push=False"):
        rv.live(JOIN, push=False).changes()
    wrong: list[tuple[Callable[[Any], object], list[Any]]] = [
        (lambda value: live.changes(batch_rows=value), [0, -1, "x", 1.5, True]),
        (lambda value: live.changes(waiting=value), [0, -1, "x"]),
        (lambda value: live.follow(value), [-1, "x", math.nan]),
        (lambda value: live.subscribe(value), [None, 5]),
        (lambda value: live.get(value), ["id = 1", 5]),
        (lambda value: live.apply(value), [None, []]),
    ]
    for call, values in wrong:
        for value in values:
            with pytest.raises(UserError):
                call(value)
    live.close()
    with pytest.raises(UserError, match="closed"):
        live.table()


def test_what_leaves_a_sum_of_floats_leaves_no_trace() -> None:
    rv = opened()
    rv.sql("CREATE TABLE f (x DOUBLE)")
    rv.sql("INSERT INTO f VALUES (0.1), (0.2)")
    live = rv.live("SELECT sum(x) AS s, avg(x) AS a FROM f")
    before = live.get()
    assert before == [{"s": 0.1 + 0.2, "a": (0.1 + 0.2) / 2}]
    for value, total in ((math.nan, math.nan), (math.inf, math.inf), (-math.inf, -math.inf), (1e308, math.inf)):
        live.apply({"f": pa.table({"x": [value], "__w": [2]})})
        assert str(live.get()[0]["s"]) == str(total)
        live.apply({"f": pa.table({"x": [value], "__w": [-2]})})
        assert live.get() == before


@pytest.mark.parametrize(("function", "sign"), [("min", -1.0), ("max", 1.0)])
def test_of_two_zeros_the_one_that_is_shown_does_not_depend_on_the_past(function: str, sign: float) -> None:
    rv = connect("duckdb:")
    rv.sql("CREATE TABLE t (id INT, x DOUBLE, PRIMARY KEY (id))")
    live = rv.live(f"SELECT {function}(x) AS x FROM t")

    def shown() -> float:
        live.poll()
        return math.copysign(1.0, live.table().to_pylist()[0]["x"])

    for statement in ("INSERT INTO t VALUES (1, 0.0D), (2, -0.0D), (3, 0.0D)", "DELETE FROM t WHERE id = 3"):
        rv.sql(statement)
        assert shown() == sign
    for id, left in ((2, 1.0), (1, -1.0)):
        rv.sql(f"DELETE FROM t WHERE id = {id}")
        assert shown() == left
        rv.sql(f"INSERT INTO t VALUES ({id}, {'-0.0D' if id == 2 else '0.0D'})")
        assert shown() == sign
