"""What is known of a plan's rows: what tells them apart, which columns decide others, and what a query leaves open."""

from rollview.keys.choices import Choice
from rollview.keys.decided import Decided, decided
from rollview.keys.facts import Facts, facts_of
from rollview.keys.hidden import Keyed, with_key

__all__ = ["Choice", "Decided", "Facts", "Keyed", "decided", "facts_of", "with_key"]
