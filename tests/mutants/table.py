"""One-line faults of the delta rules and of the join graph: each must be found by the cases or by the random views."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """``old`` in a file of ``src/rollview`` becomes ``new``. The file's own cases are those of ``cases``; those of the
    join graph are ``tests/live``."""

    cases: str
    file: str
    what: str
    old: str
    new: str


def _of(cases: str, file: str, *texts: tuple[str, str, str]) -> list[Mutant]:
    return [Mutant(cases, file, what, old, new) for what, old, new in texts]


MUTANTS = [
    *_of(
        "linear",
        "delta/rules/linear.py",
        ("a filter is dropped", "else Filter(below, node.condition)", "else below"),
        ("OUTER is dropped", "node.generator, node.output, node.outer)", "node.generator, node.output, False)"),
        (
            "the second side of a union is dropped",
            "return together(terms, node.output)",
            "return together(terms[:1], node.output)",
        ),
        (
            "the side that did not change decides no type",
            "if below is None and converted(node)",
            "if False and converted(node)",
        ),
    ),
    *_of(
        "join",
        "delta/rules/join.py",
        (
            "old for new before the change",
            "[derivation.new(other) for other in node.inputs[:place]]",
            "[derivation.old(other) for other in node.inputs[:place]]",
        ),
        (
            "new for old after the change",
            "[derivation.old(other) for other in node.inputs[place + 1 :]]",
            "[derivation.new(other) for other in node.inputs[place + 1 :]]",
        ),
        (
            "all terms but the first are dropped",
            "return together(terms, node.columns)",
            "return together(terms[:1], node.columns)",
        ),
        (
            "conditions are forgotten",
            "for condition in node.conditions if condition not in own]",
            "for condition in node.conditions if False]",
        ),
        (
            "conditions that wait are forgotten",
            "for condition in conditions if condition not in ready]",
            "for condition in conditions if False]",
        ),
    ),
    *_of(
        "wide_join",
        "delta/rules/wide_join.py",
        ("old for new before a half", "found.new if i < place else found.old", "found.old"),
        ("new for old after a half", "found.new if i < place else found.old", "found.new"),
        (
            "the second half is dropped",
            "first, last = self.delta(start, middle), self.delta(middle, end)",
            "first, last = self.delta(start, middle), None",
        ),
        ("conditions are forgotten", "if n <= names and not (done and n <= done)]", "if False]"),
    ),
    *_of(
        "lookups",
        "delta/rules/lookups.py",
        (
            "rows of the chain's first input are forgotten",
            "together([before, delta], base.columns)",
            "together([before], base.columns)",
        ),
        ("what was there is not taken back", "terms.append(negated(_replayed(", "terms.append((_replayed("),
        (
            "new for old",
            "derivation.new(link.right) if new else derivation.old(link.right)",
            "derivation.new(link.right)",
        ),
        (
            "keys of later lookups are forgotten",
            "sought = _merged(sought if own is None else [*sought, own])",
            "sought = [] if own is None else [own]",
        ),
        ("a lookup's own keys are forgotten", "if own is None else [*sought, own])", ")"),
        (
            "rows affected by several values count several times",
            "exp.Max(this=ref(_COPIES.name))",
            "exp.Sum(this=ref(_COPIES.name))",
        ),
        ("columns of a projection are not followed", "sought = [each.over(link) for each in sought]", "sought = []"),
        (
            "lookups with no equality are forgotten",
            "return _Sought(derivation.materialized(rows), (), match_condition(link))",
            "return None",
        ),
    ),
    *_of(
        "outer_join",
        "delta/rules/outer_join.py",
        (
            "padded rows are dropped",
            "terms = [inner_delta(inner, derivation), _padded(node.left, node.right, node, derivation)]",
            "terms = [inner_delta(inner, derivation)]",
        ),
        ("padded rows of the right side are dropped", "if node.kind == FULL:", "if False:"),
        ("semi for anti", "Join(ANTI, kept, other, node.condition)", "Join('semi', kept, other, node.condition)"),
        ("the inner join is dropped", "terms = [inner_delta(inner, derivation), ", "terms = ["),
    ),
    *_of(
        "match",
        "delta/rules/match.py",
        (
            "new for old on the right",
            "negated(node.with_inputs([affected, derivation.old(node.right)]))",
            "negated(node.with_inputs([affected, derivation.new(node.right)]))",
        ),
        ("new for old on the left", "Join(SEMI, derivation.old(node.left)", "Join(SEMI, derivation.new(node.left)"),
        (
            "old for new on the right",
            "terms.append(node.with_inputs([left, derivation.new(node.right)]))",
            "terms.append(node.with_inputs([left, derivation.old(node.right)]))",
        ),
        (
            "an unknown comparison does not count",
            "parts = [*parts, exp.Not(this=exp.Paren(this=false))]",
            "parts = [*parts, node.compared]",
        ),
        (
            "what was there is not taken back",
            "terms.append(negated(node.with_inputs([affected,",
            "terms.append((node.with_inputs([affected,",
        ),
    ),
    *_of(
        "semi_anti",
        "delta/rules/semi_anti.py",
        (
            "new for old on the left, if few keys changed",
            "old = _restricted(derivation.old(node.left), mine, net, keys, derivation)\n        wanted",
            "old = _restricted(derivation.new(node.left), mine, net, keys, derivation)\n        wanted",
        ),
        (
            "new for old on the left, if many keys changed",
            "old = _restricted(derivation.old(node.left), mine, net, keys, derivation)\n        old",
            "old = _restricted(derivation.new(node.left), mine, net, keys, derivation)\n        old",
        ),
        ("an anti join has the sign of a semi join", "exp.Neg(this=flip)", "flip"),
        (
            "changed rows whose key is nowhere are lost",
            "how = LEFT if node.kind == ANTI and left is not None else INNER",
            "how = INNER",
        ),
        (
            "semi for anti, if a key is there once",
            "return found if node.kind == SEMI else negated(found)",
            "return found",
        ),
        (
            "what was there is counted with the wrong sign",
            "exp.Sub(this=ref(_NOW.name), expression=ref(_NET.name))",
            "exp.Add(this=ref(_NOW.name), expression=ref(_NET.name))",
        ),
        ("every key is there once", "return known is not None and known <=", "return True or known <="),
        (
            "new for old on the left, if a key is there once",
            "matched = Join(INNER, derivation.old(node.left), flips",
            "matched = Join(INNER, derivation.new(node.left), flips",
        ),
        (
            "old for new on the right, if a key is there once",
            "node.with_inputs([left, derivation.new(node.right)])",
            "node.with_inputs([left, derivation.old(node.right)])",
        ),
        (
            "old for new on the right",
            "theirs_now = _restricted(derivation.new(right)",
            "theirs_now = _restricted(derivation.old(right)",
        ),
    ),
    *_of(
        "aggregate",
        "delta/rules/aggregate.py",
        (
            "the change is added twice and not taken back",
            "Computed(WEIGHT, exp.Neg(this=ref(WEIGHT.name))), Computed(_NOW, exp.false())",
            "Computed(WEIGHT, ref(WEIGHT.name)), Computed(_NOW, exp.false())",
        ),
        (
            "the signs are exchanged",
            "either(exp.Literal.number(1), exp.Literal.number(-1))",
            "either(exp.Literal.number(-1), exp.Literal.number(1))",
        ),
        (
            "a value that becomes NULL is no change",
            "exp.NullSafeEQ(this=ref(i.column.name)",
            "exp.EQ(this=ref(i.column.name)",
        ),
        ("a group that begins was there before", "((_IS, after), (_WAS, before))", "((_IS, after), (_WAS, after))"),
        ("copies of a row are one", "unit = one_by_one(delta)", "unit = delta"),
    ),
    *_of(
        "recompute",
        "delta/rules/recompute.py",
        ("new for old", "k.restrict(derivation.old(side))", "k.restrict(derivation.new(side))"),
        ("the wrong sign", "weighted(before, -1)", "weighted(before, 1)"),
        (
            "a changed right side touches nothing",
            "for side in node.inputs:\n        below",
            "for side in node.inputs[:1]:\n        below",
        ),
    ),
    *_of(
        "recompute",
        "plan/nodes/joins.py",
        (
            "the key NULL is forgotten",
            "exp.NullSafeEQ(this=value.copy(), expression=ref(name)) for value",
            "exp.EQ(this=value.copy(), expression=ref(name)) for value",
        ),
    ),
    *_of(
        "window",
        "delta/rules/window.py",
        (
            "different partitions are taken for one",
            "groups.setdefault(item.partition_by, [])",
            "groups.setdefault((), [])",
        ),
        ("all windows but the last are dropped", "Window(found[-1] if found else node.input", "Window(node.input"),
        ("the first partitions only", "return derivation.delta(by[-1])", "return derivation.delta(by[0])"),
    ),
    *_of(
        "window_lookback",
        "delta/rules/window_lookback.py",
        (
            "rows at NULL are forgotten",
            "exp.Or(this=after, expression=affected_null if nulls_first else null)",
            "after",
        ),
        (
            "the partition NULL has nothing before",
            'exp.NullSafeEQ(this=ref(name), expression=ref(f"{name}_c"))',
            'exp.EQ(this=ref(name), expression=ref(f"{name}_c"))',
        ),
        (
            "ascending for descending",
            "least = (exp.Max if lookback.place.descending else exp.Min)",
            "least = (exp.Min)",
        ),
        (
            "what was there is not taken back",
            "together([weighted(after, 1), weighted(before_change, -1)]",
            "together([weighted(after, 1)]",
        ),
        ("a range in the wrong direction", "back = exp.Add if", "back = exp.Sub if"),
        (
            "before NULL there is nothing",
            "return exp.Or(this=before, expression=exp.Paren(this=exp.And(this=only_nulls, expression=known)))",
            "return before",
        ),
        (
            "what is stored is not reduced by the later rows",
            "return exp.Sub(this=ref(name), expression=after)",
            "return ref(name)",
        ),
        ("the last rows before are forgotten", "if lookback.rows:", "if False:"),
    ),
    *_of(
        "top_rows",
        "delta/rules/top_rows.py",
        (
            "too few rows are enough",
            "expression=exp.LT(this=ref(_LEFT.name), expression=_number(first.needed))",
            "expression=exp.LT(this=ref(_LEFT.name), expression=_number(first.needed - 1))",
        ),
        ("other rows are never looked for", "refill, negated(stored)]", "negated(stored)]"),
        (
            "other rows are never looked for, of a LIMIT",
            "(*kept, Computed(WEIGHT, change))), refill]",
            "(*kept, Computed(WEIGHT, change)))]",
        ),
        (
            "more copies than there is room for",
            "return exp.Case(ifs=[exp.If(this=too_many, true=_room(first))], default=ref(_KEPT.name))",
            "return ref(_KEPT.name)",
        ),
        ("what was stored is stored again", "change = exp.Sub(this=now, expression=ref(_HAD.name))", "change = now"),
        ("rows after the last stored one are taken", "before_last = exp.GT(", "before_last = exp.GTE("),
        ("an offset is forgotten", "needed = node.offset + node.count", "needed = node.count"),
    ),
    *_of(
        "groups",
        "delta/partials.py",
        ("NULL is counted", "exp.If(this=known, true=exp.Literal.number(0))", "exp.If(this=known, true=sign())"),
        ("deleted values are added", "default=exp.Neg(this=exp.Paren(this=value.copy()))", "default=value.copy()"),
    ),
    *_of(
        "groups",
        "state/groups.py",
        (
            "groups never end",
            "none = exp.EQ(this=exp.Paren(this=together[COUNT.name]), expression=exp.Literal.number(0))",
            "none = exp.EQ(this=exp.Paren(this=together[COUNT.name]), expression=exp.Literal.number(-1))",
        ),
        ("the sum of nothing is zero", "if partial.known is not None:", "if False:"),
    ),
    *_of(
        "groups",
        "strategy/propagate.py",
        ("recomputed groups never end", "both = Join(LEFT, keys.plan, now", "both = Join(INNER, keys.plan, now"),
        (
            "the group NULL is forgotten",
            "exp.NullSafeEQ(this=ref(column.name), expression=ref(name)) for column, name in pairs",
            "exp.EQ(this=ref(column.name), expression=ref(name)) for column, name in pairs",
        ),
    ),
    *_of(
        "groups",
        "strategy/aggregate_merge.py",
        ("a deleted least value stays", "(extremes and not grows(state.root.input, change))", "False"),
    ),
    *_of(
        "groups",
        "plan/traits.py",
        (
            "a left join only grows",
            "return not node.kind.pads_left, node.kind is SEMI",
            "return True, node.kind is SEMI",
        ),
    ),
    *_of(
        "groups",
        "delta/weights.py",
        ("copies of a row are one", "end=exp.Abs(this=ref(WEIGHT.name))", "end=exp.Literal.number(1)"),
    ),
    *_of(
        "aggregate",
        "delta/affected_keys.py",
        (
            "one side of a join touches nothing",
            "found += [_only(each, below, names) for each in affected(side, below, derivation)]",
            "found = [_only(each, below, names) for each in affected(side, below, derivation)]",
        ),
        (
            "one side of a union touches nothing",
            "found += [_only(each, mapped, names) for each in affected(side, mapped, derivation)]",
            "found = [_only(each, mapped, names) for each in affected(side, mapped, derivation)]",
        ),
    ),
    *_of(
        "linear",
        "state/keyed.py",
        (
            "the old row of a key is stored",
            "Ordering(ref(WEIGHT.name), descending=True, nulls_first=False)",
            "Ordering(ref(WEIGHT.name), descending=False, nulls_first=False)",
        ),
    ),
    *_of(
        "live",
        "live/graph/reference.py",
        (
            "what goes is traversed after the graph has forgotten it",
            """            if push:
                yield from self._completed(item, changes, buffer)
            self._count(item, changes)
            if not item.projected:
                self._forget(item, keys)
""",
            """            self._count(item, changes)
            if not item.projected:
                self._forget(item, keys)
            if push and keys in self.tuples[part]:
                yield from self._completed(item, changes, buffer)
""",
        ),
        (
            "the changed projected tuple counts with its count",
            "choices = [changes if other is item else other.projected for other in path]",
            "choices = [other.projected if other is item and item.projected else changes if other is item else "
            "other.projected for other in path]",
        ),
        (
            "all projected tuples of an updated join tuple move",
            "            self._count(item, changes)\n",
            "            self._count(item, changes)\n"
            "            if any(state[0] < 0 for state in changes.values()):\n"
            "                item.projected.clear()\n",
        ),
        (
            "deleted rows carry the new values",
            "    for tuple_, changes in list(found.items()):\n",
            "    if len(found) == 2 and len(set(map(len, found.values()))) == 1:\n"
            "        a, b = found\n"
            "        found[a] = dict(zip(found[b], found[a].values()))\n"
            "    for tuple_, changes in list(found.items()):\n",
        ),
        (
            "a new join tuple has no projected tuple",
            "            if known is None:\n                item.projected[projected] = list(change)\n",
            "            if known is None and not item.projected and len(changes) == 1 and item.values:\n"
            "                pass\n"
            "            elif known is None:\n"
            "                item.projected[projected] = list(change)\n",
        ),
        ("an empty join tuple stays", "            if not item.projected:\n", "            if False:\n"),
        (
            "only the first modification makes diffs",
            "            if push:\n",
            "            if push and keys == next(iter(found)):\n",
        ),
        (
            "an aggregate multiplies by its own count, too",
            "others = prod(counts[:number]) * prod(counts[number + 1 :])",
            "others = prod(counts)",
        ),
        (
            "an update of an aggregated column is no change",
            "for projected, state in changes.items() if any(state)}",
            "for projected, state in changes.items() if state[0]}",
        ),
    ),
    *_of(
        "live",
        "live/groups.py",
        (
            "a diff carries the value, not its change",
            "                old += [row] if row is not None else []\n",
            "",
        ),
        (
            "groups of several join tuples are not combined",
            "        for at, key in enumerate(map(tuple, keys.tolist())):\n",
            "        for at, key in enumerate(map(tuple, keys.tolist())):\n"
            "            if key in self._before and at == 0:\n"
            "                continue\n",
        ),
        ("a group without rows stays", "if not group.rows and self._grouping.keys:", "if False:"),
    ),
    *_of(
        "live",
        "live/graph/look_ahead.py",
        (
            "flags have no direction",
            "for other in range(len(item.values)) if other != side)",
            "for other in range(len(item.values)))",
        ),
        (
            "an insertion raises only its neighbours",
            "waiting.append((beyond, other))",
            "pass",
        ),
        (
            "an insertion raises no flags",
            "            if self._count(item.neighbours(side)) == 1:\n",
            "            if False:\n",
        ),
        (
            "a dead end is lowered where it is left, too",
            "            if other != side:\n                item.neighbours(other).lower(item, other)",
            "            if True:\n                item.neighbours(other).lower(item, other)",
        ),
    ),
    *_of(
        "live",
        "live/graph/traversal.py",
        (
            "a dead end is not lowered",
            "                lowered = self._flags.dead_end(path[source], side)\n",
            "                lowered = False\n",
        ),
    ),
    *_of(
        "live",
        "live/kernel/change.py",
        (
            "the changed projected tuple counts with its count",
            "    state[HAS + part] = slot\n",
            "    state[HAS + part] = blocks_of(plan, part, item)\n",
        ),
    ),
    *_of(
        "live",
        "live/kernel/look_ahead.py",
        (
            "flags of the arena have no direction",
            "        if other != side and not arena[",
            "        if not arena[",
        ),
        (
            "an insertion raises only its neighbours in the arena",
            "            if plan[LOOK_AHEAD] == GLOBAL and arena[beyond + 2] >> 1 == 1:\n",
            "            if False:\n",
        ),
    ),
    *_of(
        "live",
        "live/kernel/checks.py",
        (
            "a row that is not there can be deleted",
            "        if after[0] < 0 or (",
            "        if after[0] < -99 or (",
        ),
    ),
    *_of(
        "live",
        "live/generated/walk.py",
        (
            "a dead end is left too early",
            'self.text(f"back, stay = {step.chosen}, False")',
            'self.text("back, stay = -1, False")',
        ),
        (
            "a dead end is not lowered by a generated traversal",
            'self.text(f"stay = dead_end(arena, plan, {step.source}, {item}, {step.side})")',
            'self.text(f"stay = {item} < 0")',
        ),
    ),
    *_of(
        "live",
        "live/functions/floats.py",
        ("NaN stays", "            nan += weight\n", "            nan = 1\n"),
    ),
    *_of(
        "live",
        "live/ingest.py",
        ("NULL joins NULL", "if any(columns[name].null_count for name in self._known):", "if False:"),
    ),
]
