"""The examples of the operators' pages: the Δ-script of a view in which every table changed."""

from __future__ import annotations

from rollview import connect
from rollview.parse.tokens import split_script
from rollview.refresh.explain import plan_of
from rollview.strategy.show import show_stages


def script_of(sql: str) -> str:
    """What ``explain`` shows of the refresh of the one view that a script makes."""
    rv = connect("duckdb:")
    for statement in split_script(sql):
        rv.sql(statement)
    view = rv.catalog.all()[0]
    plan = plan_of(rv.catalog, view, view.tables)
    assert plan is not None
    return "\n".join([f"strategy {plan.strategy}", *show_stages(plan)])
