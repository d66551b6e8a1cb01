"""The full outer join table: what the join graph holds, as one relation (section 8.3).

A row has the columns of all occurrences, and how often each of their rows is there: 0 if it has none, because nothing
joins. There is an index for each end of a join. A new row is joined with what its neighbours lead to; that must first
be made distinct, because it is repeated for all that it joins with elsewhere. Rows that had nothing there go.

Rows can only be added: no diff of the measurement deletes.
"""

from __future__ import annotations

from collections.abc import Sequence

from rollview.bench.graphivm.peers.output import Output, word
from rollview.bench.graphivm.peers.relations import Column, Occurrence, connected
from rollview.live.generated.text import Text
from rollview.live.kernel import numbers as n
from rollview.live.kernel.plan import Plan


class Outer:
    """The table of a view, and the functions that change it."""

    def __init__(self, all_: Sequence[Occurrence], plan: Plan) -> None:
        self.all, self.plan, self.output = all_, plan, Output(plan, None)
        self.places: dict[Column, int] = {}
        self.counts: dict[int, int] = {}
        for each in all_:
            self.counts[each.part] = len(self.places) + len(self.counts)
            for column in each.stored:
                self.places[column] = len(self.places) + len(self.counts)
        self.ends = [(each.part, other) for each in all_ for other in each.keys]

    @property
    def width(self) -> int:
        return len(self.places) + len(self.counts)

    @property
    def tables(self) -> range:
        """Where the tables of the indexes are described."""
        return range(n.TABLES, self.after, n.TABLE_WORDS)

    @property
    def after(self) -> int:
        return n.TABLES + n.TABLE_WORDS * len(self.ends)

    def _index(self, part: int, other: int) -> int:
        return n.TABLES + n.TABLE_WORDS * self.ends.index((part, other))

    def _key(self, part: int, other: int) -> int:
        return self.places[self.all[part].keys[other]]

    def words(self) -> list[int]:
        """The table in the plan, as ``rows.py`` reads it."""
        ends = [(self._index(*end), self._key(*end), self.counts[end[0]]) for end in self.ends]
        return [self.width, len(ends), *(word for end in ends for word in end)]

    def write(self, text: Text, part: int) -> None:
        """Writes the function for changes of one occurrence."""
        own, plan = self.all[part], self.plan.parts[part]
        with text.block("def changed(arena, plan, state, rows, count, push, out, piece)"):
            text("done, key = 0, np.empty(1, np.int64)", f"row = np.empty({self.width}, np.int64)")
            for other in own.keys:
                there = connected(self.all, other, [each.part for each in self.all if each.part != part])
                columns = [self.counts[each] for each in there]
                columns += [self.places[column] for each in there for column in self.all[each].stored]
                text(f"columns{other} = np.array({columns})", f"none{other} = np.zeros((1, {self.width}), np.int64)")
            with text.block("while state[0] < count and done < piece"):
                text(f"at = state[0] * {plan.in_fields + plan.stride}", "state[0] += 1")
                for column in own.stored:
                    text(f"{word(column)} = rows[at + {column[1]}]")
                text(f"weight = rows[at + {plan.in_fields + plan.width}]")
                text("if weight == 0: continue")
                self._again(text, own)
                text("if again: continue")
                self._new(text, own)
            text("state[1] = done", "return arena, out")

    def _again(self, text: Text, own: Occurrence) -> None:
        """If the row is there, there are more copies of it."""
        other, column = next(iter(own.keys.items()))
        text("again = False", f"key[0] = {word(column)}")
        text(f"value = found_record(arena, {self._index(own.part, other)}, key, 0, 1)")
        with text.block("if value != 0"), text.block("for j in range(arena[value + 2])"):
            text(f"record = arena[arena[value + 1] + j] - {self.width}")
            same = [f"arena[record + {self.places[each]}] == {word(each)}" for each in own.stored]
            with text.block(f"if {' and '.join(same)}"):
                text("again = True", f"arena[record + {self.counts[own.part]}] += weight")
                with text.block("if push and " + self._complete("arena[record + {}]")):
                    for part in self.all:
                        for each in part.stored:
                            text(f"{word(each)} = arena[record + {self.places[each]}]")
                    self._put(text, own, "arena[record + {}]")

    def _new(self, text: Text, own: Occurrence) -> None:
        """Joins a new row with what its neighbours lead to."""
        for other, column in own.keys.items():
            index = self._index(other, own.part)
            text(f"key[0] = {word(column)}", f"value = found_record(arena, {index}, key, 0, 1)")
            text(f"found{other}, count{other} = none{other}, 1")
            with text.block("if value != 0"):
                text("at, long = arena[value + 1], arena[value + 2]")
                text(f"found{other}, count{other} = segments(arena, at, long, {self.width}, columns{other})")
                alone = f"arena[arena[at] - {self.width} + {self.counts[own.part]}] == 0"
                with text.block(f"if {alone}"), text.block("for j in range(long - 1, -1, -1)"):
                    text(f"left(arena, plan, arena[arena[value + 1] + j] - {self.width})")
        self._product(text, own, list(own.keys))

    def _product(self, text: Text, own: Occurrence, others: Sequence[int]) -> None:
        if others:
            other = others[0]
            with text.block(f"for i{other} in range(count{other})"):
                for part in connected(self.all, other, [each.part for each in self.all if each.part != own.part]):
                    for place in [self.counts[part], *(self.places[column] for column in self.all[part].stored)]:
                        text(f"row[{place}] = found{other}[i{other}, {place}]")
                self._product(text, own, others[1:])
            return
        text(f"row[{self.counts[own.part]}] = weight")
        for column in own.stored:
            text(f"row[{self.places[column]}] = {word(column)}")
        text("wanted = entry_wants(arena, plan, row)", "if wanted: arena = grown(arena, wanted)")
        text("enter(arena, plan, row)")
        with text.block("if push and " + self._complete("row[{}]")):
            for each in self.all:
                if each is not own:
                    for column in each.stored:
                        text(f"{word(column)} = row[{self.places[column]}]")
            self._put(text, own, "row[{}]")

    def _complete(self, of: str) -> str:
        return " and ".join(f"{of.format(count)} != 0" for count in self.counts.values())

    def _put(self, text: Text, own: Occurrence, of: str) -> None:
        parts = [each.part for each in self.all]
        others = [of.format(count) for part, count in self.counts.items() if part != own.part]
        self.output.nulls(text, parts, "row_nulls", "0")
        self.output.one(text, parts, "row_nulls", " * ".join(["weight", *others]))
