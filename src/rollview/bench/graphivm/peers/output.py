"""The text that puts out a row of the view: as the kernel of the graph does, or into a relation that is kept."""

from __future__ import annotations

from collections.abc import Sequence

from rollview.bench.graphivm.peers.relations import Column, Relation
from rollview.live.generated.text import Text
from rollview.live.kernel.paths import MANY_ROWS
from rollview.live.kernel.plan import Plan


def word(column: Column) -> str:
    """The local name of a column's word."""
    return f"w{column[0]}_{column[1]}"


def changed_row(text: Text, relation: Relation, row: str, weight: str) -> None:
    """Changes a row of a relation, for which there must be room."""
    text(f"wanted = change_wants(arena, plan, {relation.at})")
    text("if wanted: arena = grown(arena, wanted)")
    text(f"row_changed(arena, plan, {relation.at}, {row}, {weight})")


class Output:
    """Puts out rows of the view. ``kept`` is the relation of the view, if it is kept."""

    def __init__(self, plan: Plan, kept: Relation | None) -> None:
        assert not plan.sums, "a peer has no sums"
        self.plan, self.kept = plan, kept

    @property
    def width(self) -> int:
        """The words of a row, without its weight."""
        return self.plan.fields

    def shown(self, parts: Sequence[int]) -> list[tuple[int, str]]:
        """The columns of the output that are of some occurrences, and what is put there."""
        return [
            (column, word((part, self.plan.parts[part].in_fields + at)))
            for part in parts
            for at, column in self.plan.shown.words[part]
        ]

    def nulls(self, text: Text, parts: Sequence[int], name: str, before: str) -> None:
        """Computes the bits for NULL of some occurrences, added to those of others."""
        text(f"{name} = {before}")
        if self.plan.shown.nulls < 0:
            return
        for part in parts:
            own = self.plan.parts[part]
            if bits := self.plan.shown.bits[part]:
                at = word((part, own.in_fields + own.width - 1))
                each = " | ".join(f"((({at} >> {a}) & 1) << {b})" for a, b in bits)
                text(f"if {at} != 0: {name} |= {each}")

    def one(self, text: Text, parts: Sequence[int], nulls: str, weight: str) -> None:
        """Puts out one row."""
        with text.block("if push"):
            text("out = with_room(out, done, 1)")
            self._row(text, parts, nulls, weight, "out[{}, done]")
            text("done += 1")
        self.keep(text, parts, nulls, weight)

    def keep(self, text: Text, parts: Sequence[int], nulls: str, weight: str) -> None:
        """Changes the view that is kept."""
        if self.kept is None:
            return
        self._row(text, parts, nulls, "0", "shown[{}]")
        changed_row(text, self.kept, "shown", weight)

    def _row(self, text: Text, parts: Sequence[int], nulls: str, weight: str, to: str) -> None:
        for column, name in self.shown(parts):
            text(f"{to.format(column)} = {name}")
        if self.plan.shown.nulls >= 0:
            text(f"{to.format(self.plan.shown.nulls)} = {nulls}")
        text(f"{to.format(self.width)} = {weight}")

    def many(self, text: Text, choose: Sequence[str], last: Sequence[int], nulls: str, weight: str) -> None:
        """Puts out the rows of a list of ``more``: what does not change in it is filled beforehand if they are many.

        ``choose`` are the lines that read the row at place ``j``."""
        everyone = [part.number for part in self.plan.parts]
        others = [part for part in everyone if part not in last]
        with text.block("if push"):
            text("out = with_room(out, done, more)")
            with text.block(f"if more < {MANY_ROWS}"), text.block("for j in range(more)"):
                text(*choose)
                self.nulls(text, last, "row_nulls", nulls)
                self._row(text, everyone, "row_nulls", weight, "out[{}, done + j]")
            with text.block("else"):
                for column, name in self.shown(others):
                    text(f"out[{column}, done:done + more] = {name}")
                changing = [column for column, _ in self.shown(last)] + [self.width]
                if self.plan.shown.nulls >= 0:
                    changing.append(self.plan.shown.nulls)
                for column in changing:
                    text(f"to{column} = out[{column}, done:done + more]")
                with text.block("for j in range(more)"):
                    text(*choose)
                    self.nulls(text, last, "row_nulls", nulls)
                    self._row(text, last, "row_nulls", weight, "to{}[j]")
            text("done += more")
        if self.kept is not None:
            with text.block("for j in range(more)"):
                text(*choose)
                self.nulls(text, last, "row_nulls", nulls)
                self.keep(text, everyone, "row_nulls", weight)
