"""What is known of the rows of a plan: what tells them apart, and which columns decide others."""

from rollview.keys.facts import Facts, facts_of
from rollview.keys.hidden import Keyed, with_key
from rollview.keys.ties import without_ties

__all__ = ["Facts", "Keyed", "facts_of", "with_key", "without_ties"]
