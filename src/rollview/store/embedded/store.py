"""The embedded store, composed of its parts."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from rollview.engine.sources import SparkSource
from rollview.limits import DEFAULT, Limits
from rollview.store.composed import ComposedStore
from rollview.store.embedded.folder import Folder
from rollview.store.embedded.names import EmbeddedNames
from rollview.store.embedded.reading import EmbeddedReading
from rollview.store.embedded.statements import EmbeddedStatements
from rollview.store.embedded.temp_views import TempViews
from rollview.store.embedded.writing import EmbeddedWriting


class EmbeddedStore(ComposedStore):
    """Delta tables in a folder, read and written without Delta's jars."""

    def __init__(self, spark: SparkSession | SparkSource, folder: str | Path, limits: Limits = DEFAULT) -> None:
        self.folder = Folder(spark, folder, limits)
        self.root = self.folder.root
        reading = EmbeddedReading(self.folder)
        self.views = TempViews(self.folder, reading.identity, reading.read)
        names, writing = EmbeddedNames(self.folder, self.views), EmbeddedWriting(self.folder, self.views)
        super().__init__(names, reading, writing, EmbeddedStatements(self.folder, self.views, names, writing))
