"""The stores that every promise is tested on, and whether Delta's jars are there."""

from __future__ import annotations

import os

import pytest
from pyspark.sql import SparkSession

from rollview.engine.session import delta_package, require_delta
from rollview.errors import UserError

KINDS = ("embedded", "delta")


def need_delta(spark: SparkSession) -> None:
    """Skips a test that needs Delta's jars where they could not be resolved; with CI=true they must be there."""
    try:
        require_delta(spark)
    except UserError:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"{delta_package()} could not be resolved from Maven Central")
