"""The statements about materialized views."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from rollview.errors import UserError
from rollview.parse.durations import seconds_of
from rollview.parse.names import Name
from rollview.parse.tokens import Cursor, SqlTokens


class Policy(str, Enum):
    """Which strategies a refresh may use."""

    AUTO = "AUTO"
    INCREMENTAL = "INCREMENTAL"
    STRICT = "INCREMENTAL STRICT"
    FULL = "FULL"

    @staticmethod
    def named(name: str) -> Policy:
        """The policy with this name, in any case."""
        for policy in Policy:
            if policy.value == str(name).upper():
                return policy
        raise UserError(f"There is no refresh policy {name}", todo=f"use {', '.join(p.value for p in Policy)}")


@dataclass(frozen=True)
class CreateView:
    """``keep_changes`` are the seconds for which the view's timed delta is kept, if the statement says so."""

    name: Name
    query: str
    policy: Policy = Policy.AUTO
    comment: str | None = None
    or_replace: bool = False
    if_not_exists: bool = False
    keep_changes: int | None = None


@dataclass(frozen=True)
class RefreshView:
    """``as_of`` is a time as text, or a position of the commit clock."""

    name: Name
    full: bool = False
    as_of: str | int | None = None


@dataclass(frozen=True)
class DropView:
    name: Name
    if_exists: bool = False


@dataclass(frozen=True)
class ShowViews:
    pass


@dataclass(frozen=True)
class DescribeView:
    name: Name


@dataclass(frozen=True)
class ExplainView:
    name: Name
    verbose: bool = False


ViewStatement = CreateView | RefreshView | DropView | ShowViews | DescribeView | ExplainView


def parse_view_statement(sql: str) -> ViewStatement | None:
    """The statement about a materialized view that ``sql`` is, or None if it is about something else."""
    cursor = Cursor(SqlTokens.of(sql))
    statement: ViewStatement
    if cursor.take("CREATE", "OR", "REPLACE", "MATERIALIZED", "VIEW"):
        return _create(cursor, or_replace=True)
    if cursor.take("CREATE", "MATERIALIZED", "VIEW"):
        return _create(cursor, or_replace=False)
    if cursor.take("REFRESH", "MATERIALIZED", "VIEW"):
        statement = _refresh(cursor)
    elif cursor.take("DROP", "MATERIALIZED", "VIEW"):
        if_exists = cursor.take("IF", "EXISTS")
        statement = DropView(cursor.name("the view's name"), if_exists)
    elif cursor.take("SHOW", "MATERIALIZED", "VIEWS"):
        statement = ShowViews()
    elif cursor.take("DESCRIBE", "MATERIALIZED", "VIEW") or cursor.take("DESC", "MATERIALIZED", "VIEW"):
        statement = DescribeView(cursor.name("the view's name"))
    elif cursor.take("EXPLAIN", "MATERIALIZED", "VIEW"):
        statement = ExplainView(cursor.name("the view's name"), verbose=cursor.take("VERBOSE"))
    else:
        return None
    cursor.finish()
    return statement


def _refresh(cursor: Cursor) -> RefreshView:
    name, full = cursor.name("the view's name"), cursor.take("FULL")
    as_of: str | int | None = None
    if cursor.take("AS", "OF"):
        if cursor.take("TIMESTAMP"):
            cursor.take("TIMESTAMP")  # a parameter that is a datetime becomes TIMESTAMP '…'
            as_of = cursor.string("the time")
        elif cursor.take("POSITION"):
            as_of = cursor.integer("the position")
        else:
            raise cursor.error("expected TIMESTAMP '…' or POSITION n")
    return RefreshView(name, full or cursor.take("FULL"), as_of)


def _create(cursor: Cursor, *, or_replace: bool) -> CreateView:
    if_not_exists = cursor.take("IF", "NOT", "EXISTS")
    if or_replace and if_not_exists:
        raise cursor.refusal("OR REPLACE and IF NOT EXISTS exclude each other", "keep one of the two", back=3)
    name = cursor.name("the view's name")
    policy, comment, kept = Policy.AUTO, None, None
    while True:
        if cursor.take("REFRESH", "POLICY"):
            policy = _policy(cursor)
        elif cursor.take("COMMENT"):
            comment = cursor.string("the comment")
        elif cursor.take("KEEP", "CHANGES"):
            kept = _length(cursor)
        else:
            break
    if not cursor.take("AS"):
        raise cursor.error(
            "expected REFRESH POLICY, COMMENT, KEEP CHANGES or AS",
            "CREATE MATERIALIZED VIEW name [REFRESH POLICY …] [COMMENT '…'] [KEEP CHANGES '7 days'] AS SELECT …; "
            "quote a name that has characters other than letters, digits and _ with backticks",
        )
    if cursor.done:
        raise cursor.error("expected the view's query")
    query = cursor.sql[cursor.position :].strip().rstrip(";").rstrip()
    return CreateView(name, query, policy, comment, or_replace, if_not_exists, kept)


def _length(cursor: Cursor) -> int:
    """How long changes are kept, in seconds."""
    text = cursor.string("a length of time")
    try:
        return seconds_of(text, "KEEP CHANGES")
    except UserError as error:
        raise cursor.refusal(error.what, error.todo or "", back=1) from None


def _policy(cursor: Cursor) -> Policy:
    if cursor.take("INCREMENTAL", "STRICT"):
        return Policy.STRICT
    for policy in (Policy.INCREMENTAL, Policy.AUTO, Policy.FULL):
        if cursor.take(policy.value):
            return policy
    raise cursor.error("expected AUTO, INCREMENTAL, INCREMENTAL STRICT or FULL")
