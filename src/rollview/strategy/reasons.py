"""Why a refresh recomputed the whole view: a code for programs, a sentence for people."""

from __future__ import annotations

#: The reason of a view with floating-point aggregates that no helper can store.
INEXACT = "inexact_rows"

REASONS = {
    "created": "the view is new",
    "replaced": "the view's definition was replaced",
    "requested": "REFRESH … FULL was asked for",
    "policy": "the view's policy is FULL",
    "operator_not_incremental": "the query has an operator for which there is no delta rule",
    "not_comparable": "values of a type that has no equality, MAP or VARIANT, would have to be compared",
    "not_stored": "an incremental refresh would store values of a type that the view's store does not support",
    INEXACT: "floating-point sums differ in their last digits when computed again, and a helper cannot store these",
    "history_gone": "a version or the changes of a base table no longer exist",
    "too_much_changed": "too many rows changed: recomputing is cheaper",
    "too_many_rows_differ": "the changed rows join too many other rows: recomputing is cheaper",
    "key_changed": "the declared key of a base table has changed",
    "layout_changed": "this version of rollview stores the view in another layout",
    "time_dependent": "the query uses the current time, user or another property of the session",
    "not_compiled": "the compiler does not support a part of the query",
    "compiler_bug": "the compiler failed on the query; this is a bug of rollview",
    "table_replaced": "a base table was dropped and created again",
    "table_went_back": "a base table no longer has the commit that the view shows: it went back to an earlier version",
    "not_versioned": "a base table has no versions, so its changes are not known",
    "damaged": "stored rows of the view were missing or could not be read",
}
