"""SQL as a tree, the same tree for every spelling of a construct.

sqlglot parses many dialects. If Spark has another default or another spelling than sqlglot assumes, the tree is
corrected here, so that no later step has to know.
"""

from __future__ import annotations

import logging

from sqlglot import TokenType, exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.tokenizer_core import Token

from rollview.errors import Place
from rollview.parse.logs import silence
from rollview.parse.spelling import (
    Path,
    doubled_quotes,
    path_of,
    paths_in_brackets,
    refuse_clauses_in_calls,
    window_is_a_name,
)
from rollview.stack import TooDeep, deep

#: The setting of a session with which Spark reads ``\n`` in a string as two characters.
RAW_STRINGS = "spark.sql.parser.escapedStringLiterals"

#: Settings with which Spark reads a text in another way than the compiler; with the first, ``"x"`` is a name.
OTHER_SPELLINGS = ("spark.sql.ansi.doubleQuotedIdentifiers", RAW_STRINGS)

_GENERATORS = (exp.Explode, exp.ExplodeOuter, exp.Posexplode, exp.PosexplodeOuter, exp.Inline, exp.Stack)
_GENERATOR_NAMES = {"json_tuple", "inline_outer", "inline", "posexplode_outer", "explode_outer"}

silence(logging.getLogger("sqlglot"))

#: The deepest nesting of brackets and CASE.
_DEEPEST = 1_000
_OPENS = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE}
_CLOSES = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE}

#: What is settled once a text is read.
_SETTLED = (exp.WindowSpec, exp.Group, exp.GroupConcat, exp.Any, exp.Bracket, exp.Limit, exp.Exists, exp.Anonymous)

_SPARK = Dialect.get_or_raise("spark")


@deep
def read(sql: str) -> list[exp.Expr]:
    """The statements in a text, or its only expression. Raises sqlglot's error if the text cannot be parsed."""
    tokens = doubled_quotes(_SPARK.tokenize(sql), sql)
    _check_depth(sql, tokens)
    refuse_clauses_in_calls(tokens, sql)
    window_is_a_name(tokens)
    trees = [tree for tree in _SPARK.parser().parse(paths_in_brackets(tokens), sql) if tree is not None]
    for tree in trees:
        for node in list(tree.find_all(*_SETTLED)):
            _settle(node)
    return trees


def _check_depth(sql: str, tokens: list[Token]) -> None:
    """Refuses SQL that is nested too deeply to be parsed, before parsing takes long."""
    depth = cases = 0
    for token in tokens:
        if token.token_type in _OPENS:
            depth += 1
        elif token.token_type in _CLOSES:
            depth -= 1
        elif token.token_type is TokenType.CASE:
            depth, cases = depth + 1, cases + 1
        elif token.token_type is TokenType.END and cases:
            depth, cases = depth - 1, cases - 1
        if depth > _DEEPEST:
            raise TooDeep(Place(sql, token.start, token.end + 1))


def is_generator(expr: exp.Expr) -> bool:
    """Whether this is a generator: a function that returns several rows for one."""
    if isinstance(expr, exp.Anonymous):
        return expr.name.lower() in _GENERATOR_NAMES
    return isinstance(expr, _GENERATORS)


def _settle(node: exp.Expr) -> None:
    if isinstance(node, exp.WindowSpec):
        _whole_frame(node)
    elif isinstance(node, exp.Group):
        _sets_of_all(node)
    elif isinstance(node, exp.Any):
        compared = isinstance(node.parent, exp.Binary) and node.arg_key == "expression"
        if not compared and isinstance(node.this, exp.Paren):  # the aggregate
            node.replace(exp.LogicalOr(this=node.this.this))
    elif isinstance(node, exp.Limit):
        if isinstance(node.expression, exp.Var) and node.expression.name.upper() == "ALL":  # no limit
            node.pop()
    elif isinstance(node, exp.Exists):
        if node.args.get("expression") is not None:  # of an array's elements, not of a subquery's rows
            node.replace(exp.Anonymous(this="exists", expressions=[node.this, node.expression]))
    elif isinstance(node, exp.Anonymous):
        kind = {"every": exp.LogicalAnd, "some": exp.LogicalOr}.get(node.name.lower())
        if kind is not None and len(node.expressions) == 1:
            node.replace(kind(this=node.expressions[0]))
    elif isinstance(node, exp.Bracket):
        if (path := path_of(node)) is not None:
            _path_into_variant(node, path)
    elif node.args.get("separator") is None:  # Spark's default separator is the empty string, sqlglot's is a comma
        node.set("separator", exp.Literal.string(""))


def _path_into_variant(node: exp.Bracket, path: Path) -> None:
    """``v:a.b[0]`` as ``variant_get(v, '$["a"]["b"][0]', 'variant')``; the last key names its column."""
    arguments = [node.this, exp.Literal.string(path.text), exp.Literal.string("variant")]
    call: exp.Expr = exp.Anonymous(this="variant_get", expressions=arguments)
    if isinstance(node.parent, exp.Select) and path.last is not None:
        call = exp.alias_(call, path.last, quoted=True, copy=False)
    node.replace(call)


def _whole_frame(frame: exp.Expr) -> None:
    """``rows 2 preceding`` as ``ROWS BETWEEN 2 PRECEDING AND CURRENT ROW``."""
    for part, value in frame.args.items():
        if isinstance(value, str):
            frame.set(part, value.upper())
    if frame.args.get("end") is None:
        frame.set("end", "CURRENT ROW")


def _sets_of_all(group: exp.Expr) -> None:
    """``GROUP BY a, b WITH CUBE`` as ``GROUP BY CUBE (a, b)``."""
    for part in ("rollup", "cube"):
        for item in group.args.get(part) or ():
            if not item.expressions:
                item.set("expressions", [key.pop() for key in list(group.expressions)])
