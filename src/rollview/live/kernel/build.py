"""Compiled kernels: the files of this folder as one module of numba functions, compiled once and kept.

numba takes a compiled function from its cache if the function's own file is unchanged, whatever the functions that it
calls have become. So all are written to one file, in a folder named by their text, the versions of numba and Python,
and the processor. The functions that are generated for a view are kept there, too.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import logging
import os
import platform
import sys
import tempfile
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

#: The files whose functions are compiled, each after those that it uses.
_FILES = (
    "numbers",
    "memory",
    "tables",
    "lists",
    "projected",
    "look_ahead",
    "rows",
    "checks",
    "paths",
    "change",
    "summed",
    "texts",
)

_LOGGER = logging.getLogger("rollview")

_HEAD = "from numba import njit\nimport numpy as np\n"


@lru_cache(maxsize=1)
def available() -> bool:
    """Whether there is a numba that works: it may not be installed, or not fit this Python or NumPy."""
    if find_spec("numba") is None:
        return False
    try:
        import_module("numba")
    except Exception as error:  # numba raises SystemError and AttributeError, too
        _LOGGER.warning("numba cannot be imported: %s: %s", type(error).__name__, error)
        return False
    return True


@lru_cache(maxsize=1)
def kernel() -> ModuleType:
    """The generic kernel."""
    return module("kernel", kernel_source())


@lru_cache(maxsize=1)
def kernel_source() -> str:
    """The functions of all files as the text of one module."""
    here = Path(__file__).parent
    parts = [compiled_text((here / f"{name}.py").read_text(encoding="utf-8")) for name in _FILES]
    return "\n\n".join([_HEAD, *parts])


def compiled_text(text: str) -> str:
    """A file's text with each function to be compiled, and without what it imports."""
    tree = ast.parse(text)
    body = [node for node in tree.body if not isinstance(node, ast.Import | ast.ImportFrom)]
    for node in body:
        if isinstance(node, ast.FunctionDef):
            option = f"njit(cache=True, nogil=True, _nrt={_makes_arrays(node)})"
            node.decorator_list = [ast.parse(option, mode="eval").body]
            node.returns = None
            for each in node.args.args:
                each.annotation = None
    return ast.unparse(ast.Module(body=body[1:], type_ignores=[]))


def _makes_arrays(function: ast.FunctionDef) -> bool:
    """Whether a function makes or returns arrays. Others do without counting references to them."""
    returned = "" if function.returns is None else ast.unparse(function.returns)
    body = ast.unparse(ast.Module(body=function.body, type_ignores=[]))
    return "np." in body or "Words" in returned or "Bytes" in returned


def module(name: str, source: str) -> ModuleType:
    """A module with some source, from the folder of compiled functions."""
    digest = hashlib.sha256(source.encode()).hexdigest()[:16]
    full = f"rollview_live_{name}_{digest}"
    if full in sys.modules:
        return sys.modules[full]
    path = folder() / f"{full}.py"
    if not path.exists():
        _write(path, source)
    spec = importlib.util.spec_from_file_location(full, path)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    sys.modules[full] = found
    return found


@lru_cache(maxsize=1)
def folder() -> Path:
    """Where compiled functions are kept; in a temporary folder if the user's cannot be written."""
    import llvmlite.binding
    import numba

    processor = f"{llvmlite.binding.get_host_cpu_name()} {llvmlite.binding.get_host_cpu_features().flatten()}"
    text = f"{numba.__version__} {sys.version} {platform.machine()} {processor} {kernel_source()}"
    name = hashlib.sha256(text.encode()).hexdigest()[:16]
    for base in (_cache(), Path(tempfile.gettempdir()) / f"rollview-{os.getuid() if hasattr(os, 'getuid') else 0}"):
        found = base / "live" / f"numba-{numba.__version__}-{name}"
        try:
            found.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(found, os.W_OK):
            return found
    return Path(tempfile.mkdtemp(prefix="rollview-live-"))


def _cache() -> Path:
    """The user's folder for what can be made again."""
    if (named := os.environ.get("ROLLVIEW_CACHE")) is not None:
        return Path(named)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "rollview" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "rollview"
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "rollview"


def _write(path: Path, text: str) -> None:
    """Writes a file so that no other process sees half of it."""
    handle, name = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(name, path)
