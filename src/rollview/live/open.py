"""Makes a live view of what a caller names: a materialized view, or a query."""

from __future__ import annotations

import re

from rollview.errors import UserError
from rollview.limits import Limits
from rollview.live.definition import of_query, of_view
from rollview.live.follow.source import Source
from rollview.live.graph.protocol import LookAhead
from rollview.live.live import Live
from rollview.live.serve.options import chosen
from rollview.parse.names import parse_name
from rollview.parse.tokens import split_script
from rollview.views.catalog import Catalog

#: How a query begins, and no name does.
_QUERY = re.compile(
    r"\s*(?:--[^\n]*\n\s*|/\*.*?\*/\s*)*(?:(?:select|with|from|values)(?![\w.`])|\()", re.IGNORECASE | re.DOTALL
)


def live_view(catalog: Catalog, view: str, *, push: bool, look_ahead: str, limits: Limits) -> Live:
    """A live view at the newest versions of its tables. Raises NotLive or Refused if it can have none."""
    how = chosen(LookAhead, look_ahead, "look_ahead")
    if _QUERY.match(view):
        statements = split_script(view)
        if len(statements) != 1:
            raise UserError(f"A live view has one query, not {len(statements)} statements")
        definition = of_query(catalog, statements[0])
    else:
        definition = of_view(catalog, catalog.store.canonical(parse_name(view)))
    return Live(definition, Source(catalog, definition), catalog.engine, limits, push=push, look_ahead=how)
