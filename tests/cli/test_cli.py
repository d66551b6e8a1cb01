"""The command line: what it prints, to whom, and with which exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner, Result

from rollview.cli.main import app
from rollview.store.edits import Append


@pytest.fixture
def run(spark: SparkSession, tmp_path: Path) -> Any:
    def invoke(*arguments: str, stdin: str | None = None) -> Result:
        place = [] if "demo" in arguments or "bench" in arguments else ["-w", str(tmp_path / "warehouse")]
        return CliRunner().invoke(app, [*arguments, *place], input=stdin)

    return invoke


@pytest.fixture
def shop(run: Any) -> Any:
    done = run("sql", "-e", "CREATE TABLE t (id INT, v STRING, PRIMARY KEY (id)); INSERT INTO t VALUES (1, 'a'), (2, NULL)",
               "-e", "CREATE MATERIALIZED VIEW n AS SELECT count(*) AS n FROM t; CREATE MATERIALIZED VIEW m AS SELECT n + 1 AS m FROM n")  # fmt: skip
    assert done.exit_code == 0, done.output
    return run


def test_sql_shows_rows(shop: Any) -> None:
    shown = shop("sql", "-e", "SELECT * FROM t ORDER BY id")
    assert shown.exit_code == 0
    assert [line.split() for line in shown.stdout.splitlines() if line.strip() and "─" not in line] == [
        ["id", "v"],
        ["1", "a"],
        ["2", "NULL"],
        ["2", "rows"],
    ]
    assert "\x1b" not in shown.stdout
    found = json.loads(shop("sql", "--json", "-e", "SELECT * FROM t ORDER BY id").stdout)
    assert found == {"columns": ["id", "v"], "rows": [{"id": 1, "v": "a"}, {"id": 2, "v": None}], "truncated": False}
    assert json.loads(shop("sql", "--json", "--limit", "1", "-e", "SELECT * FROM t").stdout)["truncated"] is True


def test_sql_from_a_file_and_from_a_pipe(shop: Any, tmp_path: Path) -> None:
    script = tmp_path / "s.sql"
    script.write_text("INSERT INTO t VALUES (3, 'é;'); -- done;\nSELECT max(v) AS m FROM t")
    outputs = shop("sql", "--json", "-f", str(script)).stdout.splitlines()
    assert [json.loads(line)["rows"] for line in outputs] == [
        [{"inserted": 1, "updated": 0, "deleted": 0}],
        [{"m": "é;"}],
    ]
    assert json.loads(shop("sql", "--json", stdin="SELECT 1 AS one").stdout)["rows"] == [{"one": 1}]
    missing = shop("sql", "-f", str(tmp_path / "no.sql"))
    assert missing.exit_code == 1
    assert "cannot be read" in missing.stderr


def test_statements_about_tables_count_no_rows(shop: Any) -> None:
    done = shop(
        "sql", "-e", "CREATE TABLE u (id INT)", "-e", "CREATE TABLE IF NOT EXISTS u (id INT)", "-e", "DROP TABLE u"
    )
    assert (done.exit_code, done.stdout) == (0, "")
    made = shop("sql", "-e", "CREATE TABLE u AS SELECT * FROM t")
    assert made.stdout.split()[:3] == ["inserted", "updated", "deleted"]
    assert json.loads(shop("sql", "--json", "-e", "CREATE TABLE w (id INT)").stdout) == {
        "columns": [], "rows": [], "truncated": False,
    }  # fmt: skip


def test_arguments_of_statements(shop: Any) -> None:
    text = "SELECT :id + 1 AS a, :city AS b, :zip AS c, :price AS d, :none AS e, :list AS f"
    done = shop("sql", "--json", "-e", text, "--arg", "id=1", "--arg", "city=O'slo = :id", "--arg", 'zip="0150"',
                "--arg", "price=1.50", "--arg", "none=null", "--arg", "list=[1, 2]")  # fmt: skip
    assert json.loads(done.stdout)["rows"] == [
        {"a": 2, "b": "O'slo = :id", "c": "0150", "d": "1.50", "e": None, "f": [1, 2]}
    ]
    shared = shop("sql", "--json", "-e", "SELECT :a AS x", "-e", "SELECT :b AS y", "--arg", "a=1", "--arg", "b=2")
    assert [json.loads(line)["rows"] for line in shared.stdout.splitlines()] == [[{"x": 1}], [{"y": 2}]]
    assert shop("sql", "-e", "SELECT 1", "--arg", "a=1").exit_code == 0  # as Spark, no statement has to use it
    for wrong, said in (("a", "--arg a has no value"), ("1=1", "has no value")):
        done = shop("sql", "-e", "SELECT 1", "--arg", wrong)
        assert (done.exit_code, said in done.stderr) == (1, True)


def test_status_refresh_verify_explain(shop: Any) -> None:
    shop("sql", "-e", "DELETE FROM t WHERE id = 1")
    before = {view["name"]: view for view in json.loads(shop("status", "--json").stdout)}
    assert before["n"]["behind"] == {"t": 1}
    assert before["n"]["fresh"] is False
    assert "stale: t +1" in shop("status").stdout
    results = json.loads(shop("refresh", "--json").stdout)
    assert [(r["view"], r["strategy"], r["reason"]) for r in results] == [
        ("n", "aggregate_merge", None),
        ("m", "row_delta", None),
    ]
    assert [r["strategy"] for r in json.loads(shop("refresh", "m", "n", "--json").stdout)] == ["no_op", "no_op"]
    (there,) = json.loads(shop("refresh", "n", "--as-of", "1", "--step-rows", "1", "--json").stdout)
    assert (there["position"], there["to_vector"]) == (1, {"t": 0})
    assert "no position 99" in shop("refresh", "--as-of", "99").stderr
    assert "REFRESH … FULL was asked for" in shop("refresh", "n", "--full").stdout
    assert json.loads(shop("verify", "--json", "n").stdout) == [
        {
            "view": "n",
            "missing": 0,
            "extra": 0,
            "missing_sample": [],
            "extra_sample": [],
            "choices": [],
            "inexact": [],
            "ok": True,
        }
    ]
    assert "materialized view n" in shop("explain", "n").stdout
    assert "SELECT count(*)" in json.loads(shop("explain", "n", "--json").stdout)["query"]


def test_verify_says_different_with_exit_code_3(shop: Any, spark: SparkSession, tmp_path: Path) -> None:
    from rollview import connect

    rv = connect(tmp_path / "warehouse", spark=spark)
    rv.store.commit("__rollview__n", [Append(rv.store.read("__rollview__n"))])
    found = shop("verify", "n")
    assert found.exit_code == 3
    assert "DIFFERENT" in found.stdout


def test_watch_refreshes_what_changed(shop: Any) -> None:
    shop("sql", "-e", "DELETE FROM t WHERE id = 1")
    lines = shop("watch", "--rounds", "2", "--every", "0.01", "--json").stdout.splitlines()
    assert [json.loads(line)["view"] for line in lines] == ["n", "m"]


def test_mistakes_have_exit_code_1_and_go_to_stderr(shop: Any) -> None:
    wrong = shop("sql", "-e", "SELECT x FROM t")
    assert wrong.exit_code == 1
    assert wrong.stdout == ""
    assert "error: There is no column named `x`" in wrong.stderr
    assert "^" in wrong.stderr
    as_json = json.loads(shop("sql", "--json", "-e", "SELECT x FROM t").stdout)
    assert (as_json["error"], as_json["span"]) == ("column_not_found", [7, 8])
    assert shop("refresh", "nope").exit_code == 1
    assert (
        shop("sql", "-e", "CREATE MATERIALIZED VIEW x REFRESH POLICY INCREMENTAL AS SELECT now() AS t FROM t").exit_code
        == 4
    )
    assert shop("nonsense").exit_code == 2
    assert CliRunner().invoke(app, ["status", "-w", "/nowhere/at/all"]).exit_code == 1
    assert CliRunner().invoke(app, ["bench", "nothing"]).exit_code == 1


def test_a_bug_is_called_a_bug(shop: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import rollview.session

    monkeypatch.setattr(rollview.session.Rollview, "views", lambda self: 1 / 0)
    broken = shop("status")
    assert broken.exit_code == 70
    assert "bug in rollview: ZeroDivisionError" in broken.stderr


def test_the_demo_refreshes_and_verifies(run: Any) -> None:
    shown = json.loads(run("demo", "--rows", "20000", "--json").stdout)
    assert 15_000 < shown["rows"] < 25_000
    assert [view["view"] for view in shown["views"]] == ["order_lines", "city_sales", "best_sellers"]
    assert [view["strategy"] for view in shown["views"]] == ["row_delta", "aggregate_merge", "aggregate_merge"]
    for view in shown["views"]:
        assert view["rows_changed"] > 0
        assert view["ratio"] > 0
    changed = shown["views"][0]["rows_changed"]
    assert 0.0005 < changed / shown["rows"] < 0.003


def test_the_no_op_bench_runs_no_job(run: Any) -> None:
    rows = json.loads(run("bench", "no-op", "--json").stdout)["rows"]
    assert [(row["view"], row["calls"], row["Spark jobs"]) for row in rows] == [("joined", 100, 0), ("counted", 100, 0)]


@pytest.mark.spark
def test_a_real_process_keeps_sparks_noise_away(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "rollview.cli.main", "sql", "--json", "-w", str(tmp_path / "w")]
    done = subprocess.run([*command, "-e", "SELECT 1 AS a", "-e", "SELECT nope"], env=os.environ, check=False,
                          capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 1
    assert [json.loads(line).get("rows", json.loads(line).get("error")) for line in done.stdout.splitlines()] == [
        [{"a": 1}],
        "column_not_found",
    ]
    assert done.stderr == ""


def test_no_java_is_one_message(tmp_path: Path) -> None:
    clean = {k: v for k, v in os.environ.items() if k != "JAVA_HOME"} | {"PATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-m", "rollview.cli.main", "demo"], env=clean, check=False,
                          capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 1
    assert "Spark needs Java 17 or newer, and none was found" in done.stderr
    assert "openjdk-17-jre-headless" in done.stderr
    assert "Traceback" not in done.stderr


def test_odd_values_are_valid_json_and_run_time_errors_are_mistakes(shop: Any) -> None:
    found = shop("sql", "--json", "-e", "SELECT double('NaN') AS x, map(DATE'2025-01-01', 1) AS m, 1 AS a, 2 AS a, "
                 "named_struct('f', 1.5) AS s")  # fmt: skip
    row = json.loads(found.stdout, parse_constant=lambda word: pytest.fail(word))["rows"][0]
    assert row == {"x": "nan", "m": {"2025-01-01": 1}, "a": 1, "a_2": 2, "s": {"f": "1.5"}}
    failing = shop("sql", "-e", "SELECT 1 / (id - 1) FROM t")
    assert failing.exit_code == 1
    assert "Division by zero" in failing.stderr
    assert shop("sql", "-e", "SELECT 1 AS plan").exit_code == 0
    assert "12345678.9" in shop("sql", "-e", "SELECT double(12345678.9) AS d").stdout
    assert [r["view"] for r in json.loads(shop("refresh", "M", "N", "--full", "--json").stdout)] == ["n", "m"]
