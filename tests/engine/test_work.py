"""What a block of code did: rows read, jobs run, bytes written."""

from __future__ import annotations

import subprocess
import sys
import threading
import uuid
from pathlib import Path

import duckdb
import pytest
from pyspark.sql import SparkSession

from rollview.engine.duck import DuckEngine, DuckFrame
from rollview.engine.event_log import EventLog
from rollview.engine.spark import SparkEngine
from rollview.engine.work import NOTHING_DONE, Constant, Counts, Work, measured, read_here, wrote_here
from rollview.limits import DEFAULT


def figures(work: Work) -> tuple[int | None, int | None, int | None]:
    return work.rows_read, work.jobs, work.bytes_written


def test_rows_read_in_this_process_are_added_to_those_of_the_engine() -> None:
    with measured(Constant(Counts(10, 2, 100))) as work:
        read_here(3)
        wrote_here(7)
        work.read(1)
    assert figures(work) == (14, 2, 107)


def test_what_the_engine_cannot_tell_is_not_told() -> None:
    with measured(Constant(Counts())) as work:
        read_here(3)
    assert figures(work) == (None, None, None)


def test_an_outer_block_includes_what_an_inner_one_read_here() -> None:
    with measured(Constant(NOTHING_DONE)) as outer:
        read_here(1)
        try:
            with measured(Constant(NOTHING_DONE)) as failing:
                read_here(20)
                raise KeyError
        except KeyError:
            pass
        with measured(Constant(NOTHING_DONE)) as inner:
            read_here(300)
    read_here(4000)
    assert (outer.rows_read, failing.rows_read, inner.rows_read) == (321, 20, 300)


def test_blocks_belong_to_threads() -> None:
    with measured(Constant(NOTHING_DONE)) as work:
        other = threading.Thread(target=read_here, args=(5,))
        other.start()
        other.join()
    assert work.rows_read == 0


def test_duckdb_runs_no_jobs_and_does_not_tell_what_it_read() -> None:
    engine = DuckEngine(duckdb.connect())
    with engine.measured() as work:
        engine.fetch(DuckFrame("SELECT count(*) FROM range(5)"))
        read_here(3)
    assert figures(work) == (None, 0, None)


@pytest.fixture
def files(spark: SparkSession, tmp_path: Path) -> tuple[Path, Path]:
    """Files of 3000 and 200 rows."""
    spark.range(3000).selectExpr("id", "id % 200 AS k").write.parquet(str(tmp_path / "many"))
    spark.range(200).selectExpr("id AS k").write.parquet(str(tmp_path / "few"))
    return tmp_path / "many", tmp_path / "few"


def test_spark_counts_the_rows_of_the_files_that_it_reads(
    spark: SparkSession, files: tuple[Path, Path], tmp_path: Path
) -> None:
    many, few = (spark.read.parquet(str(file)) for file in files)
    context, tracker, group = spark.sparkContext, spark.sparkContext.statusTracker(), uuid.uuid4().hex
    engine = SparkEngine(spark)
    context.setJobGroup(group, "")
    context.addJobTag("mine")
    with engine.measured() as outer:
        assert many.where("id % 7 = 0").count() == 429
        with engine.measured() as inner:
            many.join(few, "k").write.parquet(str(tmp_path / "joined"))
            inner.read(5)
        with engine.measured() as idle:
            pass
    assert set(context.getJobTags()) == {"mine"}
    context.removeJobTag("mine")
    context.setJobGroup("", "")
    written = sum(file.stat().st_size for file in (tmp_path / "joined").glob("*.parquet"))
    assert (outer.rows_read, inner.rows_read, idle.rows_read) == (6205, 3205, 0)
    assert outer.bytes_written == inner.bytes_written == written
    assert outer.jobs == len(tracker.getJobIdsForGroup(group))
    assert (inner.jobs or 0) > 0
    assert idle.jobs == 0


def test_a_list_of_keys_reads_only_the_pages_that_can_hold_them(spark: SparkSession, tmp_path: Path) -> None:
    """Keys from both ends of a table, fewer than are listed in a query: what lies between them is not read."""
    spark.range(0, 200_000, 1, 1).write.parquet(str(tmp_path / "t"))
    half = DEFAULT.listed_keys // 2
    keys = [*range(half), *range(200_000 - half, 200_000)]
    with SparkEngine(spark).measured() as work:
        found = spark.read.parquet(str(tmp_path / "t")).where(f"id IN ({', '.join(map(str, keys))})").count()
    assert found == len(keys)
    assert work.rows_read == 40_000  # two pages of Parquet


def test_blocks_of_two_threads_do_not_mix(spark: SparkSession, files: tuple[Path, Path]) -> None:
    engine, found = SparkEngine(spark), {}
    together = threading.Barrier(2)

    def read(file: Path) -> None:
        with engine.measured() as work:
            together.wait()
            for _ in range(3):
                spark.read.parquet(str(file)).where("k >= 0").count()
            together.wait()
        found[file] = work.rows_read

    threads = [threading.Thread(target=read, args=(file,)) for file in files]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {files[0]: 9000, files[1]: 600}


def test_spark_connect_does_not_tell_what_it_read(remote: SparkSession, files: tuple[Path, Path]) -> None:
    with SparkEngine(remote).measured() as work:
        assert remote.read.parquet(str(files[0])).count() == 3000
        read_here(5)
    assert figures(work) == (None, None, None)


TASK = '{"Event":"SparkListenerTaskEnd","Stage ID":%d,"Task Metrics":{"Input Metrics":{"Records Read":%d}}}\n'
JOB = '{"Event":"SparkListenerJobStart","Job ID":%d,"Stage IDs":[%d],"Properties":{"spark.job.tags":"%s"}}\n'


def test_a_log_in_parts_is_read_once_and_whole(tmp_path: Path) -> None:
    """Spark goes on in another part when one is full; parts that have been read are removed."""
    first, second = tmp_path / "events_1_app", tmp_path / "events_2_app"
    half = TASK % (1, 100)
    first.write_text(JOB % (0, 1, "rollview-a") + half[:50])
    log = EventLog(tmp_path, own=True)
    log.begin("rollview-a")
    with first.open("a") as file:
        file.write(half[50:] + JOB % (1, 1, "rollview-a") + TASK % (1, 20) + TASK % (2, 3000))
    log.advance()
    second.write_text(TASK % (1, 4) + JOB % (2, 5, "rollview-ab"))
    log.advance()
    log.advance()
    assert log.counts("rollview-a") == Counts(24, 1, 0)
    assert [file.name for file in tmp_path.iterdir()] == ["events_2_app"]


SESSIONS = """
import sys
from pyspark.sql import SparkSession
from rollview import connect

def used(rv):
    with rv.engine.measured() as outer:
        rv.sql("CREATE TABLE t (id INT)")
        rv.sql("INSERT INTO t SELECT CAST(id AS INT) FROM range(1000)")
        with rv.engine.measured() as work:
            assert rv.table("t").where("id % 2 = 0").count() == 500
    print(work.rows_read, work.jobs == 2, outer.jobs == 3, outer.rows_read, (outer.bytes_written or 0) > 1000)

for number, ui in enumerate(("false", "true")):  # before rollview starts Spark: Java keeps the settings of the first
    given = SparkSession.builder.master("local[1]").config("spark.ui.enabled", ui).config("spark.ui.port", "0")
    spark = given.getOrCreate()
    used(connect(sys.argv[1] + f"/given{number}", spark=spark))
    spark.stop()
with connect(sys.argv[1] + "/started") as rv:
    used(rv)
"""


@pytest.mark.spark
def test_each_kind_of_session_tells_what_it_can(tmp_path: Path) -> None:
    """A session of a user tells nothing with neither an event log nor a web interface, and all with a web interface. So
    does one that rollview starts inside a block, from its first job on."""
    command = [sys.executable, "-c", SESSIONS, str(tmp_path)]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    assert told.stdout.splitlines() == [
        "None False False None False",
        "1000 True True 2000 True",
        "1000 True True 2000 True",
    ], told.stderr
