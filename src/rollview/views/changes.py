"""The changed rows of one table or view between two versions, read once for all that ask.

feed (rows, kind, commit) → signed rows → net change of some columns, update pairs, rows with their commit
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import TracebackType

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from rollview.delta.weights import consolidated, negated
from rollview.engine.protocol import Engine, Frame, Kept, has_no_equality
from rollview.errors import SchemaChanged, VersionGone
from rollview.limits import Limits
from rollview.plan.expressions import conjunction, ref
from rollview.plan.nodes import FULL, Column, Computed, Filter, Join, Node, Project, Scan
from rollview.plan.reserved import TIME, WEIGHT
from rollview.views.relation import Relation, scan_of

#: Before the names of columns, in update pairs: their values before the change.
BEFORE = "__old_"


@dataclass(frozen=True)
class Net:
    """The net change of some columns: one row for each different tuple, with its weight."""

    rows: Kept
    only_inserts: bool

    @property
    def count(self) -> int:
        """The number of rows."""
        return self.rows.rows


class ChangeSet:
    """The changed rows of a relation after one version, up to and with another. If the second version is the earlier
    one, it is the change that leads back: inserted rows are deleted, and the other way round. ``columns`` are those
    that can be asked for. Rows are read when they are asked for first; ``reads`` counts how often."""

    def __init__(
        self, engine: Engine, limits: Limits, relation: Relation, after: int, upto: int, columns: Sequence[str]
    ) -> None:
        self._engine, self._limits = engine, limits
        self.relation, self.after, self.upto = relation, min(after, upto), max(after, upto)
        self.back = after > upto
        self.columns = tuple(columns)
        self.reads = 0
        self._nets: dict[tuple[str, ...], Net] = {}
        self._kept: list[Kept] = []
        self._lock = threading.RLock()

    def net(self, columns: Sequence[str]) -> Net:
        """What the change amounts to in some columns."""
        asked = tuple(columns)
        with self._lock:
            if asked not in self._nets:
                local = self._net_here(asked)
                if local is None:
                    kept = self._engine.keep(self._select(self._consolidated(asked), asked))
                    only_inserts = self._engine.is_empty(kept.frame, f"{WEIGHT.label} < 0")
                else:
                    kept = self._engine.local(local, [*self._typed(asked), (WEIGHT.label, "bigint")])
                    only_inserts = all(weight > 0 for weight in local.column(WEIGHT.label).to_pylist())
                self._kept.append(kept)
                self._nets[asked] = Net(kept, only_inserts)
            return self._nets[asked]

    def glance(self, columns: Sequence[str]) -> tuple[int, bool] | None:
        """The number of rows of the net change, and whether all were inserted, if that takes no query."""
        with self._lock:
            net = self._net_here(tuple(columns))
        if net is None:
            return None
        return net.num_rows, all(weight > 0 for weight in net.column(WEIGHT.label).to_pylist())

    def arrow(self) -> pa.Table | None:
        """The signed rows, with their commit, if they are few enough to be read in this process."""
        with self._lock:
            return self._here

    def timed(self, columns: Sequence[str]) -> Frame:
        """The signed rows of each commit: some columns, the weight, and the commit's version as ``__t``."""
        with self._lock:
            names = [*columns, WEIGHT.label, TIME.label]
            return self._engine.select(self._scan(columns), {"changes": self._signed}, names)

    def pairs(self, key: Sequence[str], columns: Sequence[str]) -> Frame:
        """The net change as one row for each changed row of the relation: the columns ``__old_…`` have its values
        before, the others those now. The former are all NULL if it was inserted, the latter if it was deleted."""
        net = self.net([*key, *(column for column in columns if column not in key)]).rows
        names = [*key, *(column for column in columns if column not in key)]
        sides: list[Node] = []
        for prefix, sign in (("", exp.GT), (BEFORE, exp.LT)):
            output = tuple(Column(f"{prefix}{name}", f"{prefix}{name}") for name in names)
            weight = Column(f"{prefix}{WEIGHT.name}", WEIGHT.label)
            scan = Scan("net", (*output, weight), (*names, WEIGHT.label))
            test = sign(this=ref(weight.name), expression=exp.Literal.number(0))
            sides.append(Project(Filter(scan, test), tuple(Computed(c, ref(c.name)) for c in output)))
        tests = [exp.NullSafeEQ(this=ref(name), expression=ref(f"{BEFORE}{name}")) for name in key]
        both = Join(FULL, sides[0], sides[1], conjunction(tests))
        return self._engine.select(both, {"net": net.frame}, [column.name for column in both.columns])

    def forget(self) -> None:
        """The rows are needed no more."""
        with self._lock:
            self._engine.forget(self._kept)
            self._kept.clear()
            self._nets.clear()

    @cached_property
    def _here(self) -> pa.Table | None:
        found = self.relation.few_changes(self.after, self.upto, self.columns, self._limits.changes_here)
        self.reads += found is not None
        if found is None or not self.back:
            return found
        at = found.column_names.index(WEIGHT.label)
        return found.set_column(at, WEIGHT.label, pc.negate(found.column(at)))

    @cached_property
    def _signed(self) -> Frame:
        """The signed rows as a frame of the engine."""
        if self._here is not None:
            kinds = [*self._typed(self.columns), (WEIGHT.label, "bigint"), (TIME.label, "bigint")]
            kept = self._engine.local(self._here, kinds)
            self._kept.append(kept)
            return kept.frame
        self.reads += 1
        rows = self.relation.changes(self.after, self.upto, self.columns)
        if not self.back:
            return rows
        names = [*self.columns, TIME.label, WEIGHT.label]
        return self._engine.select(negated(self._scan(self.columns)), {"changes": rows}, names)

    def _net_here(self, columns: tuple[str, ...]) -> pa.Table | None:
        """The net change added up in this process; None if the rows are not here, or cannot be compared here."""
        if self._here is None:
            return None
        signed = self._here.select([*columns, WEIGHT.label])
        try:
            net = signed.group_by(list(columns)).aggregate([(WEIGHT.label, "sum")])
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid):  # arrays and structs are not grouped here
            return None
        names = [WEIGHT.label if name == f"{WEIGHT.label}_sum" else name for name in net.column_names]
        net = net.rename_columns(names)
        return net.filter(pc.not_equal(net.column(WEIGHT.label), 0)).select([*columns, WEIGHT.label])

    def _consolidated(self, columns: Sequence[str]) -> Node:
        scan = self._scan(columns)
        rows = Project(scan, tuple(Computed(column, ref(column.name)) for column in scan.output[:-1]))
        # rows of a type without equality that cancel out stay: they do no harm
        comparable = not any(has_no_equality(kind) for _, kind in self._typed(columns))
        return consolidated(rows) if comparable else rows

    def _scan(self, columns: Sequence[str]) -> Scan:
        scan = scan_of("changes", self._typed(columns))
        return Scan("changes", (*scan.output, WEIGHT, TIME), (*scan.sources, WEIGHT.label, TIME.label))

    def _select(self, plan: Node, columns: Sequence[str]) -> Frame:
        return self._engine.select(plan, {"changes": self._signed}, [*columns, WEIGHT.label])

    def _typed(self, columns: Sequence[str]) -> list[tuple[str, str]]:
        kinds = dict(self.relation.columns())
        return [(name, kinds[name]) for name in columns]


class ChangeSets:
    """The change sets that the refreshes of some views share. ``needed`` tells the columns that these views use of a
    table, so that one reading serves all; ``reads`` are the intervals that were read."""

    def __init__(
        self, engine: Engine, limits: Limits, needed: Callable[[str], Collection[str]] = lambda table: ()
    ) -> None:
        self._engine, self._limits, self._needed = engine, limits, needed
        self._found: dict[tuple[str, int, int], ChangeSet] = {}
        self._made: list[ChangeSet] = []
        self._lock = threading.Lock()
        self.reads: list[tuple[str, int, int]] = []

    def of(self, relation: Relation, after: int, upto: int, used: Sequence[str]) -> ChangeSet:
        """The change set from one version to another, in which at least the columns ``used`` can be asked for."""
        interval = (relation.name, after, upto)
        with self._lock:
            known = self._found.get(interval)
            if known is None or not set(used) <= set(known.columns):
                wanted = {*used, *self._needed(relation.name), *(known.columns if known is not None else ())}
                columns = [name for name, _ in relation.columns() if name in wanted]
                known = ChangeSet(self._engine, self._limits, relation, after, upto, columns)
                self._found[interval] = known
                self._made.append(known)
                self.reads.append(interval)
            return known

    def __enter__(self) -> ChangeSets:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for each in self._made:
            each.forget()


@contextlib.contextmanager
def unreadable_feed(table: str) -> Iterator[None]:
    """The columns that a view uses are as they were: a feed that a change of others makes unreadable is gone."""
    try:
        yield
    except SchemaChanged as error:
        raise VersionGone(f"The changes of {table} cannot be read", why=error.what) from error
