"""Files and functions stay short, and errors are caught broadly only around code that is not rollview's own."""

from __future__ import annotations

import ast
from pathlib import Path
from statistics import median

SOURCE = Path(__file__).parents[2] / "src" / "rollview"
TREES = {file.relative_to(SOURCE).as_posix(): ast.parse(file.read_text("utf-8")) for file in SOURCE.rglob("*.py")}
LINES = {file: len((SOURCE / file).read_text("utf-8").splitlines()) for file in TREES}

#: The files that may catch any exception, and why.
CATCHES_ALL = {
    "bench/rolling/writer.py": "the error of the writing thread is raised again in the measuring one",
    "cli/app.py": "whatever fails becomes a message and an exit code",
    "cli/watch.py": "watching goes on if the store or Spark fails once",
    "engine/job_counter.py": "a session that was stopped raises errors of several kinds",
    "engine/session.py": "starting Spark fails with errors of several kinds",
    "engine/sources.py": "a context that was stopped raises errors of several kinds",
    "engine/spark_errors.py": "errors of Spark's JVM have no class of their own in Python",
    "live/follow/follower.py": "following goes on if the store or Spark fails once",
    "live/generated/graph.py": "a live view whose own functions cannot be compiled goes on with the generic ones",
    "live/kernel/build.py": "importing numba fails with errors of several kinds if it does not fit Python or NumPy",
    "live/serve/callbacks.py": "a subscriber's failure does not stop the others",
    "live/serve/subscription.py": "a subscriber that misses a diff is told so, whatever the reason",
    "live/serve/subscribers.py": "a diff that one subscriber cannot get is handed out to the others",
    "refresh/batch.py": "one view's failure does not stop the refresh of the others",
    "roll/run.py": "one view's failure does not stop the propagation of the others",
    "stack.py": "the error of a thread is raised again in the thread that waits for it",
    "store/delta/merge.py": "Spark wraps an error of a row in one of several classes",
    "views/compiled.py": "a view that a part of the compiler fails on is recomputed in full",
    "views/verify.py": "one view's failure does not stop the verification of the others",
}


def test_no_file_has_over_400_lines_and_half_of_them_have_at_most_100() -> None:
    assert {file: lines for file, lines in LINES.items() if lines > 400} == {}
    assert median(LINES.values()) <= 100


def test_no_function_has_over_50_lines() -> None:
    lengths = {
        f"{file}:{node.lineno} {node.name}": (node.end_lineno or node.lineno) - node.lineno + 1
        for file, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert len(lengths) > 1000
    assert {name: length for name, length in lengths.items() if length > 50} == {}


def test_any_exception_is_caught_only_where_foreign_code_is_called() -> None:
    found = {
        file
        for file, tree in TREES.items()
        if any(isinstance(node, ast.ExceptHandler) and _catches_all(node) for node in ast.walk(tree))
    }
    assert found == CATCHES_ALL.keys()


def _catches_all(handler: ast.ExceptHandler) -> bool:
    """Whether any exception is caught; not if everything is caught only to clean up, and is raised again."""
    if handler.type is None:
        kinds = {"BaseException"}
    else:
        kinds = {node.id for node in ast.walk(handler.type) if isinstance(node, ast.Name)}
    raised = isinstance(handler.body[-1], ast.Raise) and handler.body[-1].exc is None
    return "Exception" in kinds or ("BaseException" in kinds and not raised)
