"""One Spark for the whole run: a classic session with Delta's jars, and a Connect session to the same Spark."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from rollview import Rollview, connect
from rollview.engine.session import DELTA_SETTINGS, delta_package, start_session
from rollview.errors import UserError
from rollview.limits import DEFAULT, Limits
from rollview.live.graph.protocol import GraphOf
from seeds import VARIABLE, choose_seed, sample
from stores import KINDS, need_delta

PROTOCOLS = ("classic", "connect")

# failures of the compiler are raised, not turned into a reason to recompute
os.environ.setdefault("ROLLVIEW_STRICT", "1")


#: Fixtures that start Spark, or open it when they are called.
_ON_SPARK = {"spark", "opened"}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--bless", action="store_true", help="write the golden texts again instead of comparing them")


def pytest_configure() -> None:
    choose_seed()


def pytest_report_header() -> str:
    return f"{VARIABLE}={choose_seed()}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The header again: with -q there is none."""
    terminalreporter.write_line(pytest_report_header())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks every test that needs Spark by the fixtures that it uses: `make quick` runs the others, and `make test`
    runs these in a process of their own beside the others. Of the cases of a test, or the tests of a class, that is
    marked ``one_in(n)``, those that the seed does not choose are slow."""
    families: dict[int, list[pytest.Item]] = {}
    one_in: dict[int, int] = {}
    for item in items:
        if _ON_SPARK & set(getattr(item, "fixturenames", ())):
            item.add_marker("spark")
        if marker := item.get_closest_marker("one_in"):
            families.setdefault(id(marker), []).append(item)
            one_in[id(marker)] = marker.args[0]
    for key, family in families.items():
        chosen = sample(family, one_in[key])
        for item in family:
            if item not in chosen:
                item.add_marker("slow")


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """A test that is not marked spark must not start Spark: the quick half would take longer than it promises."""
    alone = "not spark" in str(item.config.getoption("-m"))
    assert not (alone and SparkSession.getActiveSession()), f"{item.nodeid} has started Spark"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The classic session; with Delta's jars if Maven Central can be reached."""
    port = str(_free_port())
    settings = {
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.port": port,
        "spark.databricks.delta.snapshotPartitions": "1",
    }
    delta = {"spark.jars.packages": delta_package(), **DELTA_SETTINGS}
    try:
        session = start_session(delta | settings)
    except UserError:
        if os.environ.get("CI"):
            raise
        session = start_session(settings)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def remote(spark: SparkSession) -> Iterator[SparkSession]:
    """A Connect session to the same Spark."""
    from pyspark.sql.connect.session import SparkSession as ConnectSession

    port = spark.conf.get("spark.connect.grpc.binding.port")
    session: Any = ConnectSession.builder.remote(f"sc://localhost:{port}").create()
    yield session
    session.stop()


@pytest.fixture
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., Rollview]:
    """Opens a warehouse of its own for a test: ``opened("delta", "connect")``."""

    def open_one(
        kind: str = "embedded", protocol: str = "classic", folder: Path | None = None, limits: Limits = DEFAULT
    ) -> Rollview:
        classic: SparkSession = request.getfixturevalue("spark")
        if kind == "delta":
            need_delta(classic)
        session = classic.newSession() if protocol == "classic" else request.getfixturevalue("remote")
        return connect(folder or tmp_path / "warehouse", spark=session, store=kind, limits=limits)  # type: ignore[arg-type]

    return open_one


@pytest.fixture
def rv(opened: Callable[..., Rollview]) -> Rollview:
    """An embedded warehouse on the classic session."""
    return opened()


@pytest.fixture(params=KINDS)
def rv_each(request: pytest.FixtureRequest, opened: Callable[..., Rollview]) -> Rollview:
    """A warehouse in each store, on the classic session."""
    return opened(request.param)


#: Every store on every kind of session; Delta on Connect, the slowest and least different, in the slow half.
EVERYWHERE = [
    pytest.param(
        (kind, protocol),
        id=f"{kind}-{protocol}",
        marks=[pytest.mark.slow] if (kind, protocol) == ("delta", "connect") else [],
    )
    for protocol in PROTOCOLS
    for kind in KINDS
]


@pytest.fixture(params=EVERYWHERE)
def rv_all(request: pytest.FixtureRequest, opened: Callable[..., Rollview]) -> Rollview:
    """A warehouse in each store, on each kind of session."""
    return opened(*request.param)


@pytest.fixture(params=["reference", "generic", "specific"])
def each_graph(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> GraphOf:
    """The join graph that all live examples of a test have: each of the three in turn."""
    from live_examples import Example
    from live_interpreted import InterpretedGraph
    from rollview.live.graph.reference import ReferenceGraph
    from rollview.live.kernel.graph import CompiledGraph

    graphs: dict[str, GraphOf] = {
        "reference": ReferenceGraph,
        "generic": CompiledGraph,
        "specific": InterpretedGraph,
    }
    found = graphs[request.param]
    monkeypatch.setattr(Example, "graph_of", staticmethod(found))
    return found
