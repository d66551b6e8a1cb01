"""What is known about a plan's rows: their key, functional dependencies, and the choices that a query leaves open.

| file | what it does |
|---|---|
| ``facts.py`` | key, functional dependencies and NOT NULL columns of every operator |
| ``hidden.py`` | a plan with its key among its columns |
| ``carried.py`` | key columns passed on through projections |
| ``branches.py`` | the key of a UNION ALL |
| ``ties.py`` | ties in an ORDER BY broken by the key |
| ``elements.py`` | order-dependent aggregates, ordered by the key |
| ``choices.py`` | what a query leaves open, and how the view decides it |
| ``decided.py`` | a deterministic plan: every open choice made |
"""

from rollview.keys.choices import Choice
from rollview.keys.decided import Decided, decided
from rollview.keys.facts import Facts, facts_of
from rollview.keys.hidden import Keyed, with_key

__all__ = ["Choice", "Decided", "Facts", "Keyed", "decided", "facts_of", "with_key"]
