"""Local Spark sessions that rollview itself starts."""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from importlib.metadata import version as package_version
from pathlib import Path

import pyspark
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from rollview.engine.event_log import log_settings
from rollview.errors import JavaMissing, UserError
from rollview.limits import DEFAULT

OLDEST_JAVA = 17

#: The setting that names jars to load. They are loaded when Java is started, which happens once in a process.
_JARS = "spark.jars.packages"
_loaded: list[str | None] = []

_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": str(max(2, os.cpu_count() or 2)),
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # the code of a refresh is compiled once, not at every refresh: the cache has room for many views, and lists of
    # affected keys are kept out of the code
    "spark.sql.codegen.cache.maxEntries": "5000",
    "spark.sql.optimizer.inSetConversionThreshold": "0",
    "spark.sql.optimizer.inSetSwitchThreshold": "0",
    # for longer lists, Parquet files are skipped only by the least and the greatest key
    "spark.sql.parquet.pushdown.inFilterThreshold": str(DEFAULT.listed_keys),
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
    "spark.driver.memory": "4g",
    "spark.log.level": "ERROR",
}

#: The settings by which Spark reads and writes Delta tables.
DELTA_SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "2",
}


def delta_package() -> str:
    """The Maven coordinates of Delta for the installed Spark."""
    spark = ".".join(pyspark.__version__.split(".")[:2])
    return f"io.delta:delta-spark_{spark}_2.13:{package_version('delta-spark')}"


def local_session(*, beside: SparkSession | None = None, delta: bool = False) -> SparkSession:
    """A local Spark session that logs errors only, with Delta's jars if ``delta``.

    Without a running session, Spark is started. With a session ``beside`` it, Spark is shared, and the new session has
    its own settings and temporary views.
    """
    if beside is not None:
        if delta:
            require_delta(beside)
        return beside.newSession()
    settings = DELTA_SETTINGS | {_JARS: delta_package()} if delta else {}
    return start_session(settings)


def start_session(settings: Mapping[str, str]) -> SparkSession:
    """Starts Spark in this process, with these settings in addition to the usual ones."""
    require_java()
    if _loaded and settings.get(_JARS) not in (None, *_loaded):
        raise UserError(
            "Delta's jars can no longer be loaded",
            why="Spark was started without them in this process, and Java loads jars only when it starts",
            todo="open the warehouse with store='delta' before any other, or in a process of its own",
        )
    PySparkLogger.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    builder = (
        SparkSession.builder.master("local[*]")
        .appName("rollview")
        .config(map={**_SETTINGS, **log_settings(), **settings})
    )
    log = Path(tempfile.gettempdir()) / f"rollview-spark-{os.getpid()}.log"
    try:
        with _stderr_to(log):
            session = builder.getOrCreate()
    except Exception as error:
        said = log.read_text(errors="replace").splitlines() if log.exists() else []
        tail = [line.strip() for line in said if line.strip() and not line.strip().startswith("at ")][-8:]
        raise UserError(
            "Spark did not start", why="\n".join([str(error), *tail]), todo=f"the whole log is in {log}"
        ) from error
    _loaded.append(settings.get(_JARS))
    atexit.register(log.unlink, missing_ok=True)
    session.sparkContext.setLogLevel("ERROR")
    return session


def require_delta(spark: SparkSession) -> None:
    """Raises an error that says how to configure Delta, unless the session is configured for it."""
    if "DeltaSparkSessionExtension" in (spark.conf.get("spark.sql.extensions", "") or ""):
        return
    lines = [f"  .config('spark.jars.packages', '{delta_package()}')"]
    lines += [f"  .config('{k}', '{v}')" for k, v in DELTA_SETTINGS.items() if "snapshot" not in k]
    raise UserError(
        "This Spark session is not configured for Delta tables",
        why="its setting spark.sql.extensions does not name DeltaSparkSessionExtension",
        todo="build the session with\n" + "\n".join(lines) + "\nor use rollview.connect(folder) without a session",
    )


def require_java() -> None:
    """Raises an error that names the package to install, unless there is a Java on which Spark runs."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    if java is None:
        where = f"JAVA_HOME is {home}, which has no bin/java" if home else "there is no java on the PATH"
        raise JavaMissing("Spark needs Java 17 or newer, and none was found", why=where, todo=_install_java())
    shown = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    match = re.search(r'version "(\d+)(?:\.(\d+))?', shown)
    if match is None:
        return
    major = int(match[2] or 0) if match[1] == "1" else int(match[1])
    if major < OLDEST_JAVA:
        raise JavaMissing(f"Spark needs Java {OLDEST_JAVA} or newer, but {java} is Java {major}", todo=_install_java())


def _install_java() -> str:
    if sys.platform == "darwin":
        return "install it: brew install openjdk@17"
    if sys.platform == "win32":
        return "install it: winget install Microsoft.OpenJDK.17"
    return (
        "install it: apt install openjdk-17-jre-headless (Debian, Ubuntu), "
        "dnf install java-17-openjdk-headless (Fedora, RHEL), apk add openjdk17-jre-headless (Alpine)"
    )


@contextlib.contextmanager
def _stderr_to(log: Path) -> Iterator[None]:
    """Redirects stderr to a file. Processes started inside the block, such as the JVM, keep writing there."""
    sys.stderr.flush()
    try:
        saved = os.dup(2)
    except OSError:
        yield
        return
    try:
        with open(log, "wb") as sink:
            os.dup2(sink.fileno(), 2)
        yield
    finally:
        sys.stderr.flush()
        os.dup2(saved, 2)
        os.close(saved)
