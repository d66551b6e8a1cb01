"""The folder of a warehouse, which both stores share: its marker, and the folder name of each table."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import string
import uuid
from collections.abc import Iterator
from pathlib import Path

from rollview.errors import BadName, NotAWarehouse, StorageFailed
from rollview.parse.names import Name

MARKER = "rollview.json"
FORMAT = 1

#: The folder of a Delta table's log.
LOG_FOLDER = "_delta_log"

_PLAIN = set(string.ascii_lowercase + string.digits + "_")


def open_warehouse(folder: str | Path) -> Path:
    """The folder as an absolute path. It is created if it is missing, and refused if it has other content."""
    try:
        path = Path(os.path.abspath(Path(folder).expanduser()))
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        pass  # it is created below, or the error is raised there
    except (OSError, ValueError, RuntimeError) as error:  # the name is too long or no text, or there is no home folder
        raise NotAWarehouse(
            f"{str(folder)!r} cannot be a warehouse",
            why=getattr(error, "strerror", None) or str(error),
            todo="name a folder; it is made if it does not exist",
        ) from error
    if bad := sorted(set(str(path)) & set("[]{}\\%")):
        raise NotAWarehouse(
            f"{path} cannot be a warehouse",
            why=f"{' '.join(bad)} in a path would be read as a pattern or an escape",
            todo="choose a folder without these characters",
        )
    marker = path / MARKER
    if path.exists() and not path.is_dir():
        raise NotAWarehouse(f"{path} is not a folder", todo="name a folder; it is made if it does not exist")
    if marker.exists():
        try:
            found = json.loads(marker.read_text(encoding="utf-8")).get("format")
        except (OSError, ValueError, AttributeError) as error:
            raise NotAWarehouse(f"{marker} cannot be read", why=str(error)) from error
        if found != FORMAT:
            raise NotAWarehouse(
                f"{path} was made by another version of rollview",
                why=f"its format is {found}, this version knows {FORMAT}",
            )
        return path
    if path.exists() and any(path.iterdir()) and not any(path.glob(f"*/{LOG_FOLDER}")):
        raise NotAWarehouse(
            f"{path} is not a warehouse",
            why="it holds files, but no Delta table",
            todo="name an empty or a new folder, or one that holds Delta tables",
        )
    with storage_errors(f"The warehouse {path} cannot be made"):
        path.mkdir(parents=True, exist_ok=True)
        marker.write_text(json.dumps({"format": FORMAT}) + "\n", encoding="utf-8")
    return path


@contextlib.contextmanager
def storage_errors(what: str) -> Iterator[None]:
    """Translates the system's errors about reading, writing or removing a file."""
    try:
        yield
    except OSError as error:
        place = f": {error.filename}" if error.filename else ""
        raise StorageFailed(
            what,
            why=f"{error.strerror or error}{place}",
            todo="check the folder's permissions and the space on its disk",
        ) from error


def set_aside(root: Path, table: str) -> Path:
    """Moves a table's folder out of the way atomically, and returns the path from which it must be removed."""
    trash = root / f".dropped-{uuid.uuid4().hex}"
    with storage_errors(f"{table} cannot be dropped; it is as it was"):
        os.rename(root / folder_of(table), trash)
    return trash


def remove_folder(folder: Path, what: str) -> None:
    """Removes a folder and its content; ``what`` is the error if that fails."""
    with storage_errors(what):
        shutil.rmtree(folder)


def flat_name(name: Name) -> str:
    """The canonical name of a table in a folder: one part, in lower case."""
    if len(name) == 1:
        plain = name[0].lower()
    elif len(name) == 2 and name[0].lower() == "default":
        plain = name[1].lower()
    else:
        raise BadName(
            f"{'.'.join(name)} has {len(name)} parts",
            why="a warehouse folder has one level of names",
            todo=f"use a name without dots, or quote it as one name: `{'.'.join(name)}`",
        )
    if not plain.strip() or len(folder_of(plain)) > 200:
        raise BadName(f"{plain!r} cannot be a name", why="it is empty or too long for a folder's name")
    if plain == LOG_FOLDER:
        raise BadName(f"{plain} cannot be a name", why="in a folder of Delta tables it is the folder of a table's log")
    return plain


def folder_of(table: str) -> str:
    """The name of a table's folder: letters, digits and _ are kept, other bytes are written as ~ and two digits."""
    return "".join(c if c in _PLAIN else "".join(f"~{b:02x}" for b in c.encode()) for c in table)


def table_of(folder: str) -> str | None:
    """The table to which a folder's name belongs; None if it is no name of a table's folder."""
    if not re.fullmatch(r"(?:[a-z0-9_]|~[0-9a-f]{2})+", folder):
        return None
    return re.sub(rb"~([0-9a-f]{2})", lambda m: bytes([int(m[1], 16)]), folder.encode()).decode(errors="replace")
