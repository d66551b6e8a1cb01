"""A traversal of one view from one of its parts, as nested loops: what ``kernel/change.py`` does by a table of steps.

A loop for each step that leads to a list; a part with one side has one join tuple at a vertex value. The numbers of a
plan are written into the text, the words of a path are local names. A path with a part of several projected tuples is
written by the generic kernel. When the output is full, the places of all loops are kept: the next call begins there.
"""

from __future__ import annotations

from collections.abc import Sequence

from rollview.live.generated.text import Text
from rollview.live.kernel import numbers as n
from rollview.live.kernel.paths import MANY_ROWS
from rollview.live.kernel.plan import PartPlan, Plan, StepPlan

#: A step before the first one: that of the part where the traversal begins. And none at all.
_START, _NO = -1, 99


class Walk:
    """Writes the traversal from one part."""

    def __init__(self, plan: Plan, part: int, text: Text) -> None:
        self.plan, self.start, self.text = plan, plan.parts[part], text
        self.steps: Sequence[StepPlan] = plan.steps[part]
        self.last = plan.parts[self.steps[-1].target] if self.steps else self.start

    def write(self) -> None:
        """Writes the function ``walked``, whose arguments are those of the generic one."""
        text = self.text
        with text.block("def walked(arena, plan, state, part, out)"):
            text(f"done, capacity, again = state[{n.DONE}], out.shape[1], state[{n.PHASE}] == {n.WRITING}")
            text(f"back, stay, visited, start = {_NO}, False, 0, state[{n.CHOICE + self.start.number}]")
            text(f"has{self.start.number} = state[{n.HAS + self.start.number}]")
            if self.steps:
                self._put(self.start, None)
                self._step(0)
            else:
                self._written(None)
            text(f"arena[{n.VISITED}] += visited")
            text(f"state[{n.DONE}], state[{n.PHASE}] = done, {n.NEXT}", "return True")

    def _put(self, part: PartPlan, before: int | None) -> None:
        """Reads the first projected tuple of a part that is chosen."""
        p, text = part.number, self.text
        text(f"at{p} = arena[has{p}]")
        for word, column in self.plan.shown.words[p]:
            text(f"word{column} = arena[at{p} + {word}]")
        text(f"number{p} = arena[at{p} + {part.width}]")
        for i in range(3 * part.pushed):
            text(f"sum{p}_{i} = arena[at{p} + {part.width + 1 + i}]")
        several, count = f"arena[has{p} + 1] - 1", f"number{p}"
        if before is not None:
            several, count = f"several{before} | ({several})", f"count{before} * {count}"
        text(f"several{p}, count{p} = {several}, {count}")
        if self.plan.shown.nulls >= 0:
            self._nulls(part, f"at{p}", f"nulls{p}", "0" if before is None else f"nulls{before}")
        else:
            text(f"nulls{p} = 0")

    def _nulls(self, part: PartPlan, at: str, name: str, before: str) -> None:
        """Adds the bits for NULL of a projected tuple to those of the path."""
        bits = self.plan.shown.bits[part.number]
        self.text(f"{name} = {before}")
        if bits:
            self.text(f"bits = arena[{at} + {part.width - 1}]")
            with self.text.block("if bits != 0"):
                each = " | ".join(f"((bits >> {a}) & 1) << {b}" for a, b in bits)
                self.text(f"{name} |= {each}")

    def _step(self, number: int) -> None:
        step, text = self.steps[number], self.text
        value = f"arena[item{step.source} + {step.side}]"
        if step.source == self.start.number:
            value = f"state[{n.VALUES + step.side}]"
        text(f"slot{number} = {value} + {step.slot}")
        if step.leaf:
            with text.block(f"if arena[slot{number} + 1] == 0"):
                self._dead_end(number)
            with text.block("else"):
                text(f"has{step.target} = slot{number}")
                self._chosen(number)
            return
        text(f"i{number} = state[{n.AT + number}] if again else 0")
        with text.block(f"while i{number} < arena[slot{number} + 2] >> 1"):
            text(f"item{step.target} = arena[arena[slot{number}] + i{number}]")
            text(f"has{step.target} = item{step.target} + {2 * len(self.plan.parts[step.target].vertices)}")
            self._chosen(number)
            with text.block(f"if back != {_NO}"):
                with text.block(f"if back != {number}"):
                    text("break")
                text(f"back = {_NO}")
                with text.block("if stay"):  # another join tuple has taken its place
                    text("visited += 1", "continue")
            text("visited += 1", f"i{number} += 1")
        with text.block(f"if back == {_NO} and arena[slot{number} + 2] < 2"):
            self._dead_end(number)

    def _chosen(self, number: int) -> None:
        """What is done with the join tuple that a step has found."""
        step = self.steps[number]
        before = self.steps[number - 1].target if number else self.start.number
        if number + 1 < len(self.steps):
            self._put(self.plan.parts[step.target], before)
            self._step(number + 1)
        else:
            self._written(before)
        if step.leaf:
            self.text("visited += 1")

    def _dead_end(self, number: int) -> None:
        step = self.steps[number]
        source = self.plan.parts[step.source]
        self.text(f"back, stay = {step.chosen}, False")
        if not source.leaf:
            item = "start" if step.source == self.start.number else f"item{step.source}"
            self.text(f"stay = dead_end(arena, plan, {step.source}, {item}, {step.side})")

    def _written(self, before: int | None) -> None:
        """Writes a completed path: its last part's projected tuples, each with the words of all others."""
        text, last = self.text, self.last
        with text.block("if True" if before is None else f"if several{before} == 0"):
            text(f"inner = state[{n.INNER}] if again else 0", "again = False")
            text(f"base = arena[has{last.number}] + inner * {last.stride}")
            text(f"total = arena[has{last.number} + 1]", "more = min(total - inner, capacity - done)")
            with text.block(f"if more < {MANY_ROWS}"), text.block("for x in range(done, done + more)"):
                for line in self._rows(before):
                    text(line)
                text(f"base += {last.stride}")
            with text.block("else"):
                self._columns(before)
            text("done += more")
            with text.block("if inner + more < total"):
                text(f"state[{n.INNER}], state[{n.SEVERAL}] = inner + more, 0")
                self._stopped()
        if before is None:
            return
        with text.block("else"):
            self._several()

    def _others(self) -> list[PartPlan]:
        return [part for part in self.plan.parts if part is not self.last]

    def _constant(self) -> list[int]:
        """The columns of parts other than the last one."""
        return [column for part in self._others() for _, column in self.plan.shown.words[part.number]]

    def _rows(self, before: int | None) -> list[str]:
        """What is written of one row, whose last projected tuple is at ``base``."""
        plan, last = self.plan, self.last
        lines = [f"out[{column}, x] = word{column}" for column in self._constant()]
        lines += [f"out[{column}, x] = arena[base + {word}]" for word, column in plan.shown.words[last.number]]
        count = "" if before is None else f"count{before} * "
        lines.append(f"out[{plan.fields}, x] = {count}arena[base + {last.width}]")
        if plan.shown.nulls >= 0:
            known = "0" if before is None else f"nulls{before}"
            lines += [f"row_nulls = {known}"]
            if bits := plan.shown.bits[last.number]:
                each = " | ".join(f"((bits >> {a}) & 1) << {b}" for a, b in bits)
                lines += [f"bits = arena[base + {last.width - 1}]", f"if bits != 0: row_nulls |= {each}"]
            lines.append(f"out[{plan.shown.nulls}, x] = row_nulls")
        return lines + self._sums(before)

    def _sums(self, before: int | None) -> list[str]:
        """What is written of the sums of a row: each times the counts of the other parts."""
        lines, last = [], self.last
        for part in self.plan.parts:
            factors = [f"number{p.number}" for p in self._others() if p is not part]
            if part is not last:
                factors.append(f"arena[base + {last.width}]")
            lines.append(f"others = {' * '.join(factors) or '1'}" if part.pushed else "pass")
            for i in range(part.pushed):
                words = [f"sum{part.number}_{3 * i + j}" for j in range(3)]
                if part is last:
                    words = [f"arena[base + {last.width + 1 + 3 * i + j}]" for j in range(3)]
                at = part.out_sums + 3 * i
                lines += [f"out[{at}, x] = {words[0]} * others", f"out[{at + 1}, x] = {words[1]} * others"]
                lines.append(f"out[{at + 2}, x] = times_high({words[1]}, {words[2]}, others)")
        return [line for line in lines if line != "pass"]

    def _columns(self, before: int | None) -> None:
        """Writes many rows: one column after the other, but for sums."""
        text, plan, last = self.text, self.plan, self.last
        if plan.sums:
            with text.block("for x in range(done, done + more)"):
                for line in self._rows(before):
                    text(line)
                text(f"base += {last.stride}")
            return
        nulls, known = plan.shown.nulls, "0" if before is None else f"nulls{before}"
        for column in self._constant():
            text(f"out[{column}, done:done + more] = word{column}")
        words = [(plan.fields, last.width), *((column, word) for word, column in plan.shown.words[last.number])]
        # what is read and written in the loop are arrays of their own: their places need no test for being below zero
        text(f"block = arena[base:base + more * {last.stride}]")
        bits = plan.shown.bits[last.number]
        if nulls >= 0 and not bits:
            text(f"out[{nulls}, done:done + more] = {known}")
        for column in [column for column, _ in words] + [nulls] * bool(bits):
            text(f"to{column} = out[{column}, done:done + more]")
        with text.block("for x in range(more)"):
            for column, word in words:
                count = f"count{before} * " if column == plan.fields and before is not None else ""
                text(f"to{column}[x] = {count}block[x * {last.stride} + {word}]")
            if bits:
                each = " | ".join(f"((bits >> {a}) & 1) << {b}" for a, b in bits)
                text(f"bits = block[x * {last.stride} + {last.width - 1}]", f"to{nulls}[x] = {known} | {each}")

    def _several(self) -> None:
        """Leaves a path with a part of several projected tuples to the generic kernel."""
        text = self.text
        with text.block("if not again"):
            for part in self.plan.parts:
                text(f"state[{n.HAS + part.number}] = has{part.number}")
                text(f"put_tuple(arena, plan, state, {part.number}, 0)")
            text(f"several_found(arena, plan, state, {self.last.number})")
        text("again = False", f"state[{n.DONE}] = done")
        text(f"ended = written(arena, plan, state, out, {self.last.number})", f"done = state[{n.DONE}]")
        with text.block("if not ended"):
            self._stopped()

    def _stopped(self) -> None:
        """Keeps where the loops are."""
        for number, step in enumerate(self.steps):
            if not step.leaf:
                self.text(f"state[{n.AT + number}] = i{number}")
        self.text(f"arena[{n.VISITED}] += visited")
        self.text(f"state[{n.DONE}], state[{n.PHASE}] = done, {n.WRITING}", "return False")
