"""What the compiler makes of a view is what it made before: see ``golden_texts``."""

from __future__ import annotations

import pytest

from golden_texts import FOLDER, PARTS, texts


def test_every_file_belongs_to_a_part() -> None:
    assert {file for part in PARTS for file in FOLDER.glob(f"{part}*.txt")} == set(FOLDER.glob("*/*.txt"))


@pytest.mark.parametrize("part", PARTS)
def test_views_are_compiled_as_before(part: str, request: pytest.FixtureRequest) -> None:
    found = dict(texts(part))
    files = {file.relative_to(FOLDER).as_posix(): file for file in FOLDER.glob(f"{part}*.txt")}
    if request.config.getoption("--bless"):
        for name in files.keys() - found.keys():
            files[name].unlink()
        for name, text in found.items():
            (FOLDER / name).parent.mkdir(parents=True, exist_ok=True)
            (FOLDER / name).write_text(text, encoding="utf-8")
        return
    assert sorted(files) == sorted(found), "pytest --bless tests/golden writes the texts of new views"
    changed = [name for name, text in sorted(found.items()) if files[name].read_text(encoding="utf-8") != text]
    if changed:
        first = changed[0]
        assert found[first] == files[first].read_text(encoding="utf-8"), f"{len(changed)} changed: {', '.join(changed)}"
