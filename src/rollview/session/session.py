"""What a session has: views, their store and their engine."""

from __future__ import annotations

from rollview.engine.protocol import Engine
from rollview.errors import UserError
from rollview.limits import DEFAULT, Limits
from rollview.parse.names import parse_name
from rollview.session.arguments import NAME, NAME_TODO, check_text
from rollview.store.protocol import Store
from rollview.views.catalog import Catalog


class Session:
    """Views, their store and their engine, until it is closed."""

    def __init__(self, engine: Engine, store: Store, limits: Limits = DEFAULT) -> None:
        self._catalog: Catalog | None = Catalog(store, engine, limits)

    @property
    def catalog(self) -> Catalog:
        """The views, their store and their engine. Raises an error if the session is closed."""
        if self._catalog is None:
            raise UserError("This session is closed", todo="open another: rollview.connect(…)")
        return self._catalog

    @property
    def engine(self) -> Engine:
        """What computes."""
        return self.catalog.engine

    @property
    def store(self) -> Store:
        """Where the tables are."""
        return self.catalog.store

    def close(self) -> None:
        """Ends the session; it can be closed again, but not used. Spark is stopped if rollview started it and no other
        open session of this process uses it; a Spark session that was given stays as it is."""
        if self._catalog is not None:
            self._catalog.engine.close()
        self._catalog = None

    def _name(self, name: str) -> str:
        check_text(name, NAME, NAME_TODO)
        return self.store.canonical(parse_name(name))
