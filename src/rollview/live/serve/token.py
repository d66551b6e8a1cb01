"""Tokens: where a subscriber stands, as text that it can keep. A vector, and which view it is about."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from rollview.errors import UserError
from rollview.store.protocol import Identity

Vector = Mapping[str, Identity]

_BEGIN = "rv1."


class Place(NamedTuple):
    """Where a view stands: the vector, how many changes it has been given that are in no commit, the number of the diff
    since the live view was made, and the time. A subscriber that has not got the whole of its snapshot stands before
    all rows (``before_all``)."""

    vector: Vector
    given: int
    number: int
    time: datetime
    before_all: bool = False

    def token(self, fingerprint: str) -> str:
        """The token of the place, in a view of this fingerprint."""
        at = {table: [identity.table_id, identity.version, identity.mark] for table, identity in self.vector.items()}
        told = {"view": fingerprint[:16], "at": None if self.before_all else at, "given": self.given}
        text = json.dumps(told, sort_keys=True, separators=(",", ":"))
        return _BEGIN + base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def vector_in(token: str, here: Place, fingerprint: str, title: str) -> dict[str, Identity] | None:
    """The vector that a token stands for, None if it is before all rows. ``here`` is where the same view stands now."""
    found = _read(token)
    if found.get("view") != fingerprint[:16]:
        raise UserError(
            f"The token is of another view than {title}",
            why="the query has changed since the token was given, or the token was given by another view",
            todo="begin again with a snapshot: snapshot=True",
        )
    at = found["at"]
    if at is None:
        return None
    if set(at) != set(here.vector):
        raise UserError(f"The token does not name the tables of {title}", todo="give a token as it was received")
    if found.get("given", 0) != here.given:
        raise UserError(
            "The diffs since this token are not known", why="changes were applied by hand, and are in no store"
        )
    return {table: Identity(*at[table]) for table in here.vector}


def _read(token: str) -> dict[str, Any]:
    try:
        if not token.startswith(_BEGIN):
            raise ValueError(token)
        text = token.removeprefix(_BEGIN)
        found = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        at = found["at"]
        if at is not None and (not isinstance(at, dict) or any(len(each) != 3 for each in at.values())):
            raise ValueError(token)
        return dict(found)
    except (ValueError, KeyError, TypeError, AttributeError, binascii.Error) as error:
        raise UserError(
            f"{str(token)[:40]!r} is no token",
            todo="give the .token of a batch, or of the live view, as it was received",
        ) from error
