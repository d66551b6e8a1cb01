"""The delta of a plan, from the rules of its operators.

    Δ(N) = rule of N's kind over (old, new, Δ) of N's inputs

Three relations of every changed table are read: ``old``, ``new`` and ``change`` (its rows with weights); a table that
did not change has just one. The delta of an operator below which nothing changed is None: its terms are never written.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from rollview.delta.weights import WEIGHT
from rollview.plan.expressions import Expr, conjunction, ref
from rollview.plan.nodes import SEMI, UNKNOWN, Column, Computed, Distinct, Filter, Join, Node, Project, Scan
from rollview.plan.renaming import by_place, renamed

OLD, NEW, CHANGE, STEP = "old", "new", "change", "step"


class NotMaintained(Exception):
    """An operator for which there is no delta rule. ``code`` is the reason that a full refresh will give."""

    def __init__(self, code: str, what: str) -> None:
        super().__init__(what)
        self.code = code


@dataclass(frozen=True)
class Step:
    """A named SELECT of a Δ-script. ``what`` says for people what its rows are."""

    name: str
    plan: Node
    what: str


@dataclass(frozen=True)
class Keys:
    """Touched keys: a relation of distinct values, and which expression over the restricted plan each column meets."""

    plan: Node
    pairs: tuple[tuple[Expr, str], ...]

    def restrict(self, plan: Node) -> Node:
        """The rows of a plan whose values are among the keys; all of them if there is nothing to compare."""
        if not self.pairs:
            return plan
        tests = [exp.NullSafeEQ(this=value.copy(), expression=ref(name)) for value, name in self.pairs]
        return Join(SEMI, plan, self.plan, conjunction(tests))


class Deriving:
    """One derivation: which tables changed, the steps so far, and names for new columns."""

    def __init__(self, changed: Collection[str]) -> None:
        self.changed = frozenset(changed)
        self.steps: list[Step] = []
        self._deltas: dict[Node, Node | None] = {}
        self._forms: list[tuple[Node, Step]] = []
        self._numbers = 0

    def old(self, plan: Node) -> Node:
        return at(plan, OLD, self.changed)

    def new(self, plan: Node) -> Node:
        return at(plan, NEW, self.changed)

    def delta(self, plan: Node) -> Node | None:
        """The delta of a plan: its columns and a weight; None if nothing below it changed."""
        from rollview.delta.rules import RULES  # the rules derive the deltas of their inputs here

        if plan not in self._deltas:
            found = None
            if self.touches(plan):
                rule: Callable[[Node, Deriving], Node | None] | None = RULES.get(type(plan))
                if rule is None:
                    raise NotMaintained("operator_not_incremental", f"there is no delta rule for {plan.title}")
                found = rule(plan, self)
            self._deltas[plan] = found
        return self._deltas[plan]

    def touches(self, plan: Node) -> bool:
        return any(isinstance(node, Scan) and node.table in self.changed for node in plan.walk())

    def step(self, label: str, plan: Node, what: str) -> Node:
        """Names a part of the script: what reads it, reads its rows once computed.

        A part that differs from an earlier one in the names of its columns only is that one under other names.
        """
        form = renamed(plan, by_place(plan))
        for known, step in self._forms:
            if known == form:
                scan = _step_scan(step)
                pairs = zip(plan.columns, scan.output, strict=True)
                return Project(scan, tuple(Computed(new, ref(old.name)) for new, old in pairs))
        self.steps.append(Step(f"step{len(self.steps)}_{label}", plan, what))
        self._forms.append((form, self.steps[-1]))
        return _step_scan(self.steps[-1])

    def settle(self, *plans: Node) -> None:
        """Computes the deltas of these plans once, for all that read them."""
        for plan in plans:
            delta = self.delta(plan)
            self._deltas[plan] = None if delta is None else self.at_hand(delta)

    def at_hand(self, delta: Node) -> Node:
        """A delta that several terms read, or that others are restricted by, computed once."""
        return delta if cheap(delta) else self.step("delta", delta, "a change that several terms read")

    def keys(self, delta: Node, values: Sequence[Expr]) -> Keys:
        """The distinct values of some expressions over a delta."""
        columns = []
        for value in values:
            self._numbers += 1
            name = f"k{self._numbers}"
            columns.append(Computed(Column(name, name, value.type or UNKNOWN), value.copy()))
        plan = Distinct(Project(delta, tuple(columns)))
        pairs = tuple((value, item.column.name) for value, item in zip(values, columns, strict=True))
        return Keys(plan, pairs)


def _step_scan(step: Step) -> Scan:
    columns = step.plan.columns
    return Scan(step.name, columns, tuple(column.name for column in columns), version=STEP)


def cheap(plan: Node) -> bool:
    """Whether a plan only picks from rows that are at hand: of an earlier step, or of a table's changes."""
    if isinstance(plan, Filter | Project):
        return cheap(plan.input)
    return isinstance(plan, Scan) and plan.version in (STEP, CHANGE)


def at(plan: Node, version: str, changed: Collection[str]) -> Node:
    """The plan over one version of its tables. Where a table did not change, its versions are one."""
    if isinstance(plan, Scan):
        return replace(plan, version=version if plan.table in changed else NEW)
    return plan.with_inputs([at(child, version, changed) for child in plan.inputs]) if plan.inputs else plan


def change_scan(node: Scan) -> Scan:
    """The changes of a table, with weights."""
    return replace(node, output=(*node.output, WEIGHT), sources=(*node.sources, WEIGHT.name), key=(), version=CHANGE)
