"""Whether the tests find faults of the delta rules: python tests/mutants/run.py [a part of a file's name or of a fault …]

Each fault of ``table.py`` is planted in a copy of ``src``; then the cases of its rule run, and if they find nothing, all
quick tests of ``tests/cases`` and ``tests/delta``, with the cases that the seed leaves out. A fault that these do not
find survives: it needs a case.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from table import MUTANTS, Mutant

ROOT = Path(__file__).parents[2]

#: What says when a refresh is worth its cost, and not what it does.
WITHOUT = ("--ignore", "tests/delta/test_fan_out.py")

KILLED, BROKEN, SURVIVED, NOT_FOUND = "killed", "killed later", "SURVIVED", "NOT FOUND"

#: The same random views for every mutant.
ENVIRONMENT = {"ROLLVIEW_SEED": "1", "PYTHONDONTWRITEBYTECODE": "1"}


def planted(mutant: Mutant, source: Path) -> bool:
    """Plants a fault; False if its place is not there, or there several times."""
    file = source / "rollview" / mutant.file
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    if text.count(mutant.old) != 1:
        return False
    file.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    return True


def passes(source: Path, *arguments: str) -> bool:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-qx",
        "-p",
        "no:cacheprovider",
        "-m",
        "not spark and (not slow or one_in)",
        *arguments,
    ]
    environment = os.environ | ENVIRONMENT | {"PYTHONPATH": str(source)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr  # no test was selected, or the tests cannot be read
    return done.returncode == 0


def judged(mutant: Mutant) -> str:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(shutil.copytree(ROOT / "src", Path(folder) / "src"))
        if not planted(mutant, source):
            return NOT_FOUND
        if mutant.cases == "live":
            return SURVIVED if passes(source, "tests/live") else KILLED
        if not passes(source, "tests/cases", "-k", f"[{mutant.cases}:"):
            return KILLED
        return SURVIVED if passes(source, "tests/delta", "tests/cases", *WITHOUT) else BROKEN


def main(wanted: list[str]) -> int:
    chosen = [m for m in MUTANTS if not wanted or any(text in f"{m.file} {m.what}" for text in wanted)]
    assert passes(ROOT / "src", "tests/cases"), "the cases fail without a fault"
    counts: dict[str, int] = {}
    for mutant in chosen:
        start = time.monotonic()
        verdict = judged(mutant)
        counts[verdict] = counts.get(verdict, 0) + 1
        print(f"{verdict:<13} {time.monotonic() - start:5.0f} s  {mutant.file:<32} {mutant.what}", flush=True)
    print(", ".join(f"{number} {verdict}" for verdict, number in counts.items()))
    return int(bool({SURVIVED, NOT_FOUND} & counts.keys()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
