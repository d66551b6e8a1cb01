"""The thresholds that a user may set for a session: how a refresh, a read or a write is done, each with its reason.

``rollview.connect("./warehouse", limits=Limits(helper_rows=0))`` sets some of them for a session. No limit changes a
result. Constants that nobody needs to set, such as the spare rows of a LIMIT, the rounds of a search and the
intervals of housekeeping, are defined in the files that use them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any


def _limit(default: float, what: str, why: str) -> Any:
    return field(default=default, metadata={"what": what, "why": why})


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The thresholds of a session; ``table`` shows what each decides."""

    always_followed: int = _limit(
        100_000,
        "a delta of up to this many rows is applied, whatever share of the tables it is",
        "counting the rows in advance is one more query",
    )
    append_cost: int = _limit(
        1,
        "an appended row costs as much as this many rows of a recomputation",
        "it is only written (`rollview bench share`)",
    )
    merge_cost: int = _limit(
        10,
        "a changed row that is added to groups costs as much as this many rows of a recomputation",
        "one row in 20 of two million: recomputing takes 1.0 times as long; an update is two rows (`bench share`)",
    )
    row_cost: int = _limit(
        25,
        "any other changed row costs as much as this many rows of a recomputation",
        "its file must be found and rewritten: at 2 % of two million rows recomputing takes 0.5 to "
        "0.8 times as long (`bench share`)",
    )
    changes_here: int = _limit(
        1_000_000,
        "up to this many changed rows of a table are read and summed in this process",
        "that takes less than the two Spark jobs of a query; more rows may not fit",
    )
    changes_here_bytes: int = _limit(
        256_000_000, "the same, for changed rows of up to this many bytes", "few rows may hold long texts"
    )
    rows_here: int = _limit(
        100_000,
        "up to this many rows of a change or step are kept in this process",
        "their values restrict the rows that are read, and joins broadcast them",
    )
    rows_in_plan: int = _limit(
        2_000,
        "up to this many of these rows become part of Spark's plan",
        "Spark compares plans row by row: with more rows, every join over them takes longer (`bench growth`)",
    )
    broadcast_bytes: int = _limit(
        10_000_000,
        "a table of up to this many bytes is broadcast to every join that reads it",
        "as many as Spark itself broadcasts",
    )
    listed_keys: int = _limit(
        200,
        "up to this many affected keys are listed in a query; for more, only their range",
        "files that hold none of the listed keys are skipped; longer lists take longer to compare than to join",
    )
    range_share: float = _limit(
        0.1,
        "a range of keys is used if it excludes this share of a table's values",
        "a condition that holds for nearly all rows skips no file",
    )
    helper_rows: int = _limit(
        1_000_000,
        "a helper is created only if a table below it has this many rows",
        "reading a smaller table again takes no longer than writing the helper",
    )
    helper_rows_per_group: int = _limit(
        8,
        "a helper has at most one group for this many rows of that table",
        "otherwise it saves little reading and costs one more write in every refresh",
    )
    estimate_error: float = _limit(
        1.2,
        "an approximate count of groups may be this many times too high",
        "`approx_count_distinct` has a standard deviation of 5 %",
    )
    lookup_rows: int = _limit(
        100_000,
        "a merge into a table of more rows looks up the rows that it changes by their values",
        "for smaller tables the lookup costs more than it saves: TPC-H 1, 5, 6, 14 and 15 took 1.2 to 1.3 times as "
        "long",
    )
    lookup_rows_most: int = _limit(
        20_000_000,
        "in a table of more rows, Spark looks them up, not this process",
        "Spark reads the files of a larger table in parallel",
    )
    lookup_columns: int = _limit(
        4, "up to this many columns are compared in a lookup", "the rows found are compared again in the merge"
    )
    restrict_factor: int = _limit(
        8,
        "a table of this many times the rows of a merge is restricted to their keys before it is joined",
        "the restriction is one more join over the table",
    )
    edits_here: int = _limit(
        1_000_000,
        "edits of up to this many rows are applied to their files in this process",
        "a Spark job that rewrites one file takes longer than the rewrite",
    )
    edits_here_bytes: int = _limit(
        64_000_000, "the same, for edits of up to this many bytes in files", "few rows may hold long texts"
    )
    views_at_a_time: int = _limit(
        4, "`refresh_all` refreshes this many views in parallel", "each leaves cores idle while it plans and commits"
    )
    first_step_rows: int = _limit(
        100_000,
        "the first step of a refresh with `step_seconds` has up to this many changed rows",
        "the steps after it have as many as the time measured allows",
    )
    clock_commits: int = _limit(
        100,
        "after this many commits the table of the commit clock is tidied; this many stay",
        "a look at the tables is a commit with a small file of its own",
    )
    keep_changes_seconds: int = _limit(
        604_800,
        "the timed delta of a view keeps its changes for this many seconds, if its definition has no KEEP CHANGES",
        "a week, as long as Delta keeps the old files of a table",
    )
    grace_seconds: float = _limit(
        3_600,
        "files of a timed delta stay on the disk for this many seconds after they were pruned or merged",
        "a query that has begun before still reads them",
    )
    refresh_attempts: int = _limit(
        5,
        "a refresh that another session overtakes is tried this many times",
        "each attempt starts from what the other session stored",
    )
    write_attempts: int = _limit(
        10,
        "a write to an embedded table that another writer overtakes is tried this many times",
        "after the first attempt, other writers on this machine wait",
    )
    live_bytes: int = _limit(
        4_000_000_000,
        "a live view may take this many bytes of memory, and no more than the machine has free",
        "beyond that the machine would swap, and a look-up would take longer than a query",
    )
    live_batch_rows: int = _limit(
        10_000, "a batch of a live view's diff has up to this many rows", "a subscriber can take them bit by bit"
    )
    live_rows_in_memory: int = _limit(
        1_000_000,
        "a diff of more rows is added up in files",
        "one changed row of a table can change millions of rows of a view",
    )
    live_waiting: int = _limit(
        64, "up to this many diffs wait for a subscriber", "a slow one must not take ever more memory"
    )
    live_waiting_rows: int = _limit(
        200_000, "the same, for diffs of up to this many rows in memory", "few diffs may have many rows"
    )
    live_callbacks: int = _limit(
        256,
        "up to this many callbacks of a live view run at the same time",
        "a callback that waits needs a thread; quick ones share one",
    )
    live_pause_seconds: float = _limit(
        60.0,
        "a live view that cannot follow its tables tries again after up to this many seconds",
        "the pauses double from one failure to the next",
    )
    settle_seconds: float = _limit(
        2.0,
        "AS OF a time waits until this many seconds have passed since then",
        "a commit is dated before it becomes visible",
    )
    verify_rows: int = _limit(
        10_000,
        "up to this many differing rows are compared one by one by `verify`",
        "floats that differ only by rounding are found equal; more differing rows cannot be due to rounding",
    )


DEFAULT = Limits()


def table() -> str:
    """All limits, as a table in Markdown."""
    lines = ["| limit | default | what it decides | why |", "|---|---|---|---|"]
    for each in fields(Limits):
        lines.append(f"| `{each.name}` | {each.default:,} | {each.metadata['what']} | {each.metadata['why']} |")
    return "\n".join(lines)
