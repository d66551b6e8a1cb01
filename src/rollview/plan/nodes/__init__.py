"""The operators of a plan. Immutable; each knows its columns and validates itself on construction.

Column names are unique in a plan, so joins need no qualifiers, and a subplan means the same wherever it is used.

| file | what it does |
|---|---|
| ``base.py`` | what all operators have in common |
| ``rows.py`` | scan, values, filter, project, generate |
| ``joins.py`` | joins and their kinds; restrictions to keys |
| ``groups.py`` | aggregate, distinct |
| ``sets.py`` | UNION ALL, EXCEPT, INTERSECT |
| ``windows.py`` | window functions, LIMIT |
| ``recursion.py`` | recursive queries |
| ``text.py`` | plans as indented text |
"""

from rollview.plan.expressions import show
from rollview.plan.nodes.base import UNKNOWN, Column, Computed, Made, Node, Ordering, show_all
from rollview.plan.nodes.groups import Aggregate, Distinct
from rollview.plan.nodes.joins import (
    ANTI,
    CROSS,
    FULL,
    INNER,
    JOINS,
    LEFT,
    MARK,
    RIGHT,
    SEMI,
    SINGLE,
    Join,
    JoinKind,
    MultiJoin,
    Pair,
    Restrict,
    restricted,
)
from rollview.plan.nodes.recursion import Recursive, RecursiveRef
from rollview.plan.nodes.rows import Filter, Generate, Project, Scan, Values, exactly
from rollview.plan.nodes.sets import Combined, SetKind, SetOperation, UnionAll, union_of
from rollview.plan.nodes.text import distinct, show_plan, show_plans, size
from rollview.plan.nodes.windows import CURRENT_ROW, FROM_START, TO_END, Bound, Frame, Limit, Window, WindowFunction

__all__ = [
    "ANTI",
    "CROSS",
    "CURRENT_ROW",
    "FROM_START",
    "FULL",
    "INNER",
    "JOINS",
    "LEFT",
    "MARK",
    "RIGHT",
    "SEMI",
    "SINGLE",
    "TO_END",
    "UNKNOWN",
    "Aggregate",
    "Bound",
    "Column",
    "Combined",
    "Computed",
    "Distinct",
    "Filter",
    "Frame",
    "Generate",
    "Join",
    "JoinKind",
    "Limit",
    "Made",
    "MultiJoin",
    "Node",
    "Ordering",
    "Pair",
    "Project",
    "Recursive",
    "RecursiveRef",
    "Restrict",
    "Scan",
    "SetKind",
    "SetOperation",
    "UnionAll",
    "Values",
    "Window",
    "WindowFunction",
    "distinct",
    "exactly",
    "restricted",
    "show",
    "show_all",
    "show_plan",
    "show_plans",
    "size",
    "union_of",
]
