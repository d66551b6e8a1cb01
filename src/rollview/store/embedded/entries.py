"""The entries of a log: the files from which a version is replayed, and whether they are intact.

A reader takes a truncated entry for a smaller commit, without an error. Four rules detect truncation: an entry without
actions has lost all of them; an entry that rollview wrote says how many actions it has; one that Delta wrote says how
many rows or files; and entries are never written again, so an entry that has become shorter since it was read was
truncated.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rollview.store.embedded.told_counts import fewer_than_told, is_deltas
from rollview.store.warehouse import LOG_FOLDER

#: The writer whose entries say how many actions they have, and the field for it.
ENGINE, ACTIONS = "rollview", "numActions"

#: What distinguishes a file from another file of the same name, and from its own earlier content.
Mark = tuple[int, int, int]

#: This many bytes of an entry are kept, to tell a truncated entry from one of another table of the same name.
_BEGINNING = 4096


def entry_name(version: int) -> str:
    return f"{version:020}.json"


@dataclass(frozen=True)
class Listing:
    """One listing of a log's folder: the commits and the checkpoints, by their versions."""

    commits: Mapping[int, os.DirEntry[str]]
    checkpoints: Mapping[int, tuple[os.DirEntry[str], ...]]

    @staticmethod
    def of(root: Path) -> Listing:
        """The listing of a table's log; empty if there is no log. Raises OSError."""
        commits: dict[int, os.DirEntry[str]] = {}
        checkpoints: dict[int, tuple[os.DirEntry[str], ...]] = {}
        with contextlib.suppress(FileNotFoundError, NotADirectoryError), os.scandir(root / LOG_FOLDER) as entries:
            for entry in entries:
                digits, ending = entry.name[:20], entry.name[20:]
                if not digits.isdigit():
                    continue
                if ending == ".json":
                    commits[int(digits)] = entry
                elif ending.startswith(".checkpoint"):
                    checkpoints[int(digits)] = (*checkpoints.get(int(digits), ()), entry)
        return Listing(commits, checkpoints)

    @property
    def newest(self) -> int | None:
        return max(self.commits, default=None)

    def checkpoint(self, version: int) -> int:
        """The newest checkpoint that a version can be replayed from; -1 if there is none."""
        return max((v for v in self.checkpoints if v <= version), default=-1)

    def replayed(self, version: int) -> range:
        """The commits that a version is replayed from: those after the checkpoint."""
        return range(self.checkpoint(version) + 1, version + 1)

    def marks(self, version: int) -> tuple[Mark | None, ...]:
        """The marks of the files from which a version is replayed; None for a missing file."""
        files = [self.commits.get(v) for v in self.replayed(version)]
        parts = sorted(self.checkpoints.get(self.checkpoint(version), ()), key=lambda part: part.name)
        return tuple(_mark(file) for file in [*files, *parts])


def _mark(file: os.DirEntry[str] | Path | None) -> Mark | None:
    with contextlib.suppress(FileNotFoundError):
        if file is not None:
            stat = file.stat()
            return stat.st_ino, stat.st_mtime_ns, stat.st_size
    return None


class Entries:
    """A cache of a log's entries: those that were intact when they were read need not be read again."""

    def __init__(self) -> None:
        self._whole: dict[int, tuple[Mark | None, int, bytes, str]] = {}

    def cut(self, version: int, entry: os.DirEntry[str], mark: Mark | None) -> str:
        """What is wrong with an entry; empty if no damage is found."""
        was, size, beginning, _ = self._whole.get(version, (None, 0, b"", ""))
        if mark is not None and was == mark:
            return ""
        try:
            text = Path(entry.path).read_bytes()
        except OSError as error:
            return f"cannot be read: {error.strerror or error}"
        if not text.strip(b" \t\r\n{}"):
            return "is empty"
        if len(text) < size and beginning.startswith(text[:_BEGINNING]):
            return f"has {len(text)} bytes, and had {size} when it was read before"
        lines = [line for line in text.split(b"\n") if line.strip()]
        with contextlib.suppress(ValueError):  # what a line means is for who replays the log to say
            first = json.loads(lines[0])
            if trouble := too_few([first, *(map(json.loads, lines[1:]) if _is_deltas(first) else lines[1:])]):
                return trouble
        self._whole[version] = mark, len(text), text[:_BEGINNING], _digest(text)
        return ""

    @staticmethod
    def mark(file: Path) -> Mark | None:
        """What distinguishes a file from its earlier content; None if it is not there."""
        return _mark(file)

    def digest(self, version: int, entry: os.DirEntry[str] | Path | None) -> str | None:
        """What tells an entry from another one of the same version, also after its file was copied. An entry that was
        read before is not read again. None if it is not there."""
        mark = _mark(entry)
        if entry is None or mark is None:
            return None
        was, _, _, known = self._whole.get(version, (None, 0, b"", ""))
        if was == mark:
            return known
        with contextlib.suppress(OSError):
            return _digest(Path(entry).read_bytes())
        return None


def _digest(text: bytes) -> str:
    return hashlib.blake2b(text, digest_size=8).hexdigest()


def too_few(actions: Sequence[Any]) -> str:
    """What an entry with these actions has too few of, if its first one tells that there were others."""
    info = _info(actions[0])
    if is_deltas(info):
        return fewer_than_told(info, [action for action in actions if isinstance(action, dict)])
    if info.get("engineInfo") != ENGINE:
        return ""
    told, number = info.get("operationMetrics"), len(actions)
    wanted = told.get(ACTIONS) if isinstance(told, dict) else None
    return f"has {number} actions and should have {wanted}" if wanted not in (None, str(number)) else ""


def _info(first: Any) -> Mapping[str, Any]:
    """What the first action of an entry says of its writer."""
    info = first.get("commitInfo") if isinstance(first, dict) else None
    return info if isinstance(info, dict) else {}


def _is_deltas(first: Any) -> bool:
    return is_deltas(_info(first))
