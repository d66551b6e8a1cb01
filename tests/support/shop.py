"""The conformance set: a shop, views over it, and rounds of changes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from rollview.parse.tokens import split_script

FOLDER = Path(__file__).parents[1] / "conformance"


@dataclass(frozen=True)
class Round:
    name: str
    statements: list[str]


def schema() -> list[str]:
    return split_script((FOLDER / "schema.sql").read_text(encoding="utf-8"))


def rounds() -> list[Round]:
    text = (FOLDER / "rounds.sql").read_text(encoding="utf-8")
    parts = re.split(r"^-- round: (\w+)$", text, flags=re.MULTILINE)[1:]
    return [Round(name, split_script(body)) for name, body in zip(parts[::2], parts[1::2], strict=True)]


TABLES = ("blocked", "customers", "items", "orders", "products", "targets", "visits")


@dataclass(frozen=True)
class ShopView:
    name: str
    expect: str
    spark_only: bool
    sql: str


def views() -> list[ShopView]:
    return _views(FOLDER / "views.sql")


def more_views() -> list[ShopView]:
    return _views(FOLDER / "more_views.sql")


def _views(file: Path) -> list[ShopView]:
    text = file.read_text(encoding="utf-8")
    pattern = r"^-- view: (\w+) \| expect: (\w+)( \| on: spark)?\n(.*?);$"
    found = re.findall(pattern, text, flags=re.MULTILINE | re.DOTALL)
    return [ShopView(name, expect, bool(spark), sql) for name, expect, spark, sql in found]
