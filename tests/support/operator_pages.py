"""The examples of the operators' pages: the Δ-script of a view in which every table changed."""

from __future__ import annotations

from rollview import connect
from rollview.parse.tokens import split_script
from rollview.strategy.script import refresh_script, show_script
from rollview.views.define import compiled_view


def script_of(sql: str) -> str:
    """What ``explain`` shows of the refresh of the one view that a script makes."""
    rv = connect("duckdb:")
    for statement in split_script(sql):
        rv.sql(statement)
    view = rv.catalog.all()[0]
    state = compiled_view(rv.catalog, view).state
    assert state is not None
    script = refresh_script(state, view.tables)
    assert script is not None
    return "\n".join([f"strategy {script.strategy}", *show_script(script)])
