"""The DuckDB store, composed of its parts."""

from __future__ import annotations

from rollview.engine.duck import DuckEngine
from rollview.store.composed import ComposedStore
from rollview.store.duck.names import DuckNames
from rollview.store.duck.reading import DuckReading
from rollview.store.duck.statements import DuckStatements
from rollview.store.duck.tables import DuckTables
from rollview.store.duck.writing import DuckWriting


class DuckStore(ComposedStore):
    """Versioned tables in the database that an engine is connected to."""

    def __init__(self, engine: DuckEngine) -> None:
        self.data = DuckTables(engine)
        names, reading = DuckNames(self.data), DuckReading(self.data)
        writing = DuckWriting(self.data, reading)
        super().__init__(names, reading, writing, DuckStatements(self.data, names, reading, writing))
