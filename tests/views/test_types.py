"""Types that a store cannot hold, or that an engine cannot compare: views over them are right, or refused in clear words."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import shop
from rollview import Rollview, connect
from rollview.codegen.dialects import in_spark
from rollview.engine.protocol import has_no_equality
from rollview.errors import NotIncremental, Unsupported
from rollview.parse.tree import read
from rollview.views.define import tables_at
from rollview.views.dry_run import takes_plans

#: Over a table v (id, v VARIANT, g) and a table m (id, g): the strategies after rows came, and after some went.
VARIANTS = {
    "SELECT id, v:a::int AS x FROM v": ("append", "row_delta"),
    "SELECT g, sum(v:a::int) AS x, count(v) AS n FROM v GROUP BY g": ("aggregate_merge", "aggregate_merge"),
    "SELECT id, a::int AS x FROM (SELECT id, v:b.a FROM v)": ("append", "row_delta"),
    "SELECT m.id, variant_get(v.v, '$.a', 'int') AS x FROM m LEFT JOIN v ON m.g = v.g": ("row_delta", "row_delta"),
    "SELECT id, try_variant_get(v, '$.a', 'int') AS x FROM v ORDER BY id DESC LIMIT 2": ("row_delta", "row_delta"),
    "SELECT id, sum(v:a::int) OVER (PARTITION BY g ORDER BY id) AS x FROM v": ("full", "full"),
    "SELECT id, v FROM v": ("full", "full"),
}


@pytest.mark.parametrize("every", [8, pytest.param(1, marks=pytest.mark.slow)])
def test_a_view_is_planned_as_it_will_be_refreshed(every: int) -> None:
    """What is asked of the engine for views over VARIANT, asked for every conformance view: it takes them all."""
    rv = connect("duckdb:")
    for sql in shop.schema():
        rv.sql(sql)
    for view in shop.views()[::every]:
        if view.expect == "incremental":
            rv.create(view.name, view.sql, policy="INCREMENTAL")
            made = rv.catalog.get(view.name)
            state = rv.catalog.compiled(made).state
            assert state is not None
            rows = rv.store.read(rv.catalog.state(view.name))
            tables = tables_at(rv.catalog, made, rv.catalog.reflected(made).vector)
            assert takes_plans(rv.engine, view.sql, state, rows, tables), view.name


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("variant", True),
        ("array<variant>", True),
        ("struct<a:int,v:variant>", True),
        ("map<string,variant>", True),
        ("struct<variant:int>", False),
        ("string", False),
    ],
)
def test_types_without_equality(kind: str, expected: bool) -> None:
    assert has_no_equality(kind) == expected


def test_paths_into_variants_also_inside_each_other() -> None:
    (tree,) = read(
        "SELECT v:a.b[0]::int AS x, v:`x y`, parse_json(v:a::string):c FROM t WHERE get_json_object(s, '$.z') = 1"
    )
    assert in_spark(tree).sql("spark") == (
        """SELECT CAST(VARIANT_GET(v, '$["a"]["b"][0]', 'variant') AS INT) AS x, """
        """VARIANT_GET(v, '$["x y"]', 'variant') AS `x y`, """
        """VARIANT_GET(PARSE_JSON(CAST(VARIANT_GET(v, '$["a"]', 'variant') AS STRING)), '$["c"]', 'variant') AS `c` """
        """FROM t WHERE GET_JSON_OBJECT(s, '$.z') = 1"""
    )


@pytest.mark.parametrize("part", [slice(2), pytest.param(slice(2, None), marks=pytest.mark.slow)], ids=["few", "more"])
def test_views_over_variants(part: slice, opened: Callable[..., Rollview]) -> None:
    rv = opened("delta")
    views = dict(list(VARIANTS.items())[part])
    rv.sql("CREATE TABLE v (id INT, v VARIANT, g INT)")
    rv.sql("CREATE TABLE m (id INT, g INT); INSERT INTO m VALUES (1, 1), (2, 2), (3, 3)")
    rv.sql("""INSERT INTO v VALUES (1, parse_json('{"a": 1, "b": {"a": 7}}'), 1), (2, parse_json('{"a": 2}'), 1)""")
    for i, query in enumerate(views):
        rv.create(f"v{i}", query)
    changes = (
        """INSERT INTO v VALUES (3, parse_json('{"a": 5}'), 3), (4, NULL, 1)""",
        """DELETE FROM v WHERE id = 1; UPDATE v SET v = parse_json('{"a": 9, "b": {"a": 8}}') WHERE id = 2""",
    )
    for turn, change in enumerate(changes):
        rv.sql(change)
        for i, (query, expected) in enumerate(views.items()):
            result = rv.refresh(f"v{i}")
            assert (query, result.strategy) == (query, expected[turn])
            assert result.reason == ("not_comparable" if result.strategy == "full" else None)
            assert rv.verify(f"v{i}").ok, query
    with pytest.raises(NotIncremental, match="no equality"):
        rv.create("x", "SELECT id, v FROM v", policy="INCREMENTAL")


@pytest.mark.slow
def test_a_column_of_no_type_in_delta(opened: Callable[..., Rollview]) -> None:
    rv = opened("delta")
    rv.sql("CREATE TABLE t (id INT); INSERT INTO t VALUES (1), (2), (2)")
    rv.create("v", "SELECT id, NULL AS n FROM t", policy="INCREMENTAL STRICT")
    for change in ("DELETE FROM t WHERE id = 1", "INSERT INTO t VALUES (2)", "UPDATE t SET id = 3"):
        rv.sql(change)
        rv.refresh("v")
        assert rv.verify("v").ok, change


@pytest.mark.parametrize("kind", ["embedded", pytest.param("delta", marks=pytest.mark.slow)])
def test_what_cannot_be_stored(kind: str, opened: Callable[..., Rollview]) -> None:
    rv = opened(kind)
    rv.sql("CREATE TABLE t (id INT, s STRING, a TIMESTAMP, b TIMESTAMP)")
    rv.sql("INSERT INTO t VALUES (1, 'x', TIMESTAMP'2025-01-01', TIMESTAMP'2025-01-02')")
    for query, said in (
        ("SELECT id, b - a AS d FROM t", r"Column d of v has type INTERVAL(.|\n)*CAST\(`d` AS STRING\)"),
        ("SELECT s COLLATE UTF8_LCASE AS s FROM t", r"Column s of v has type STRING COLLATE UTF8_LCASE"),
        (
            "SELECT named_struct('d', array(b - a)) AS x FROM t",
            r"Column x\.d of v has type INTERVAL(.|\n)*CAST\(… AS STRING\)",
        ),
    ):
        with pytest.raises(Unsupported, match=said):
            rv.create("v", query)
    assert rv.views() == []
    rv.create("longest", "SELECT s, max(b - a) > INTERVAL 1 DAY AS long FROM t GROUP BY s")
    rv.create("top", "SELECT id FROM t ORDER BY b - a DESC, id LIMIT 1")
    rv.create("pairs", "SELECT x.id, y.id AS other FROM t AS x JOIN t AS y ON x.b - x.a = y.b - y.a AND x.id <> y.id")
    rv.sql("INSERT INTO t VALUES (2, 'x', TIMESTAMP'2025-01-01', TIMESTAMP'2025-01-03'), (3, 'y', NULL, NULL)")
    for view, strategy, reason in (
        ("longest", "full", "not_stored"),
        ("top", "full", "not_stored"),
        ("pairs", "append", None),
    ):
        result = rv.refresh(view)
        assert (view, result.strategy, result.reason) == (view, strategy, reason)
        assert rv.verify(view).ok
    with pytest.raises(NotIncremental, match="does not support"):
        rv.create("x", "SELECT id FROM t ORDER BY b - a DESC, id LIMIT 1", policy="INCREMENTAL")
