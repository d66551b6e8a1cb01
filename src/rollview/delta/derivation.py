"""The delta of a plan, from the rules of its operators.

    Δ(N) = the rule for N's operator type, applied to (old, new, Δ) of N's inputs

Each changed table is read as three relations: ``old``, ``new`` and ``change`` (the changed rows with weights); an
unchanged table has only one. The delta of an operator over unchanged tables is None, so its terms are never generated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from sqlglot import exp

from rollview.delta.partials import Added
from rollview.delta.weights import consolidated, together, weighted
from rollview.plan.check import check, check_delta
from rollview.plan.expressions import Expr, ref
from rollview.plan.nodes import (
    UNKNOWN,
    Aggregate,
    Column,
    Computed,
    Distinct,
    Node,
    Pair,
    Project,
    Restrict,
    Scan,
    restricted,
)
from rollview.plan.rename import by_place, renamed
from rollview.plan.reserved import WEIGHT
from rollview.plan.rewrite import apply_rule
from rollview.plan.traits import Trait, trait_of

OLD, NEW, CHANGE, STEP = "old", "new", "change", "step"


class NotMaintained(Exception):
    """There is no delta rule for an operator. ``code`` is the reason code of the resulting full refresh."""

    def __init__(self, code: str, what: str) -> None:
        super().__init__(what)
        self.code = code


@dataclass(frozen=True)
class Step:
    """A named SELECT of a Δ-script. ``what`` describes its rows for people. A ``delta`` may have far more rows than
    changed; its weight column is dropped if no later step reads it."""

    name: str
    plan: Node
    what: str
    delta: bool = False


@dataclass(frozen=True)
class Keys:
    """Affected keys: a relation of distinct values, and for each column the expression that must equal it."""

    plan: Node
    pairs: tuple[Pair, ...]

    def restrict(self, plan: Node) -> Node:
        """The rows of a plan whose values are among the keys; all rows if there are no pairs to compare."""
        return restricted(plan, self.pairs, self.plan)


#: Returns the delta of an operator. The derivation provides the versions and the deltas of the operator's inputs.
Rule = Callable[[Any, "Derivation"], Node | None]


@dataclass(frozen=True)
class Rules:
    """The delta rule of each operator type; and how to read one version of the groups if all groups are materialized,
    with their old and new values."""

    deltas: Mapping[type[Node], Rule]
    whole_groups: Callable[[Aggregate, Derivation, str], Node]


class Derivation:
    """One derivation: its rules, the changed tables, the steps so far, and a source of new column names.

    ``added`` holds the partial aggregates of each operator, ``kinds`` the types of aggregate and window columns,
    ``partitions`` the relations that helpers store for windows."""

    def __init__(
        self,
        rules: Rules,
        changed: Collection[str],
        added: Mapping[str, Added] | None = None,
        kinds: Mapping[str, str] | None = None,
        partitions: Mapping[str, Scan] | None = None,
    ) -> None:
        self.rules = rules
        self.changed = frozenset(changed)
        self.added = added or {}
        self.kinds = kinds or {}
        self.partitions = partitions or {}
        self.whole: list[Node] = []
        self.readers: Counter[Node] = Counter()
        self.kept: set[Node] = set()
        self.affected: dict[tuple[Node, tuple[str, ...]], list[Node]] = {}
        self.steps: list[Step] = []
        self._deltas: dict[Node, Node | None] = {}
        self._versions: dict[tuple[Node, str], Node] = {}
        self._alike: dict[tuple[str, ...], list[Step]] = {}
        self._numbers = 0

    def old(self, plan: Node) -> Node:
        return self._at(plan, OLD)

    def new(self, plan: Node) -> Node:
        return self._at(plan, NEW)

    def _at(self, plan: Node, version: str) -> Node:
        """The plan over one version of its tables; groups that are materialized are read from their step."""
        if (plan, version) not in self._versions:
            self._versions[plan, version] = self._found_at(plan, version)
        return self._versions[plan, version]

    def _found_at(self, plan: Node, version: str) -> Node:
        if isinstance(plan, Aggregate) and self.is_whole(plan):
            return self.rules.whole_groups(plan, self, version)
        if isinstance(plan, Scan):
            return at(plan, version, self.changed)
        if plan in self.kept:
            rows = plan.with_inputs([self._at(child, version) for child in plan.inputs])
            return self.step("rows", rows, f"rows of {plan.title} that several terms read, {version}")
        if isinstance(plan, Restrict):  # a restriction to the keys of a join partner: the join applies it anyway
            return self._at(plan.input, version)
        return plan.with_inputs([self._at(child, version) for child in plan.inputs]) if plan.inputs else plan

    def added_up(self, node: Aggregate) -> Added | None:
        """The partial aggregates that the results follow from; None if they cannot be added up."""
        return self.added.get(names_of(node))

    def is_whole(self, node: Aggregate) -> bool:
        return bool(self.whole) and self.touches(node) and form(node) in self.whole

    def delta(self, plan: Node) -> Node | None:
        """The delta of a plan: its columns and a weight; None if nothing below it changed."""
        if plan not in self._deltas:
            found = None
            if self.touches(plan):
                rule = self.rules.deltas.get(type(plan))
                if rule is None:
                    raise NotMaintained("operator_not_incremental", f"there is no delta rule for {plan.title}")
                found = self._of_kept(plan) if plan in self.kept else rule(plan, self)
                if found is not None:
                    check_delta(found, plan)
                if found is not None and self.readers[plan] > 1:
                    found = self.materialized(found)
            self._deltas[plan] = found
        return self._deltas[plan]

    def _of_kept(self, plan: Node) -> Node:
        """The delta of a plan whose old and new rows are materialized."""
        difference = together([weighted(self.new(plan), 1), weighted(self.old(plan), -1)], plan.columns)
        assert difference is not None
        return consolidated(difference)

    def touches(self, plan: Node) -> bool:
        return not self.changed.isdisjoint(plan.tables)

    def step(self, label: str, plan: Node, what: str, *, delta: bool = False) -> Node:
        """Makes a plan a step of the script, and returns a scan of the step.

        If an earlier step differs only in its column names, that step is read instead.
        """
        check(plan, f"the delta rule of step {label}")
        alike = self._alike.setdefault(tuple(node.title for node in plan.walk()), [])
        for step in alike:
            if form(step.plan) == form(plan):
                scan = _step_scan(step)
                pairs = zip(plan.columns, scan.output, strict=True)
                return Project(scan, tuple(Computed(new, ref(old.name)) for new, old in pairs))
        self.steps.append(Step(f"step{len(self.steps)}_{label}", plan, what, delta or WEIGHT.name in plan.names))
        alike.append(self.steps[-1])
        return _step_scan(self.steps[-1])

    def materialize(self, *plans: Node) -> None:
        """Makes the deltas of these plans steps, so that they are computed once for all terms that read them."""
        for plan in plans:
            delta = self.delta(plan)
            self._deltas[plan] = None if delta is None else self.materialized(delta)

    def materialized(self, delta: Node) -> Node:
        """The delta as a step, unless it is cheap: several terms read it, or restrict other inputs to its keys."""
        return delta if cheap(delta) else self.step("delta", delta, "delta that several terms read", delta=True)

    def keys(self, delta: Node, values: Sequence[Expr]) -> Keys:
        """The distinct values of some expressions over a delta, as keys."""
        named = zip(self.fresh(len(values)), values, strict=True)
        columns = [Computed(Column(name, name, value.type or UNKNOWN), value.copy()) for name, value in named]
        plan = Distinct(Project(delta, tuple(columns)))
        pairs = tuple((value, item.column.name) for value, item in zip(values, columns, strict=True))
        return Keys(plan, pairs)

    def fresh(self, number: int) -> list[str]:
        """New, unused names for key columns."""
        self._numbers += number
        return [f"k{self._numbers - number + 1 + i}" for i in range(number)]

    def keys_in(self, rows: Node, names: Sequence[str], on: Sequence[str]) -> Keys:
        """Keys that restrict the columns ``on`` to the values of ``names`` in ``rows``. Without columns, a restriction
        keeps everything if ``rows`` is not empty, else nothing."""
        one: list[Expr] = [exp.Literal.number(1)]
        keys = self.keys(rows, [ref(name) for name in names] or one)
        values = [ref(name) for name in on] or one
        return Keys(keys.plan, tuple((value, key) for value, (_, key) in zip(values, keys.pairs, strict=True)))


def names_of(node: Aggregate) -> str:
    """The identity of an aggregate operator: the names of its results, which are unique in a plan."""
    return " ".join(item.column.name for item in node.aggregates)


@lru_cache(maxsize=4096)
def form(plan: Node) -> Node:
    """The plan with canonical column names: equal for plans that differ only in names."""
    return renamed(plan, by_place(plan))


def _step_scan(step: Step) -> Scan:
    columns = step.plan.columns
    return Scan(step.name, columns, tuple(column.name for column in columns), version=STEP)


@lru_cache(maxsize=4096)
def cheap(plan: Node) -> bool:
    """Whether a plan only applies linear operators to materialized rows: those of a step, or a table's change."""
    if isinstance(plan, Scan):
        return plan.version in (STEP, CHANGE)
    return trait_of(plan) is Trait.LINEAR and all(cheap(child) for child in plan.inputs)


def at(plan: Node, version: str, changed: Collection[str]) -> Node:
    """The plan over one version of its tables. Unchanged tables are always read as ``new``."""

    def rule(node: Node) -> Node | None:
        return replace(node, version=version if node.table in changed else NEW) if isinstance(node, Scan) else None

    return apply_rule(plan, rule)


def change_scan(node: Scan) -> Scan:
    """The changed rows of a table, with weights."""
    return replace(node, output=(*node.output, WEIGHT), sources=(*node.sources, WEIGHT.name), key=(), version=CHANGE)
