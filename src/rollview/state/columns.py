"""Names of stored columns, and the state as a relation that readers' queries are over."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from sqlglot import exp

from rollview.codegen.printer import print_plan
from rollview.delta.derivation import CHANGE
from rollview.plan.expressions import ref
from rollview.plan.nodes import Column, Computed, Node, Project, Scan
from rollview.plan.reserved import STATE, TIME, WEIGHT

#: The key of a group, or of a row, that has none.
ONE = Column("__one", "__one", exp.DataType.build("int"))


def usable(label: str, taken: Collection[str]) -> str | None:
    """The label, if it can be a column of a table and does not look like one of ours."""
    fits = re.fullmatch(r"\w+", label) and not label.startswith("_") and label.casefold() not in taken
    return label if fits else None


def stored_names(columns: Sequence[Column], visible: Collection[str]) -> dict[str, str]:
    """Names for the columns in the state table: their own where a table can have them, and hidden ones."""
    taken: set[str] = set()
    found: dict[str, str] = {}
    for index, column in enumerate(columns):
        own = usable(column.label, taken) if column.name in visible else None
        label = own or f"__c{index}"
        taken.add(label.casefold())
        found[column.name] = label
    return found


def relabelled(plan: Node, labels: dict[str, str]) -> Node:
    """The plan under stored names."""
    pairs = [(column, labels[column.name]) for column in plan.columns]
    return Project(plan, tuple(Computed(Column(c.name, label, c.type), ref(c.name)) for c, label in pairs))


def labelled(plan: Node, columns: Sequence[Column], more: Sequence[Computed] = ()) -> Node:
    """These columns of a plan, and some more."""
    return Project(plan, (*(Computed(c, ref(c.name)) for c in columns), *more))


def scan_of(plan: Node, version: str = "") -> Scan:
    """The state that a plan gives the rows of, or its changes, as a relation."""
    output = (*plan.columns, WEIGHT, TIME) if version == CHANGE else plan.columns
    return Scan(STATE, output, tuple(column.label for column in output), version=version)


def feed_of(plan: Project, labels: Sequence[str], dialect: str) -> str:
    """A query over changes of the state as SQL: with the weight, which the plan gives last, and the commit."""
    timed = Project(plan.input, (*plan.output, Computed(TIME, ref(TIME.name))))
    return text_of(timed, [*labels, WEIGHT.label, TIME.label], dialect)


def text_of(plan: Node, labels: Sequence[str], dialect: str) -> str:
    """A query over the state as SQL."""
    return print_plan(plan, dialect, labels, lambda scan: STATE)
