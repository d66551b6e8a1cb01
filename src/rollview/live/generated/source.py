"""The module that is generated for one part of a view: its traversal, and the kernel's functions that call it."""

from __future__ import annotations

import ast
from functools import lru_cache
from types import ModuleType

from rollview.live.generated.text import Text
from rollview.live.generated.walk import Walk
from rollview.live.kernel.build import compiled_text, kernel, kernel_source
from rollview.live.kernel.plan import Plan

#: The kernel's functions that are compiled again, with the view's own traversal.
_AGAIN = ("changed",)


def part_source(plan: Plan, part: int) -> str:
    """The text of the module for changes of one part."""
    text = Text()
    Walk(plan, part, text).write()
    body = compiled_text(f'"""{part}"""\n{text}') + "\n\n" + _compiled_again()
    return "\n".join(["import sys", "import numpy as np", "from numba import njit", *names_of(body), "", body, ""])


@lru_cache(maxsize=1)
def _compiled_again() -> str:
    again = [node for node in ast.parse(kernel_source()).body if getattr(node, "name", "") in _AGAIN]
    return "\n\n".join(map(ast.unparse, again))


def names_of(body: str, *others: ModuleType) -> list[str]:
    """Where the names are from that some text uses and that the kernel has, or another module of compiled functions."""
    tree = ast.parse(body)
    own = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - own - {"np", "njit", "sys"}
    found = []
    for number, other in enumerate((kernel(), *others)):
        known, name = vars(other), f"kernel{number}" if number else "kernel"
        found.append(f'{name} = sys.modules["{other.__name__}"]')
        for each in sorted(used & known.keys()):
            found.append(f"{each} = {known[each]}" if isinstance(known[each], int) else f"{each} = {name}.{each}")
    return found
