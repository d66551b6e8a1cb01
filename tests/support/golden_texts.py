"""What the compiler makes of a view, as one text: plan, key, what is stored, Δ-scripts, SQL and explanation.

The texts of the conformance views, of ``more_views.sql`` and of TPC-H lie in ``tests/golden/``; a change of the code that is
to leave behaviour as it is leaves them byte-equal. ``pytest --bless tests/golden`` writes them again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import shop
from rollview import Rollview, connect
from rollview.bench.tpch import TABLES, queries
from rollview.codegen.printer import print_plan
from rollview.delta.derivation import Step
from rollview.errors import RollviewError
from rollview.refresh.explain import plan_of
from rollview.strategy.show import show_stages

FOLDER = Path(__file__).parents[1] / "golden"

#: Explanations have the SQL for Spark.
DIALECTS = ("duckdb", "postgres")


def shop_views() -> dict[str, str]:
    return {view.name: view.sql for view in (*shop.views(), *shop.more_views()) if not view.spark_only}


def shop_session() -> Rollview:
    rv = connect("duckdb:")
    for statement in shop.schema():
        rv.sql(statement)
    return rv


def tpch_session() -> Rollview:
    rv = connect("duckdb:")
    for name, table in TABLES.items():
        columns = ", ".join(f"{column} {kind}" for column, kind in table.columns)
        rv.sql(f"CREATE TABLE {name} ({columns}, PRIMARY KEY ({', '.join(table.key)}))")
    return rv


#: What is compiled and compared at a time: the views of a folder whose names begin with some letters.
PARTS = ("shop/[a-b]", "shop/[c-k]", "shop/[l-q]", "shop/[r-z]", "tpch/[a-z]")


def texts(part: str) -> Iterator[tuple[str, str]]:
    """The name of each file in ``tests/golden/`` that belongs to a part, and what belongs into it."""
    tpch = part.startswith("tpch")
    rv, views = (tpch_session(), queries()) if tpch else (shop_session(), shop_views())
    for name, sql in views.items():
        file = f"{'tpch' if tpch else 'shop'}/{name}.txt"
        if not fnmatch(file, f"{part}*.txt"):
            continue
        try:
            rv.create(name, sql)
        except RollviewError as error:
            yield file, f"== refused\n{error}\n"
            continue
        yield file, golden_text(rv, name)
        rv.sql(f"DROP MATERIALIZED VIEW {name}")


def golden_text(rv: Rollview, name: str) -> str:
    view = rv.catalog.get(name)
    compiled = rv.catalog.compiled(view)
    layout = view.layout
    parts = {"explain": re.sub(r"since \d{4}-.* UTC", "since <time>", rv.explain(name, verbose=True)).splitlines()}
    parts["stored"] = [f"{layout.kind}: {', '.join(layout.columns)}", f"on {', '.join(layout.on)}", layout.show]
    parts["reason"] = [f"{view.always_full}, helpers: {[(each.id, each.tables) for each in view.helpers]}"]
    if compiled.query is not None:
        for dialect in DIALECTS:
            parts[dialect] = print_plan(compiled.query.plan, dialect, lines=True).splitlines()
    if compiled.state is not None and view.always_full is None:
        tables = sorted(view.bases)
        for table in tables if len(tables) > 1 else ():
            plan = plan_of(rv.catalog, view, [table])
            assert plan is not None
            nothing = plan.write is None
            parts[f"change of {table}"] = ["nothing"] if nothing else [plan.strategy, *show_stages(plan)]
        plan = plan_of(rv.catalog, view, tables)
        if plan is not None and plan.write is not None:
            for step in (*plan.steps, Step("rows", plan.write.rows, "")):
                parts[f"SQL of {step.name}"] = print_plan(step.plan, "spark", lines=True).splitlines()
    lines = [line for title, body in parts.items() for line in (f"== {title}", *body, "")]
    text = "\n".join(line.rstrip() for line in lines)
    return re.sub(r"__rollview_helper_[0-9a-f]{8}_", "__rollview_helper_<id>_", text)
