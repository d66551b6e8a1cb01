"""README and documentation run as written, and say what the package has."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import re
import shlex
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

import rollview
from operator_pages import outcome, shows
from rollview import limits
from rollview.bench import SUITES
from rollview.cli.main import app
from rollview.parse.tokens import split_script
from rollview.strategy.choose import STRATEGIES
from rollview.views.results import APPLY

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
BENCHMARKS = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
CLI = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


def test_the_readme_runs_and_prints_what_it_says(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (code,) = blocks(README, "python")
    lines = [line for line in (blocks(README, "bash")[0] + code).splitlines() if line.strip()]
    assert len(lines) <= 15
    names: dict[str, object] = {}
    exec(code, names)
    printed = capsys.readouterr().out
    said = [comment.split(":")[0] for comment in re.findall(r"^print.*?# (.*)$", code, flags=re.MULTILINE)]
    assert [line for line in printed.splitlines() if line in said] == said
    for city, total in re.findall(r"(\w+) (\d+)", re.findall(r"show\(\)\s+# (.*)", code)[0]):
        assert re.search(rf"\|\s*{city}\|\s*{total}\|", printed)


def test_every_command_is_documented_and_nothing_else() -> None:
    commands = {command.name or command.callback.__name__ for command in app.registered_commands if command.callback}
    assert set(re.findall(r"^\| `rollview (\w+)", CLI, flags=re.MULTILINE)) == commands
    for command in commands:
        assert "--json" in CliRunner().invoke(app, [command, "--help"]).output


def test_the_session_of_the_documentation_runs(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for line in blocks(CLI, "console")[0].splitlines():
        arguments = shlex.split(line.removeprefix("$ rollview "))
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 0, (line, result.output)


def rooms_imported(source: str) -> set[str]:
    """The rooms that a file imports from, in whatever form, also inside functions."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "a relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name.split(".")[1] for name in found if name.startswith("rollview.")}


def test_imports_are_found_in_every_form() -> None:
    forms = (
        "from rollview.plan.nodes import Node",
        "from rollview import plan",
        "import rollview.plan.nodes as nodes, os",
        "def f() -> None:\n    import rollview.plan",
    )
    assert [rooms_imported(form) for form in forms] == [{"plan"}] * len(forms)
    assert rooms_imported("import rollview, sqlglot.plan") == set()


def test_the_map_of_the_package_stands_in_three_places_that_agree() -> None:
    """The docstring, the README, and the imports: a room imports only from rooms before it."""
    described = re.findall(r"^(\w+)  +(\S.*)", (rollview.__doc__ or "").replace("``", "`"), flags=re.MULTILINE)
    section = README.split("## How the package is laid out")[1].split("##")[0]
    assert re.findall(r"^\| `(\w+)` \| (.*) \|$", section, flags=re.MULTILINE) == described
    rooms = [room for room, _ in described]
    source = ROOT / "src" / "rollview"
    found = {
        path.stem if path.is_file() else path.name for path in source.iterdir() if not path.name.startswith(("_", "."))
    }
    assert found - {"py"} == set(rooms) | ({"py.typed"} & found)
    for number, room in enumerate(rooms):
        files = [source / f"{room}.py"] if (source / f"{room}.py").exists() else sorted((source / room).rglob("*.py"))
        for file in files:
            for used in rooms_imported(file.read_text(encoding="utf-8")) & set(rooms):
                assert rooms.index(used) <= number, f"{file} imports from {used}"


def test_every_file_named_for_contributors_exists() -> None:
    named = re.findall(r"`([\w./]+/[\w./]*|[\w.]+\.md)`|\]\(([^)#]+)[^)]*\)", CONTRIBUTING)
    paths = {code or link for code, link in named}
    assert len(paths) > 40
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []


def test_readme_and_glossary_list_every_strategy_and_the_benchmarks_every_suite() -> None:
    section = README.split("| strategy | what the refresh did |")[1].split("\n\n")[0]
    rows = re.findall(r"^\| (`.*?`) \|", section, flags=re.MULTILINE)
    names = {each.name for each in STRATEGIES} | {APPLY}
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == names
    (term,) = re.findall(r"^\| \*\*strategy\*\* \| (.*) \|$", GLOSSARY, flags=re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", term)) == names
    assert set(re.findall(r"^\| `([\w-]+)` \|", BENCHMARKS, flags=re.MULTILINE)) == set(SUITES)


def test_the_readme_lists_every_field_of_a_result() -> None:
    section = README.split("also says what it cost:")[1].split("\n\n")[1]
    listed = {name for row in section.splitlines() for name in re.findall(r"`(\w+)`", row.split(" | ")[0])}
    fields = {field.name for field in dataclasses.fields(rollview.RefreshResult)}
    assert listed == fields - {"view", "part"} | {"explanation"}


def test_the_example_of_an_explanation_is_true() -> None:
    section = CLI.split("## Explain")[1].split("\n## ")[0]
    rv = rollview.connect("duckdb:")
    for statement in split_script(blocks(section, "sql")[0]):
        rv.sql(statement)
    assert blocks(section, "text")[0].strip() == rv.explain("sold")


def test_no_module_needs_itself() -> None:
    """Also through imports inside of functions: these would only hide a cycle."""
    source = ROOT / "src"
    files = {
        ".".join(file.relative_to(source).with_suffix("").parts).removesuffix(".__init__"): file
        for file in (source / "rollview").rglob("*.py")
    }
    used: dict[str, set[str]] = {}
    for name, file in files.items():
        tree = ast.parse(file.read_text(encoding="utf-8"))
        given: set[str] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                given |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                inner = {f"{node.module}.{alias.name}" for alias in node.names}
                given |= {each if each in files else node.module for each in inner}
        used[name] = given & files.keys() - {name}
    assert "rollview.delta.rules.join" in used["rollview.delta.rules"]
    TopologicalSorter(used).prepare()  # raises an error that names the cycle


def test_every_package_maps_its_files() -> None:
    for folder in (file.parent for file in (ROOT / "src" / "rollview").glob("*/**/__init__.py")):
        text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or ""
        there = {file.name for file in folder.glob("*.py") if file.name != "__init__.py"}
        there |= {f"{inner.parent.name}/" for inner in folder.glob("*/__init__.py")}
        assert set(re.findall(r"^\| ``([\w./]+)``", text, flags=re.MULTILINE)) == there, folder


def test_parsing_needs_no_spark() -> None:
    for file in (ROOT / "src" / "rollview" / "parse").glob("*.py"):
        assert "pyspark" not in file.read_text(encoding="utf-8")


def test_only_the_public_api_of_spark_is_used() -> None:
    for file in (ROOT / "src").rglob("*.py"):
        assert not re.search(r"\._(jvm|jdf|jsparkSession|jsc|sc|client)\b|\.rdd\b", file.read_text(encoding="utf-8")), (
            file
        )


def test_the_version_is_one() -> None:
    assert f'version = "{rollview.__version__}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert rollview.__version__ in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    importlib.import_module("rollview.bench")


PAGES = sorted((ROOT / "docs" / "operators").glob("[a-z]*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_examples_of_the_operators_pages_are_true(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    (sql,), (rows, script) = blocks(text, "sql"), blocks(text, "text")
    found = outcome(sql)
    assert rows.strip("\n") == found.rows
    assert script.startswith("strategy ")
    assert shows(script, found.script), found.script


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_on_an_operator_fits_on_a_screen(page: Path) -> None:
    assert len(page.read_text(encoding="utf-8").splitlines()) <= 50


def test_every_operator_page_is_in_the_overview() -> None:
    overview = (ROOT / "docs" / "operators" / "README.md").read_text(encoding="utf-8")
    assert {f"{page.stem}.md" for page in PAGES} == set(
        re.findall(r"^\| \[[^]]*\]\((\w+\.md)\)", overview, flags=re.MULTILINE)
    )


def test_the_table_of_limits_is_the_one_in_the_code() -> None:
    assert (ROOT / "docs" / "limits.md").read_text(encoding="utf-8").rstrip().endswith(limits.table())


def test_the_example_of_a_helper_has_one() -> None:
    rv = rollview.connect("duckdb:", limits=limits.Limits(helper_rows=0))
    rv.sql(blocks((ROOT / "docs" / "helpers.md").read_text(encoding="utf-8"), "sql")[0])
    (helper,) = rv.catalog.get("small_lines").helpers
    assert "aggregate by" in rv.explain("small_lines", verbose=True)
    assert [column.type for column in rv.catalog.get(helper.name).columns] == ["int", "double"]
