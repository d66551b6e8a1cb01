"""Two ways to keep a view by relations: classic IVM, and auxiliary views for every connected part.

*Classic*: only the base tables are kept, with an index for each column that is joined. A changed row is joined with all
others, one index after the other.

*Auxiliary*: for every connected part of the view its join is kept, as DBToaster keeps it. A changed row is joined with
what each of its neighbours leads to, which is there already; so are those parts that have the changed table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from rollview.bench.graphivm.peers.output import Output, changed_row, word
from rollview.bench.graphivm.peers.relations import Column, Occurrence, Relation, Relations, connected
from rollview.live.generated.text import Text
from rollview.live.kernel.plan import Plan


@dataclass(frozen=True)
class Step:
    """One index to look into: the relation, its column, the column whose value is looked for."""

    relation: Relation
    key: Column
    value: Column


@dataclass(frozen=True)
class Target:
    """The target of a changed row, which is a relation or the view (None), and the steps that lead to its rows."""

    relation: Relation | None
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Kept:
    """What a peer keeps: its relations, the first ones those of the base tables, and the view, if that is kept. And for
    changes of each occurrence the targets. ``after`` is the arena's next free word."""

    relations: tuple[Relation, ...]
    view: Relation | None
    targets: tuple[tuple[Target, ...], ...]
    after: int

    @property
    def tables(self) -> list[int]:
        """Where its tables are described."""
        return [table for relation in self.relations for table in relation.tables]

    def words(self) -> list[int]:
        return [word for relation in self.relations for word in relation.words()]


def classic(all_: Sequence[Occurrence], plan: Plan, *, keep: bool) -> Kept:
    """The base tables, each with its indexes."""
    made = Relations()
    bases = [made.add(each.stored, tuple(dict.fromkeys(each.keys.values()))) for each in all_]
    targets = []
    for each in all_:
        steps, waiting = [], [(each.part, other) for other in each.keys]
        while waiting:
            source, target = waiting.pop(0)
            steps.append(Step(bases[target], all_[target].keys[source], all_[source].keys[target]))
            waiting = [(target, other) for other in all_[target].keys if other != source] + waiting
        targets.append((Target(bases[each.part], ()), Target(None, tuple(steps))))
    return _kept(made, targets, plan, keep=keep)


def auxiliary(all_: Sequence[Occurrence], plan: Plan, *, keep: bool) -> Kept:
    """The joins of all connected parts."""
    made, relations = Relations(), {}
    for parts in _subtrees(all_):
        ends = tuple(key for part in parts for other, key in all_[part].keys.items() if other not in parts)
        columns = (*(column for part in parts for column in all_[part].fields), *ends)
        relations[parts] = made.add(tuple(dict.fromkeys(columns)), tuple(dict.fromkeys(ends)))
    targets, whole = [], tuple(each.part for each in all_)
    for each in all_:
        own = [(parts, relation) for parts, relation in relations.items() if each.part in parts]
        found = [Target(relation, _lookups(all_, each, parts, relations)) for parts, relation in own]
        targets.append((*found, Target(None, _lookups(all_, each, whole, relations))))
    return _kept(made, targets, plan, keep=keep)


def _kept(made: Relations, targets: Sequence[tuple[Target, ...]], plan: Plan, *, keep: bool) -> Kept:
    view = made.add(tuple((-1, i) for i in range(plan.fields)), ()) if keep else None
    return Kept(tuple(made.all), view, tuple(targets), made.after)


def _subtrees(all_: Sequence[Occurrence]) -> Iterator[tuple[int, ...]]:
    """The connected parts but the whole, smaller ones first."""
    numbers = [each.part for each in all_]
    for size in range(1, len(all_)):
        for parts in combinations(numbers, size):
            if connected(all_, parts[0], parts) == parts:
                yield parts


def _lookups(
    all_: Sequence[Occurrence], each: Occurrence, parts: Sequence[int], relations: dict[tuple[int, ...], Relation]
) -> tuple[Step, ...]:
    """The relations that a row of one occurrence is joined with, so that it has the columns of some parts."""
    steps = []
    for other, value in each.keys.items():
        if other in parts:
            there = connected(all_, other, [part for part in parts if part != each.part])
            steps.append(Step(relations[there], all_[other].keys[each.part], value))
    return tuple(steps)


class Joining:
    """Writes the function for changes of one occurrence."""

    def __init__(self, all_: Sequence[Occurrence], plan: Plan, kept: Kept, part: int) -> None:
        self.own, self.plan, self.kept = all_[part], plan, kept
        self.output = Output(plan, kept.view)

    def write(self, text: Text, *, own: bool = True, view: bool = True) -> None:
        """Writes the function ``changed``: it changes what is kept (``own``), and puts out changes of the ``view``."""
        part = self.plan.parts[self.own.part]
        targets = [t for t in self.kept.targets[self.own.part] if (view if t.relation is None else own)]
        with text.block("def changed(arena, plan, state, rows, count, push, out, piece)"):
            text("done, key = 0, np.empty(1, np.int64)", f"shown = np.empty({self.output.width + 1}, np.int64)")
            text(f"row = np.empty({max(r.width for r in self.kept.relations)}, np.int64)")
            with text.block("while state[0] < count and done < piece"):
                text(f"at = state[0] * {part.in_fields + part.stride}", "state[0] += 1")
                for column in self.own.stored:
                    text(f"{word(column)} = rows[at + {column[1]}]")
                text(f"weight = rows[at + {part.in_fields + part.width}]")
                text("if weight == 0: continue")
                for target in targets:
                    self._target(text, target)
            text("state[1] = done", "return arena, out")

    def _target(self, text: Text, target: Target) -> None:
        if target.relation is not None:
            self._joined(text, target, 0, (), [self.own.part], "weight")
            return
        with text.block("if push" if self.kept.view is None else "if True"):
            self.output.nulls(text, [self.own.part], "nulls", "0")
            self._joined(text, target, 0, (), [self.own.part], "weight")

    def _joined(
        self, text: Text, target: Target, number: int, known: tuple[int, ...], parts: list[int], weight: str
    ) -> None:
        """The loop of a step, and those inside. Values are looked up as soon as they are known."""
        for i, step in enumerate(target.steps):
            if i >= number and i not in known and step.value[0] in parts:
                text(f"key[0] = {word(step.value)}")
                text(f"value{i} = found_record(arena, {step.relation.index(step.key)}, key, 0, 1)")
                known = (*known, i)
        fresh = [i for i in known if i >= number and target.steps[i].value[0] == parts[-1]]
        with text.block("if " + (" and ".join(f"value{i} != 0" for i in fresh) or "True")):
            if number == len(target.steps):
                self._row(text, target, parts, weight)
                return
            step = target.steps[number]
            choose = self._choose(step, number)
            new = list(dict.fromkeys(part for part, _ in step.relation.columns))
            text(f"base{number}, more{number} = arena[value{number} + 1], arena[value{number} + 2]")
            more = f"{weight} * arena[item{number} - 1]"
            if number + 1 == len(target.steps) and target.relation is None:
                text(f"more = more{number}")
                self.output.many(text, [line.replace("@", "j") for line in choose], new, "nulls", more)
                return
            with text.block(f"for j{number} in range(more{number})"):
                text(*(line.replace("@", f"j{number}") for line in choose))
                self._joined(text, target, number + 1, known, [*parts, *new], more)

    def _choose(self, step: Step, number: int) -> list[str]:
        """Reads a row of a step's list: the place is to be put in for @."""
        relation = step.relation
        lines = [f"item{number} = arena[base{number} + @]"]
        for i, column in enumerate(relation.columns):
            lines.append(f"{word(column)} = arena[item{number} - {relation.width + 1 - i}]")
        return lines

    def _row(self, text: Text, target: Target, parts: Sequence[int], weight: str) -> None:
        if target.relation is None:
            everyone = [part.number for part in self.plan.parts]
            self.output.nulls(text, [part for part in everyone if part != self.own.part], "row_nulls", "nulls")
            self.output.one(text, everyone, "row_nulls", weight)
            return
        for i, column in enumerate(target.relation.columns):
            text(f"row[{i}] = {word(column)}")
        changed_row(text, target.relation, "row", weight)
