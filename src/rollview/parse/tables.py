"""Statements that create and change tables, split into clauses. Expressions stay text, as the user wrote them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from rollview.errors import Place, SqlSyntaxError
from rollview.parse.names import Name
from rollview.parse.tokens import Cursor, SqlTokens


@dataclass(frozen=True)
class CreateTable:
    """``columns`` is the column list as DDL text (empty if the query gives it)."""

    name: Name
    columns: str
    key: tuple[str, ...] = ()
    comment: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    query: str | None = None
    or_replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True)
class Insert:
    table: Name
    query: str
    columns: tuple[str, ...] = ()
    by_name: bool = False
    overwrite: bool = False


@dataclass(frozen=True)
class Update:
    table: Name
    alias: str
    assignments: Assignments
    where: str | None


@dataclass(frozen=True)
class Delete:
    table: Name
    alias: str
    where: str | None


@dataclass(frozen=True)
class When:
    """One WHEN clause: ``assignments`` is None for UPDATE SET * and INSERT *, and empty for DELETE."""

    matched: str  # "both", "source" (no target row) or "target" (no source row)
    condition: str | None
    action: str  # "update", "insert" or "delete"
    assignments: Assignments | None = ()


@dataclass(frozen=True)
class Merge:
    table: Name
    alias: str
    source: str
    source_alias: str
    condition: str
    clauses: tuple[When, ...]


@dataclass(frozen=True)
class DropTable:
    name: Name
    if_exists: bool = False


@dataclass(frozen=True)
class DropPlainView:
    """DROP VIEW, which does not drop materialized views."""

    name: Name
    if_exists: bool = False


@dataclass(frozen=True)
class ShowTables:
    pass


#: The assignments of SET: the name of a column or the path to a field of it, and the value.
Assignments = tuple[tuple[Name, str], ...]

#: The statements that a store runs.
TableStatement = CreateTable | Insert | Update | Delete | Merge | DropTable


def parse_table_statement(sql: str) -> TableStatement | DropPlainView | ShowTables | None:
    """The table statement that ``sql`` is, or None if it is another kind."""
    cursor = Cursor(SqlTokens.of(sql))
    statement: TableStatement | DropPlainView | ShowTables
    if cursor.take("CREATE", "OR", "REPLACE", "TABLE"):
        statement = _create(cursor, or_replace=True)
    elif cursor.take("CREATE", "TABLE"):
        statement = _create(cursor, or_replace=False)
    elif cursor.take("INSERT"):
        statement = _insert(cursor)
    elif cursor.take("UPDATE"):
        statement = _update(cursor)
    elif cursor.take("DELETE"):
        statement = _delete(cursor)
    elif cursor.take("TRUNCATE", "TABLE"):
        name = cursor.name("the table's name")
        statement = Delete(name, name[-1], None)
    elif cursor.take("MERGE"):
        statement = _merge(cursor)
    elif cursor.take("DROP", "TABLE"):
        if_exists = cursor.take("IF", "EXISTS")
        statement = DropTable(cursor.name("the table's name"), if_exists)
        cursor.take("PURGE")
    elif cursor.take("DROP", "VIEW"):
        if_exists = cursor.take("IF", "EXISTS")
        statement = DropPlainView(cursor.name("the view's name"), if_exists)
    elif cursor.sees("WITH"):
        return _with_insert(cursor)
    elif cursor.take("SHOW", "TABLES"):
        if not cursor.done:
            return None
        statement = ShowTables()
    else:
        return None
    cursor.finish()
    return statement


def _create(cursor: Cursor, *, or_replace: bool) -> CreateTable:
    if_not_exists = cursor.take("IF", "NOT", "EXISTS")
    if or_replace and if_not_exists:
        raise cursor.refusal("OR REPLACE and IF NOT EXISTS exclude each other", "keep one of the two", back=3)
    name = cursor.name("the table's name")
    columns, key = _column_list(cursor) if cursor.take("(") else ("", ())
    table = _with_clauses(cursor, CreateTable(name, columns, key, or_replace=or_replace, if_not_exists=if_not_exists))
    if not table.columns and table.query is None:
        raise cursor.error("expected a column list or AS SELECT")
    return table


def _column_list(cursor: Cursor) -> tuple[str, tuple[str, ...]]:
    """The columns as DDL text, and the primary key."""
    columns: list[str] = []
    key: tuple[str, ...] = ()
    while True:
        if key and (cursor.sees("PRIMARY", "KEY") or cursor.sees("CONSTRAINT")):
            raise cursor.refusal("There are two PRIMARY KEYs", "leave out one of them")
        if cursor.take("PRIMARY", "KEY"):
            key = _names(cursor)
        elif cursor.sees("CONSTRAINT") and cursor.is_word("PRIMARY", 2):
            cursor.at += 1
            cursor.identifier("the constraint's name")
            cursor.expect("PRIMARY", "KEY")
            key = _names(cursor)
        else:
            text, is_key = _column(cursor)
            columns.append(text)
            if is_key:
                key = (Cursor(SqlTokens.of(text)).identifier("a column"),)
        if not cursor.take(","):
            cursor.expect(")")
            return ", ".join(columns), key


def _column(cursor: Cursor) -> tuple[str, bool]:
    """One column as DDL text without PRIMARY KEY, and whether it is the primary key."""
    start = cursor.at
    text = cursor.until(lambda: cursor.is_word(",") or cursor.sees("PRIMARY", "KEY"))
    is_key = cursor.take("PRIMARY", "KEY")
    if is_key:
        text = (text + " " + cursor.until(lambda: cursor.is_word(","))).strip()
    if cursor.at == start:
        raise cursor.error("expected a column")
    return text, is_key


def _with_clauses(cursor: Cursor, table: CreateTable) -> CreateTable:
    """The table with the clauses after its name and columns."""
    while not cursor.done:
        if cursor.take("USING", "DELTA"):
            continue
        if cursor.take("COMMENT"):
            table = replace(table, comment=cursor.string("the comment"))
        elif cursor.take("TBLPROPERTIES"):
            table = replace(table, properties=dict(_property(item) for item in cursor.bracketed()))
        elif cursor.sees("AS") or cursor.sees("SELECT") or cursor.sees("WITH"):
            if table.columns:
                raise cursor.refusal("A column list and AS SELECT exclude each other", "leave out one of them")
            cursor.take("AS")
            table = replace(table, query=cursor.rest())
        else:
            raise cursor.error(
                "this clause of CREATE TABLE is not supported",
                "supported are USING DELTA, COMMENT, TBLPROPERTIES and AS SELECT; for others, create the "
                "table with Spark and Delta",
            )
    return table


def _property(item: str) -> tuple[str, str]:
    cursor = Cursor(SqlTokens.of(item))
    name = cursor.until(lambda: cursor.is_word("=")).strip("'\"`")
    cursor.take("=")
    return name, cursor.rest().strip("'\"")


def _names(cursor: Cursor) -> tuple[str, ...]:
    cursor.expect("(")
    found = [cursor.identifier("a column")]
    while cursor.take(","):
        found.append(cursor.identifier("a column"))
    cursor.expect(")")
    return tuple(found)


def _with_insert(cursor: Cursor) -> Insert | None:
    """WITH … INSERT INTO …: the common tables belong to the inserted query."""
    common = cursor.until(lambda: cursor.sees("INSERT"))
    if not cursor.take("INSERT"):
        return None
    insert = _insert(cursor)
    cursor.finish()
    return replace(insert, query=f"{common} {insert.query}")


def _insert(cursor: Cursor) -> Insert:
    overwrite = cursor.take("OVERWRITE")
    if not cursor.take("INTO") and not overwrite:
        raise cursor.error("expected INTO")
    cursor.take("TABLE")
    table = cursor.name("the table's name")
    columns: tuple[str, ...] = ()
    by_name = cursor.take("BY", "NAME")
    if cursor.is_word("(") and not any(
        cursor.is_word(word, 1) for word in ("SELECT", "WITH", "VALUES", "TABLE", "FROM", "(")
    ):
        columns = _names(cursor)
    if cursor.done:
        raise cursor.error("expected VALUES or a query")
    return Insert(table, cursor.rest(), columns, by_name, overwrite)


def _target(cursor: Cursor, *stops: str) -> tuple[Name, str]:
    """A table with an optional alias: its name, and the alias that expressions use."""
    name = cursor.name("the table's name")
    if cursor.take("AS") or not (cursor.done or any(cursor.is_word(stop) for stop in stops)):
        return name, cursor.identifier("an alias")
    return name, name[-1]


def _assignments(cursor: Cursor, stop: str) -> Assignments:
    found: list[tuple[Name, str]] = []
    while True:
        column = cursor.name("a column")
        cursor.expect("=")
        value = cursor.until(lambda: cursor.is_word(",") or cursor.is_word(stop))
        if not value:
            raise cursor.error("expected a value")
        found.append((column, value))
        if not cursor.take(","):
            return tuple(found)


def _where(cursor: Cursor) -> str | None:
    if not cursor.take("WHERE"):
        return None
    text = cursor.rest()
    if not text:
        raise cursor.error("expected a condition")
    return text


def _update(cursor: Cursor) -> Update:
    table, alias = _target(cursor, "SET")
    cursor.expect("SET")
    assignments = _assignments(cursor, "WHERE")
    return Update(table, alias, assignments, _where(cursor))


def _delete(cursor: Cursor) -> Delete:
    cursor.expect("FROM")
    table, alias = _target(cursor, "WHERE")
    return Delete(table, alias, _where(cursor))


def _merge(cursor: Cursor) -> Merge:
    cursor.take("WITH", "SCHEMA", "EVOLUTION")
    cursor.expect("INTO")
    table, alias = _target(cursor, "USING")
    cursor.expect("USING")
    begin = cursor.at
    source = cursor.until(lambda: cursor.is_word("ON"))
    source_alias = _source_alias(cursor, begin)
    cursor.expect("ON")
    condition = cursor.until(lambda: cursor.is_word("WHEN"))
    clauses: list[When] = []
    while cursor.take("WHEN"):
        clauses.append(_when(cursor))
    if not clauses:
        raise cursor.error("expected WHEN MATCHED or WHEN NOT MATCHED")
    return Merge(table, alias, source, source_alias, condition, tuple(clauses))


def _source_alias(cursor: Cursor, begin: int) -> str:
    """The name of the source in expressions: its alias, with or without a column list, or the table's name."""
    words = cursor.tokens[begin : cursor.at]
    last = len(words) - 1
    if words and words[last].plain and words[last].text == ")":
        depth = 0
        while last >= 0:
            depth += words[last].plain and words[last].text == ")"
            depth -= words[last].plain and words[last].text == "("
            last -= 1
            if depth == 0:
                break
    if last < 0 or not words[last].nameable:
        where = Place(cursor.sql, words[0].start, words[-1].stop) if words else None
        raise SqlSyntaxError("The source of MERGE needs a name", where=where, todo="write USING (SELECT …) AS s")
    return words[last].text


def _when(cursor: Cursor) -> When:
    if cursor.take("MATCHED"):
        matched = "both"
    else:
        cursor.expect("NOT", "MATCHED")
        matched = "target" if cursor.take("BY", "SOURCE") else "source"
        cursor.take("BY", "TARGET")
    condition = cursor.until(lambda: cursor.is_word("THEN")) if cursor.take("AND") else None
    cursor.expect("THEN")
    if matched == "source":
        cursor.expect("INSERT")
        if cursor.take("*"):
            return When(matched, condition, "insert", None)
        columns = _names(cursor)
        cursor.expect("VALUES")
        values = cursor.bracketed()
        if len(columns) != len(values):
            raise cursor.error(f"INSERT names {len(columns)} columns but gives {len(values)} values")
        return When(
            matched,
            condition,
            "insert",
            tuple(((column,), value) for column, value in zip(columns, values, strict=True)),
        )
    if cursor.take("DELETE"):
        return When(matched, condition, "delete")
    cursor.expect("UPDATE", "SET")
    if cursor.take("*"):
        return When(matched, condition, "update", None)
    return When(matched, condition, "update", _assignments(cursor, "WHEN"))
