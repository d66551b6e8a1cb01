"""Random views that can be propagated, over random histories of their tables, and what their timed deltas must be.

The tables go on changing while a view is propagated: after each commit of its delta, and in a store without history
also between two reads, the next transaction of the history is committed.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from rollview import Rollview, connect
from rollview.delta.derivation import NEW, at
from rollview.delta.partials import COUNT
from rollview.engine.protocol import relation_name
from rollview.errors import VersionGone
from rollview.limits import Limits
from rollview.parse.stored_names import DELTA_PREFIX
from rollview.plan.nodes import Scan
from rollview.roll.extent import Extent
from rollview.roll.rolling import Rolling, rolling
from rollview.state.groups import Groups
from rollview.store.edits import Append, DeleteMatching, Edit
from rollview.store.protocol import TRANSACTION, Stamp
from rollview.views.relation import relation

#: No limit of time: what one look sees is settled.
AT_ONCE = Limits(settle_seconds=0)

Row = tuple[int, int | None, int | None]
_SCHEMA = pa.schema([("id", pa.int32()), ("k", pa.int32()), ("v", pa.int32())])


@dataclass(frozen=True)
class Change:
    """Rows that one commit deletes from a table, by their ids, and inserts into it."""

    table: str
    deleted: tuple[int, ...]
    inserted: tuple[Row, ...]


@dataclass
class History:
    """A view, and transactions over its tables: each is the changes of some tables at one position."""

    query: str
    keyed: tuple[bool, ...]
    transactions: list[list[Change]] = field(default_factory=list)
    above: dict[str, str] = field(default_factory=dict)

    @property
    def views(self) -> dict[str, str]:
        """The view, and those above it, by their names."""
        return {"v": self.query, **self.above}

    def __str__(self) -> str:
        lines = [f"tables with keys: {self.keyed}", *(f"{name}: {query}" for name, query in self.views.items())]
        return "\n".join([*lines, *(f"  {', '.join(map(str, each))}" for each in self.transactions)])


def history(seed: int, length: int = 12, *, tower: bool = False) -> History:
    """A random history of a view; with a ``tower``, of views on views, too."""
    choose = random.Random(seed)
    keyed = tuple(choose.random() < 0.5 for _ in range(choose.randint(2, 4)))
    if tower:
        made = History(_floor(choose, ["t0", "t1"]), keyed)
        made.above["w"] = _floor(choose, choose.choice([["v", "t1"], ["v", "v"], ["t0", "v"], ["v"], ["t1", "t0"]]))
        made.above["x"] = _floor(choose, choose.choice([["w", "v"], ["v", "w"], ["w", "t0"], ["w"], ["w", "w"]]))
    else:
        made = History(_query(choose, keyed), keyed)
    there: list[list[Row]] = [[] for _ in keyed]
    for _ in range(length):
        touched = choose.sample(range(len(keyed)), 1 if choose.random() < 0.7 else choose.randint(1, len(keyed)))
        made.transactions.append([_change(choose, number, there[number], keyed[number]) for number in sorted(touched)])
    return made


def _change(choose: random.Random, number: int, there: list[Row], keyed: bool) -> Change:
    """Some rows with all their copies go, and others come. A table without a key may have copies of a row."""
    deleted = tuple(sorted({row[0] for row in choose.sample(there, min(len(there), choose.choice([0, 0, 1, 1, 2])))}))
    there[:] = [row for row in there if row[0] not in deleted]
    inserted = []
    for _ in range(choose.choice([1, 1, 2, 4]) if not deleted or choose.random() < 0.5 else 0):
        if there and not keyed and choose.random() < 0.3:
            inserted.append(choose.choice(there))
        else:
            taken = {row[0] for row in there}
            new = next(i for i in range(100) if i not in taken)
            inserted.append((new, choose.choice([None, 0, 0, 1, 2]), choose.choice([None, 1, 1, 2])))
        there.append(inserted[-1])
    return Change(f"t{number}", deleted, tuple(inserted))


def _query(choose: random.Random, keyed: Sequence[bool]) -> str:
    form = choose.random()
    if form < 0.15:
        return f"{_select(choose, keyed, 'v')} UNION ALL {_select(choose, keyed, 'v')}"
    if form < 0.2:
        return "WITH c AS (SELECT k, v FROM t0 WHERE v > 0) SELECT a.v, b.v AS w FROM c a JOIN c b ON a.k = b.k JOIN t1 ON t1.k = a.k"
    if form < 0.3:
        distinct = _select(choose, keyed, "v").replace("SELECT", "SELECT DISTINCT", 1)
        return choose.choice([distinct, f"{_select(choose, keyed, 'v')} UNION {_select(choose, keyed, 'v')}"])
    return _select(choose, keyed, choose.choice(["rows", "v", "groups", "groups", "total"]))


def _floor(choose: random.Random, sources: Sequence[str]) -> str:
    """A view with the columns k and v over tables and views that have them."""
    source = f"{sources[0]} a"
    last = "a"
    if len(sources) > 1:
        last = "b"
        source += f" JOIN {sources[1]} b ON {choose.choice(['a.k = b.k', 'a.k = b.k', 'a.k <=> b.k', 'a.k = b.v'])}"
    having = choose.choice(["", "", " HAVING COUNT(*) > 1", f" HAVING SUM({last}.v) > 2"])
    where = choose.choice(["", "", f" WHERE a.v >= 1 OR {last}.k = 0"])
    ids = ", ".join(
        f"{name}.id AS i_{name}" for name, table in (("a", sources[0]), (last, sources[-1])) if table[0] == "t"
    )
    forms = [
        f"SELECT a.k, {last}.v FROM {source}{where}",
        f"SELECT a.k, {last}.v{', ' * bool(ids)}{ids if last == 'b' else ids.split(',')[0]} FROM {source}{where}",
        f"SELECT DISTINCT a.k, {last}.v FROM {source}{where}",
        f"SELECT a.k, SUM({last}.v) AS v, COUNT(*) AS n, AVG({last}.v) AS m FROM {source}{where} GROUP BY a.k{having}",
        f"SELECT a.k + 1 AS k, COUNT({last}.v) AS v FROM {source}{where} GROUP BY a.k{having}",
        f"SELECT COUNT(*) AS k, SUM({last}.v) AS v FROM {source}{where}{having}",
        f"SELECT a.k, {last}.v FROM {source} UNION ALL SELECT k, v FROM {sources[0]} WHERE v > 0",
        f"SELECT a.k, {last}.v FROM {source} UNION SELECT k, v FROM {sources[-1]}",
    ]
    return choose.choice(forms)


def _select(choose: random.Random, keyed: Sequence[bool], shape: str) -> str:
    tables = list(range(len(keyed)))
    choose.shuffle(tables)
    if choose.random() < 0.3:
        tables = [*tables[:2], tables[choose.randint(0, 1)]]  # a self join
    aliases = [f"x{i}" for i in range(len(tables))]
    source = f"t{tables[0]} x0"
    for i, table in enumerate(tables[1:], 1):
        other = choose.choice(aliases[:i])
        on = choose.choice(["{o}.k = {a}.k", "{o}.k = {a}.k", "{o}.k = {a}.k AND {o}.v <= {a}.v", "{o}.k <=> {a}.k"])
        source += f" JOIN t{table} {aliases[i]} ON {on.format(o=other, a=aliases[i])}"
    last = aliases[-1]
    if choose.random() < 0.15:
        source += f" LATERAL VIEW explode(array({last}.v, 1)) e AS z"
    where = choose.choice(["", "", f" WHERE x0.v = 1 OR {last}.k = 0"])
    columns = {
        "rows": ", ".join(f"{a}.id AS i{n}, {a}.v AS v{n}" for n, a in enumerate(aliases)),
        "v": f"x0.k, {last}.v",
        "groups": f"x0.k, SUM({last}.v) AS s, COUNT(*) AS n, COUNT(x0.v) AS m, AVG({last}.v) AS a",
        "total": f"SUM({last}.v) AS s, COUNT(x0.v) AS n",
    }
    return f"SELECT {columns[shape]} FROM {source}{where}" + (" GROUP BY x0.k" if shape == "groups" else "")


class World:
    """A warehouse in which a history happens, and the view ``v`` of it."""

    def __init__(
        self,
        made: History,
        *,
        present_only: bool = False,
        limits: Limits = AT_ONCE,
        rv: Rollview | None = None,
        keep: str | None = None,
    ) -> None:
        self.history, self.rv = made, rv or connect("duckdb:", limits=limits)
        self.present_only = present_only
        self._left: Iterator[list[Change]] = iter(made.transactions)
        self._expected: dict[tuple[str, int], Any] = {}
        self._many = 0
        for number, keyed in enumerate(made.keyed):
            self.rv.sql(f"CREATE TABLE t{number} (id INT, k INT, v INT{', PRIMARY KEY (id)' * keyed})")
        for _ in range(3):
            self.happen()
        self.rv.position()
        for name, query in made.views.items():
            self.rv.create(name, query, policy="INCREMENTAL", keep_changes=keep)
        self._commit, self._read = self.rv.store.commit, self.rv.store.read
        if present_only:
            self.rv.store.read = self._read_present  # type: ignore[method-assign]
            self.rv.store.keeps_history = lambda table: False  # type: ignore[method-assign]

    @property
    def rolled(self) -> Rolling:
        return self.rolling("v")

    def rolling(self, view: str) -> Rolling:
        return rolling(self.rv.catalog, view)

    def extent(self, view: str = "v") -> Extent:
        """How far the delta of a view reaches."""
        stored = self.rolling(view).delta.stored()
        assert stored is not None
        return stored.extent

    def forget(self) -> None:
        """What was computed does not hold any more: a view has another query."""
        self._expected.clear()

    def happen(self) -> bool:
        """Commits the next transaction; False if there is none left."""
        transaction = next(self._left, None)
        if transaction is None:
            return False
        self._many += 1
        for change in transaction:
            stamp = Stamp(
                {TRANSACTION: f"tx{self._many}"} if len(transaction) > 1 else {}, f"writer-{change.table}", self._many
            )
            commit = self._commit if hasattr(self, "_commit") else self.rv.store.commit
            commit(change.table, [*self._edits(change)], stamp)
        return True

    def _edits(self, change: Change) -> Iterator[Edit]:
        if change.deleted:
            ids = self.rv.engine.small([(number,) for number in change.deleted], "id INT")
            yield DeleteMatching(ids, ["id"])
        if change.inserted:
            columns = zip(*change.inserted, strict=True)
            rows = pa.table([pa.array(c, f.type) for c, f in zip(columns, _SCHEMA, strict=True)], schema=_SCHEMA)
            made = self.rv.engine.local(rows, [("id", "int"), ("k", "int"), ("v", "int")])
            yield Append(made.frame)

    @contextmanager
    def interrupted(self, between: Callable[[str], None], happening: float, choose: random.Random) -> Iterator[None]:
        """Inside the block, transactions happen after each commit of a delta, and ``between`` is called with the name
        of its view."""

        def commit(table: str, *rest: Any, **more: Any) -> Any:
            done = self._commit(table, *rest, **more)
            if table.startswith(DELTA_PREFIX):
                between(table.removeprefix(DELTA_PREFIX))
                while choose.random() < happening and self.happen():
                    pass
            return done

        self.rv.store.commit = commit  # type: ignore[method-assign]
        try:
            yield
        finally:
            self.rv.store.commit = self._commit  # type: ignore[method-assign]

    def _read_present(self, table: str, version: int | None = None) -> Any:
        """A store that keeps no history; a transaction may happen between two reads."""
        if table.startswith("t") and version not in (None, self.rv.store.version(table)):
            raise VersionGone(f"Version {version} of {table} is gone")
        found = self._read(table, version)
        if table.startswith("t") and self._many % 2:
            self.happen()
        return found

    def check(self, view: str = "v") -> None:
        """Definition 4.2: from where the delta begins, the rows with times up to any position up to the mark lead to the
        rows that the view has there."""
        rolled = self.rolling(view)
        stored = rolled.delta.stored()
        assert stored is not None
        extent = stored.extent
        delta = self._fetched(rolled.delta.read(stored.version))
        names = [name for name, _ in self.rv.engine.columns(rolled.delta.read(stored.version))]
        now = self.stored_at(extent.begin, view)
        for position in range(extent.begin + 1, extent.mark + 1):
            now = _after(rolled, names, now, [row for row in delta if row[-1] == position])
            wanted = self.stored_at(position, view)
            assert now == wanted, f"{view} at position {position} of {extent}\n{self.history}"
        assert all(row[-1] > extent.begin for row in delta)

    def canonical(self) -> Any:
        """The delta with what cancels out left out: what it adds at each position up to the mark."""
        rolled, mark = self.rolled, self.extent().mark
        frame = rolled.delta.read(self.rv.store.version(rolled.delta.name))
        names, found = [name for name, _ in self.rv.engine.columns(frame)], {}
        rows = self._fetched(frame)
        for position in sorted({row[-1] for row in rows if row[-1] <= mark}):
            nothing: Any = {} if isinstance(rolled.state, Groups) else Counter()
            if added := _after(rolled, names, nothing, [row for row in rows if row[-1] == position]):
                found[position] = added
        return found

    def stored_at(self, position: int, view: str = "v") -> Any:
        """What a view has stored at a position, computed from its tables as they were there."""
        if (view, position) not in self._expected:
            rolled = self.rolling(view)
            plan = at(rolled.state.plan, NEW, ())
            scans = [node for node in plan.walk() if isinstance(node, Scan)]
            frames = {relation_name(s): self._rows_at(s.table, position) for s in scans}
            rows = self._fetched(self.rv.engine.select(plan, frames))
            self._expected[view, position] = _counted(rolled, [column.label for column in plan.columns], rows)
        return self._expected[view, position]

    def _rows_at(self, name: str, position: int) -> Any:
        """The rows of a table at a position; those of a view are found by its query, through all levels."""
        if name not in self.history.views:
            return self._read(name, self.rv.catalog.clock.vector(position)[name].version)
        view = self.rv.catalog.get(name)
        frames = {given: self._rows_at(table, position) for given, table in view.sources.items()}
        return self.rv.engine.query(view.query.text, frames)

    def counted(self, frame: Any, view: str = "v") -> Any:
        """Stored rows, to be compared with ``stored_at``."""
        names = [name for name, _ in self.rv.engine.columns(frame)]
        return _counted(self.rolling(view), names, self._fetched(frame))

    def shown_at(self, position: int, view: str = "v") -> Counter[Any]:
        """The rows of a view's query at a position."""
        return Counter(self._fetched(self._rows_at(view, position)))

    def shown(self, view: str = "v") -> Counter[Any]:
        return Counter(self._fetched(relation(self.rv.catalog, view).rows()))

    def _fetched(self, frame: Any) -> list[Any]:
        columns = self.rv.engine.arrow(frame).columns
        return list(zip(*(column.to_pylist() for column in columns), strict=True))


def _counted(rolled: Rolling, names: Sequence[str], rows: Sequence[Any]) -> Any:
    """Stored rows: groups with their sums and counts, other rows with the numbers of their copies."""
    if isinstance(rolled.state, Groups):
        wanted = [*rolled.state.on] if rolled.state.root.keys else []
        sums = [rolled.state.label(p.column.name) for p in rolled.state.partials] + [rolled.state.label(COUNT.name)]
        at_, of = [names.index(n) for n in wanted], [names.index(n) for n in sums]
        found = {tuple(row[i] for i in at_): tuple(row[i] or 0 for i in of) for row in rows}
        return {key: values for key, values in found.items() if any(values)}
    found_rows: Counter[Any] = Counter()
    copies = names.index(COUNT.label) if COUNT.label in names else None
    for row in rows:
        found_rows[tuple(v for i, v in enumerate(row) if i != copies)] += 1 if copies is None else row[copies]
    return found_rows


def _after(rolled: Rolling, names: Sequence[str], now: Any, rows: Sequence[Any]) -> Any:
    """Stored rows after rows of the delta."""
    if not isinstance(rolled.state, Groups):
        found = Counter(now)
        for row in rows:
            found[row[:-2]] += row[-2]
        return Counter({row: copies for row, copies in found.items() if copies})
    width = len(rolled.state.root.keys)
    sums = dict(now)
    for row in rows:
        key, values = row[:width], tuple(value or 0 for value in row[width:-1])
        sums[key] = tuple(a + b for a, b in zip(sums.get(key, (0,) * len(values)), values, strict=True))
    return {key: values for key, values in sums.items() if any(values)}
