"""Plans as indented text. A shared subplan is printed once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from rollview.plan.nodes.base import Node
from rollview.plan.nodes.rows import Scan
from rollview.stack import deep


def show_plan(plan: Node) -> str:
    """A plan as indented text."""
    return "\n".join(show_plans([plan])[0])


#: The versions of a table: subplans that differ only in these are printed once.
_VERSIONS = {"", "old", "new"}


@deep
def show_plans(plans: Sequence[Node]) -> list[list[str]]:
    """Plans as lines of indented text. A subplan that several operators read, in one plan or in several, is printed
    once with a number. Later uses print the number, also if they read another version of the same tables."""
    same: dict[Node, Node] = {}
    versions: dict[Node, frozenset[str]] = {}
    for node in distinct(plans):
        own = {node.version} & _VERSIONS if isinstance(node, Scan) else set[str]()
        versions[node] = frozenset(own).union(*(versions[child] for child in node.inputs))
        if len(versions[node]) > 1:
            same[node] = node
        elif isinstance(node, Scan):
            same[node] = replace(node, version="") if own else node
        else:
            same[node] = node.with_inputs([same[child] for child in node.inputs])
    once = {same[node]: node for node in distinct(plans)}
    readers = Counter(same[child] for node in once.values() for child in node.inputs)
    readers.update(same[plan] for plan in plans)
    numbers: dict[Node, tuple[int, frozenset[str]]] = {}
    found = []
    for plan in plans:
        lines: list[str] = []
        waiting = [(plan, 0)]
        while waiting:
            node, depth = waiting.pop()
            shown = same[node]
            if shown in numbers:
                number, seen = numbers[shown]
                other = "" if seen == versions[node] else f", {min(versions[node])}"
                lines.append("  " * depth + f"{node.title} #{number}, as above{other}")
                continue
            title = node.title
            if node.inputs and readers[shown] > 1:
                numbers[shown] = len(numbers) + 1, versions[node]
                title = f"{title} #{len(numbers)}"
            lines.append("  " * depth + f"{title} {node.details}".rstrip())
            waiting += [(child, depth + 1) for child in reversed(node.inputs)]
        found.append(lines)
    return found


def distinct(plans: Iterable[Node]) -> list[Node]:
    """The operators of some plans, inputs first, each once."""
    return list(dict.fromkeys(node for plan in plans for node in plan.walk()))


def size(plan: Node) -> int:
    """The number of operators."""
    return sum(1 for _ in plan.walk())
