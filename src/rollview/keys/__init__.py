"""What is known of a plan's rows: what tells them apart, which columns decide others, and what a query leaves open.

| file | what it does |
|---|---|
| ``facts.py`` | key, functional dependencies and NOT NULL of every operator |
| ``hidden.py`` | a plan with its key among its columns |
| ``carried.py`` | key columns carried through projections |
| ``branches.py`` | the key of a UNION ALL |
| ``ties.py`` | orders made total by the key |
| ``elements.py`` | order-dependent aggregates, ordered by the key |
| ``choices.py`` | what a query leaves open, and how the view decides it |
| ``decided.py`` | a plan that leaves nothing open |
"""

from rollview.keys.choices import Choice
from rollview.keys.decided import Decided, decided
from rollview.keys.facts import Facts, facts_of
from rollview.keys.hidden import Keyed, with_key

__all__ = ["Choice", "Decided", "Facts", "Keyed", "decided", "facts_of", "with_key"]
