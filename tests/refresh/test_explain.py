"""Explain: one screen for people, the whole for those who ask, values for programs."""

from __future__ import annotations

import json

import pytest

import shop
from compare import rows
from rollview import NotIncremental, Rollview, connect
from rollview.errors import SqlError
from rollview.limits import Limits
from rounds import VIEWS
from seeds import sample

PLAIN = Limits()
HELPERS_FOR_ALL = Limits(helper_rows=0, helper_rows_per_group=0)


@pytest.fixture
def rv() -> Rollview:
    rv = connect("duckdb:")
    rv.sql("CREATE TABLE sales (id INT, city STRING, amount INT, PRIMARY KEY (id))")
    rv.sql("INSERT INTO sales VALUES (1, 'Oslo', 10), (2, 'Oslo', 5), (3, 'Turin', 7)")
    rv.create("per_city", "SELECT city, sum(amount) AS total, max(amount) AS most FROM sales GROUP BY city")
    return rv


def test_a_view_is_explained_on_one_screen(rv: Rollview) -> None:
    rv.sql("INSERT INTO sales VALUES (4, 'Turin', 1)")
    lines = rv.explain("per_city").splitlines()
    assert len(lines) < 40
    assert max(map(len, lines)) < 160
    for part in (
        "    sales at version 1: 1 commit behind, key (id)",
        "    one row for each group, with the sums and counts that changes are added to",
        "    key: city",
        "    hidden columns: __p0, __p1, __n",
        "    aggregate_merge: 1 changed row of sales",
        "      rows: merged into the state on its key, from sales change",
    ):
        assert part in lines, part


def test_the_strategy_that_is_named_is_the_one_that_is_taken(rv: Rollview) -> None:
    for sql in (
        "INSERT INTO sales VALUES (5, 'Oslo', 3)",
        "UPDATE sales SET amount = amount + 1 WHERE id = 5",
        "DELETE FROM sales WHERE id = 5",
        "UPDATE sales SET city = city",
    ):
        rv.sql(sql)
        told = rv.explanation("per_city").next
        assert told.strategy == rv.refresh("per_city").strategy, sql


@pytest.mark.parametrize("limits", [PLAIN, HELPERS_FOR_ALL], ids=["plain", "helpers"])
@pytest.mark.parametrize("one_in", [24, pytest.param(1, marks=pytest.mark.slow)])
def test_the_strategy_that_is_named_for_a_view_of_any_kind_is_the_one_that_is_taken(
    limits: Limits, one_in: int
) -> None:
    """How many rows of a helper will change is not known beforehand, and arrays are not compared: it may turn out that
    there are only new rows, or none."""
    rv, views = connect("duckdb:", limits=limits), sample(VIEWS, one_in)
    for sql in shop.schema():
        rv.sql(sql)
    for view in views:
        rv.create(view.name, view.sql)
    wrong = []
    for turn in shop.rounds():
        for sql in turn.statements:
            rv.sql(sql)
        for view in views:
            told, done = rv.explanation(view.name).next, rv.refresh(view.name)
            strategy = "no_op" if "of a helper" in done.part else done.strategy
            open_ = rv.catalog.get(view.name).helpers or told.why.startswith("changes of")
            if strategy not in {told.strategy, *({"no_op", "append"} if open_ else ())}:
                wrong.append((turn.name, view.name, told, done.strategy))
    assert wrong == []


def test_a_view_that_may_not_be_recomputed_is_not_said_to_be(rv: Rollview) -> None:
    rv.create("kept", "SELECT id FROM sales", policy="INCREMENTAL STRICT")
    rv.sql("DROP TABLE sales")
    rv.sql("CREATE TABLE sales (id INT, city STRING, amount INT, PRIMARY KEY (id))")
    told = rv.explanation("kept").next
    assert told.strategy is None
    with pytest.raises(NotIncremental) as refused:
        rv.refresh("kept")
    assert refused.value.why == told.why


def test_the_steps_that_ran_are_told_with_what_was_done_to_them(rv: Rollview) -> None:
    rv.sql("CREATE TABLE city (city STRING, land STRING, PRIMARY KEY (city)); INSERT INTO city VALUES ('Oslo', 'N')")
    rv.create("joined", "SELECT id, land FROM sales JOIN city USING (city)")
    rv.sql("UPDATE sales SET city = 'Turin' WHERE id = 1")
    (ran,) = rv.refresh("joined").ran
    assert ran.reads == ("city new", "sales change")
    assert "keys listed as literals" in ran.passes


def test_verbose_has_the_plan_and_the_sql(rv: Rollview) -> None:
    short, long = rv.explain("per_city"), rv.explain("per_city", verbose=True)
    propagation = short[short.index("  propagation\n") : short.index("  next refresh\n")]
    assert propagation in long
    assert len(long) - len(propagation) > 2 * (len(short) - len(propagation))
    for part in ("aggregate by t0_city", "GROUP BY `city`", "refresh: group_recompute"):
        assert part in long
        assert part not in short
    assert rows(rv.sql("EXPLAIN MATERIALIZED VIEW per_city VERBOSE")) == [(long,)]


def section(text: str, name: str) -> list[str]:
    """The lines under a heading."""
    lines = text.splitlines()
    rest = lines[lines.index(f"  {name}") + 1 :]
    end = next((i for i, line in enumerate(rest) if not line.startswith("    ")), len(rest))
    return [line.strip() for line in rest[:end]]


def test_verbose_names_the_trait_of_each_operator(rv: Rollview) -> None:
    rv.sql("CREATE TABLE city (city STRING, land STRING, PRIMARY KEY (city))")
    rv.create("lands", "SELECT land, count(*) AS n FROM sales JOIN city USING (city) WHERE amount > 0 GROUP BY land")
    rv.create("far", "SELECT id FROM sales LEFT ANTI JOIN city USING (city) ORDER BY id LIMIT 3")
    assert section(rv.explain("lands", verbose=True), "traits") == [
        "source: scan",
        "linear: filter, project",
        "bilinear: inner join",
        "grouped: aggregate",
    ]
    assert section(rv.explain("far", verbose=True), "traits") == [
        "source: scan",
        "linear: project",
        "matched: anti join",
        "ordered: limit",
    ]


def test_a_list_of_columns_breaks_between_columns(rv: Rollview) -> None:
    names = [f"total_{'x' * (i % 7)}{i}" for i in range(30)]
    rv.create(
        "wide",
        f"SELECT city, {', '.join(f'sum(amount + {i}) AS {name}' for i, name in enumerate(names))} "
        "FROM sales GROUP BY city",
    )
    lines = section(rv.explain("wide"), "columns")
    assert len(lines) > 3
    assert max(map(len, lines)) <= 104
    assert " ".join(lines) == ", ".join(["city string", *(f"{name} hugeint" for name in names)])
    assert all(len(part.split()) == 2 for line in lines for part in line.rstrip(",").split(", "))


def test_a_type_of_duckdb_alone_has_its_name_there(rv: Rollview) -> None:
    assert dict(rv.explanation("per_city").columns)["total"] == "hugeint"
    assert ("total", "hugeint") in rows(rv.sql("DESCRIBE MATERIALIZED VIEW per_city"))


def test_a_tie_broken_by_the_branch_of_a_union_is_said_in_words(rv: Rollview) -> None:
    branches = "SELECT id, amount FROM sales UNION ALL SELECT id, amount FROM sales WHERE amount > 6"
    rv.create("first", f"SELECT id, amount FROM ({branches}) ORDER BY amount LIMIT 1")
    text = rv.explain("first")
    assert "LIMIT 1: ties by the key: id, the branch of the UNION ALL" in text
    assert "key: id, the branch of the UNION ALL (hidden)" in text
    assert "__branch" not in text


def test_an_explanation_is_json_for_programs(rv: Rollview) -> None:
    found = json.loads(json.dumps(rv.explanation("per_city").to_json()))
    assert found["next"]["strategy"] == "no_op"
    assert found["reads"][0]["key"] == ["id"]
    assert {each["strategy"] for each in found["strategies"]} >= {"append", "aggregate_merge", "full"}


def test_what_the_engine_has_against_a_plan_is_told(rv: Rollview, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*_: object) -> object:
        raise SqlError("this cannot be selected")

    with monkeypatch.context() as patched:
        patched.setattr(rv.engine, "over_state", refuses)
        rv.create("odd", "SELECT id FROM sales WHERE amount > 5")
    assert rv.catalog.get("odd").always_full == "not_compiled"
    assert "this cannot be selected" in (rv.explanation("odd").not_planned or "")
    assert rv.verify("odd").ok
