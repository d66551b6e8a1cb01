"""The places of the mutants are still there. To plant them takes minutes: see ``run.py``."""

from __future__ import annotations

from pathlib import Path

from table import MUTANTS

SOURCE = Path(__file__).parents[2] / "src" / "rollview"


def test_each_mutant_has_one_place() -> None:
    texts = {mutant.file: (SOURCE / mutant.file).read_text(encoding="utf-8") for mutant in MUTANTS}
    assert [f"{m.file}: {m.what}" for m in MUTANTS if texts[m.file].count(m.old) != 1] == []
