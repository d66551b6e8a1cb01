"""The settings of a session that values depend on. Values are proven for Spark's defaults, in any time zone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import tzinfo

from rollview.engine.expressions.refused import Refused
from rollview.engine.expressions.zone import Zone
from rollview.engine.protocol import Engine

#: What a session must be set to: with other values, Spark computes other results.
NEEDED = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
    "spark.sql.icu.caseMappings.enabled": "true",
    "spark.sql.legacy.decimal.retainFractionDigitsOnTruncate": "false",
    "spark.sql.legacy.exponentLiteralAsDecimal.enabled": "false",
    "spark.sql.legacy.literal.pickMinimumPrecision": "true",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
}


@dataclass(frozen=True)
class Settings:
    """``zone`` is the time zone of the session."""

    zone: Zone

    @staticmethod
    def of(engine: Engine) -> Settings:
        """The settings of an engine. Raises Refused if one is not as needed."""
        for name, value in NEEDED.items():
            if not engine.has_settings({name: value}):
                raise Refused(
                    f"An expression of a session in which {name} is not {value}",
                    why="the values of expressions are proven for the default settings of Spark",
                    todo=f"set {name} to {value}",
                )
        zone = engine.zone()
        if zone is None:
            raise Refused("An expression of a session without a time zone")
        return Settings(Zone.of(zone))

    @staticmethod
    def in_zone(zone: tzinfo) -> Settings:
        return Settings(Zone.of(zone))
