"""The explanation of a view: as an object, as JSON, and as text for people."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from rollview.strategy.strategy import Choice
from rollview.views.results import counted

#: The lines of a query that are shown unless all are asked for, and the width of lists.
_QUERY_LINES, _WIDTH = 6, 100

#: Stands for a space within an item of a list; no name contains it.
_NO_BREAK = "\0"


@dataclass(frozen=True)
class Read:
    """A table or view that the view reads: the version that it shows, and what has happened to it since."""

    table: str
    version: int | None
    state: str
    key: tuple[str, ...] = ()

    def __str__(self) -> str:
        at = "" if self.version is None else f" at version {self.version}"
        key = f", key ({', '.join(self.key)})" if self.key else ""
        return f"{self.table}{at}{': ' if at and self.state else ''}{self.state}{key}"


@dataclass(frozen=True)
class Stored:
    """How the rows are stored, and the hidden columns beside the visible ones."""

    how: str
    hidden: tuple[str, ...] = ()


@dataclass(frozen=True)
class StepRead:
    """A step of a refresh: what it computes, and the relations that it reads."""

    name: str
    what: str
    reads: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.name}: {self.what}" + (f", from {', '.join(self.reads)}" if self.reads else "")


@dataclass(frozen=True)
class HelperShown:
    """A helper, its rows, and its plan."""

    name: str
    rows: int
    plan: tuple[str, ...]


@dataclass(frozen=True)
class Next:
    """What the next refresh does: its strategy, unless it is not possible, why, and its steps."""

    strategy: str | None
    why: str
    reason: str | None = None
    steps: tuple[StepRead, ...] = ()


@dataclass(frozen=True)
class Propagation:
    """Whether a view can be propagated, how or why not, and between which positions its changes are kept."""

    applies: bool
    why: str
    kept: str | None = None


@dataclass(frozen=True)
class Explanation:
    """A view and its next refresh. ``details`` are the plan, the compiled SQL and the stages of a refresh in which
    every table changed; they are shown if ``text`` is asked to be verbose."""

    view: str
    policy: str
    comment: str | None
    query: str
    columns: tuple[tuple[str, str], ...]
    reads: tuple[Read, ...]
    stored: Stored
    key: str
    next: Next
    strategies: tuple[Choice, ...]
    choices: tuple[str, ...] = ()
    inexact: Mapping[str, str] = field(default_factory=dict)
    helpers: tuple[HelperShown, ...] = ()
    damage: str | None = None
    upstream: str | None = None
    not_planned: str | None = None
    bug: str | None = None
    propagation: Propagation | None = None
    details: Mapping[str, Sequence[str]] = field(default_factory=dict)
    keep_changes: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The explanation as values that JSON has."""
        return asdict(self)

    def text(self, *, verbose: bool = False) -> str:
        """The explanation for people: one screen, or all of it."""
        title = f"materialized view {self.view}"
        lines = [title, f"  policy    {self.policy}"]
        if self.keep_changes:
            lines.append(f"  changes   kept for {self.keep_changes}")
        if self.comment:
            lines.insert(1, f"  comment   {self.comment}")
        lines += ["  query", *_indented(_cut(self.query.splitlines(), verbose))]
        lines += ["  columns", *self._columns(verbose)]
        lines += ["  reads"]
        if self.damage is not None:
            lines.append(f"    damaged: {self.damage}")
        lines += [f"    {each}" for each in self.reads]
        lines += ["  stored", *self._stored()]
        lines += self._open(verbose)
        if verbose:
            for name, body in self.details.items():
                lines += [f"  {name}", *(f"    {line}" for line in body)]
        lines += ["  strategies"]
        for each in self.strategies:
            lines.append(f"    {each.strategy:<19}  {'yes' if each.applies else 'no ':<3}  {each.why}")
        if self.propagation is not None:
            verdict, kept = "yes" if self.propagation.applies else "no ", self.propagation.kept
            lines += ["  propagation", f"    {verdict}  {self.propagation.why}"]
            lines += [] if kept is None else [f"    changes are kept {kept}"]
        lines += ["  next refresh", *self._next()]
        return "\n".join(lines)

    def _columns(self, verbose: bool) -> list[str]:
        if verbose:
            width = max(len(name) for name, _ in self.columns)
            return [f"    {name:<{width}}  {kind}" for name, kind in self.columns]
        return _indented(_wrapped([f"{name} {kind}" for name, kind in self.columns]))

    def _stored(self) -> list[str]:
        lines = [f"    {self.stored.how}", f"    key: {self.key}"]
        if self.stored.hidden:
            lines += _indented(_wrapped(self.stored.hidden, "hidden columns: "))
        return lines

    def _open(self, verbose: bool) -> list[str]:
        """What is worth knowing of the query: its open choices, inexact values, helpers, and what is not planned."""
        lines = []
        if self.not_planned is not None:
            lines += ["  not planned", f"    {self.not_planned}"]
        if self.bug is not None:
            lines += ["  failure of the compiler", *(f"    {line}" for line in self.bug.rstrip().splitlines())]
        if self.choices:
            lines += ["  choices that the query leaves open", *(f"    {choice}" for choice in self.choices)]
        if self.inexact:
            lines.append("  values that may differ when recomputed: verify may report them")
        for column, of in self.inexact.items():
            lines.append(f"    {column} is computed from {of}, whose last digits depend on the order of its rows")
        if self.helpers:
            lines.append("  helpers, which store parts of the query and are refreshed first")
        for helper in self.helpers:
            plan = helper.plan if verbose else helper.plan[:1]
            lines += [f"    {helper.name}: {counted(helper.rows, 'row')}", *(f"      {line}" for line in plan)]
        return lines

    def _next(self) -> list[str]:
        name = "not possible" if self.next.strategy is None else self.next.strategy
        because = f", because {self.next.reason}" if self.next.reason else ""
        lines = [f"    {name}{because}: {self.next.why}", *(f"      {step}" for step in self.next.steps)]
        return lines if self.upstream is None else [*lines, f"    {self.upstream}"]


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _cut(lines: Sequence[str], verbose: bool) -> list[str]:
    if verbose or len(lines) <= _QUERY_LINES:
        return list(lines)
    return [*lines[: _QUERY_LINES - 1], f"… and {len(lines) - _QUERY_LINES + 1} more lines"]


def _wrapped(items: Sequence[str], before: str = "") -> list[str]:
    """A list in lines of a readable width, broken between items; of very many, the first ones."""
    shown, more = items[:40], len(items) - 40
    whole = (item.replace(" ", _NO_BREAK) for item in shown)
    text = before + ", ".join(whole) + (f", and {more} more" if more > 0 else "")
    lines = textwrap.wrap(text, _WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    return [line.replace(_NO_BREAK, " ") for line in lines]
