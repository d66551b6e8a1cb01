"""What a view is and what its next refresh would do, found by the rules of a refresh."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from rollview.codegen.printer import print_plan
from rollview.engine.protocol import relation_name
from rollview.errors import Damaged, RollviewError, SchemaChanged, VersionGone
from rollview.garbage import collected_rarely
from rollview.keys.branches import BRANCH, TAG
from rollview.parse.durations import length_of
from rollview.parse.views import Policy
from rollview.plan.nodes import Node, Scan
from rollview.plan.traits import show_traits
from rollview.plan.types import shown_type
from rollview.refresh.explanation import Explanation, HelperShown, Next, Read, StepRead, Stored
from rollview.refresh.reasons import varies, why_full
from rollview.refresh.refresh import TOO_MUCH, most_rows_of
from rollview.refresh.used import scanned, used_by, used_columns
from rollview.store.protocol import Identity
from rollview.strategy.choose import choices
from rollview.strategy.full import FULL
from rollview.strategy.no_op import NO_OP
from rollview.strategy.plan import RefreshPlan, Refusal
from rollview.strategy.propagate import Change
from rollview.strategy.reasons import REASONS
from rollview.strategy.show import show_with_view
from rollview.strategy.strategy import Situation
from rollview.views.catalog import Catalog
from rollview.views.changes import ChangeSets
from rollview.views.compiled import BUG, Failed, guarded
from rollview.views.definition import View
from rollview.views.relation import newest, relation
from rollview.views.results import ViewStatus, are_behind
from rollview.views.status import status


@collected_rarely()
def explain_view(catalog: Catalog, name: str) -> Explanation:
    """The explanation of a view. It reads changed rows only if that takes no query."""
    view = catalog.get(name)
    now = status(catalog, view)
    found = catalog.compiled(view)
    advice = "" if now.stuck else ": refresh with upstream views, or all views"
    return Explanation(
        view=view.name,
        policy=view.policy.value,
        comment=view.comment,
        keep_changes=None if view.keep_changes is None else length_of(view.keep_changes),
        query=view.query.text,
        columns=tuple((column.name, shown_type(column.type)) for column in view.columns),
        reads=tuple(_reads(catalog, view, now)),
        stored=_stored(view),
        key=_key(catalog, view),
        next=_next(catalog, view, now),
        strategies=tuple(choices(situation_of(catalog, view))),
        choices=tuple(map(str, found.query.choices)) if found.query is not None else (),
        inexact=view.inexact,
        helpers=tuple(_helpers(catalog, view)),
        damage=now.damage,
        upstream=f"{are_behind(now.stale, now.stuck)}{advice}" if now.stale else None,
        not_planned=found.part.what if found.part is not None else _refused(view),
        bug=found.trace or (view.because if view.always_full == "compiler_bug" else None),
        details=_details(catalog, view),
    )


def situation_of(catalog: Catalog, view: View) -> Situation:
    """The view with no change yet."""
    reason = "policy" if view.policy is Policy.FULL else view.always_full
    state = catalog.compiled(view).state
    may_vary = varies(view, {}) or reason == "not_versioned"
    return Situation(state, Change(frozenset()), view.policy, reason, tuple(view.tables), view.moved, may_vary)


def plan_of(catalog: Catalog, view: View, tables: Sequence[str]) -> RefreshPlan | None:
    """The plan of a refresh in which these relations changed, all in any way; None if the view is recomputed."""
    found = catalog.compiled(view)
    if found.state is None or view.always_full is not None:
        return None
    situation = Situation(found.state, Change(frozenset(tables)), Policy.INCREMENTAL)
    try:
        plan = guarded(lambda: found.chooser.choose(situation))
    except Failed:  # the refresh says so if it comes to that
        return None
    return plan if isinstance(plan, RefreshPlan) else None


def _reads(catalog: Catalog, view: View, now: ViewStatus) -> list[Read]:
    found = []
    for table, version in sorted(now.vector.items()):
        if version is None:
            found.append(Read(f"{table}, which has no versions", None, ": its changes are not known"))
            continue
        behind = now.behind.get(table, 0)
        lost = "back at an earlier version" if table in now.went_back else "gone or recreated"
        news = lost if behind is None else _behind(behind) if behind else "up to date"
        key = () if catalog.has(table) else view.bases[table].key
        found.append(Read(table, version, "" if now.damage is not None else news, key))
    return found


def _behind(commits: int) -> str:
    return "1 commit behind" if commits == 1 else f"{commits} commits behind"


#: What the kinds of state are, for people.
_HOW = {
    "keyed": "one row for each row of the query, identified by its key",
    "bag": "one row for all equal rows of the query, with their number",
    "groups": "one row for each group, with the sums and counts that changes are added to",
    "top_rows": "the first rows, and some more in case some of these are deleted",
    "rows": "the rows that the query returned",
}


def _stored(view: View) -> Stored:
    layout = view.layout
    visible = {*(layout.picked or ()), *(column.name for column in view.columns)}
    hidden = () if layout.kind == "rows" else tuple(name for name in layout.columns if name not in visible)
    return Stored(_HOW[layout.kind], hidden)


def _key(catalog: Catalog, view: View) -> str:
    query = catalog.compiled(view).query
    if query is None:
        return "not known"
    key, hidden = query.keyed.key, query.keyed.hidden
    labels = {column.name: column.label for column in query.keyed.plan.columns}
    if key is None:
        return "none: equal rows are counted"
    shown = [BRANCH if labels.get(name) == TAG else name if name in hidden else labels.get(name, name) for name in key]
    shown = [f"{text} (hidden)" if name in hidden else text for text, name in zip(shown, key, strict=True)]
    return ", ".join(shown) or "one row at most"


def _helpers(catalog: Catalog, view: View) -> list[HelperShown]:
    found = []
    for helper in view.helpers:
        own = catalog.compiled(catalog.get(helper.name)).query
        assert own is not None
        rows = catalog.store.count(catalog.state(helper.name))
        found.append(HelperShown(helper.name, rows, tuple(own.shown().splitlines())))
    return found


def _details(catalog: Catalog, view: View) -> Mapping[str, Sequence[str]]:
    """Plan → traits → key → SQL → the stages of a refresh in which every table changed."""
    found = catalog.compiled(view)
    if found.query is None:
        return {"plan": [f"none: {found.because or REASONS[found.reason or 'not_compiled']}"]}
    query = found.query
    refresh = plan_of(catalog, view, list(view.bases))
    plan, stages = (query.shown().splitlines(), []) if refresh is None else show_with_view(query.plan, refresh)
    key = query.keyed.key
    parts = {
        "plan": plan,
        "traits": show_traits([query.plan]),
        "key": ["none" if key is None else ", ".join(key) or "()"],
        "compiled": print_plan(query.plan, lines=True).splitlines(),
    }
    return parts if refresh is None else parts | {f"refresh: {refresh.strategy}": stages}


def _next(catalog: Catalog, view: View, now: ViewStatus) -> Next:
    """What a refresh would do, by the rules of a refresh."""
    if now.damage is not None:
        if catalog.store.damage(catalog.state(view.name)) is not None:
            return _recomputed(catalog, view, "damaged")
        return Next(None, "a table is damaged")
    before = catalog.reflected(view)
    try:
        target = newest(catalog, view, {})
    except SchemaChanged as error:
        return Next(None, error.what)
    if not now.behind and not varies(view, target):
        return Next(NO_OP, f"nothing has changed since {now.last_refresh:%Y-%m-%d %H:%M:%S} UTC")
    reason = why_full(catalog, view, before, target, False, bool(now.went_back))
    if reason is not None:
        return _recomputed(catalog, view, reason)
    return followed(catalog, view, before.vector, target)


def _refused(view: View) -> str | None:
    """What the engine has against the plan of a view, if that is why it is recomputed."""
    return view.because if view.always_full == "not_compiled" else None


def _recomputed(catalog: Catalog, view: View, reason: str, why: str = "") -> Next:
    """A refresh that recomputes the view, unless its policy forbids that."""
    situation = Situation(None, Change(frozenset()), view.policy, reason, tuple(view.tables), view.moved)
    plan = catalog.compiled(view).chooser.choose(situation)
    if isinstance(plan, Refusal):
        return Next(None, plan.why)
    return Next(FULL, why or REASONS[reason], reason)


@dataclass(frozen=True)
class _Moved:
    """What changed of a relation that a view's plan reads: how many rows of which base tables, or None if that takes a
    query, and whether all were inserted."""

    rows: Mapping[str, int | None]
    growing: bool = False


def _moved(
    catalog: Catalog,
    view: View,
    vectors: tuple[Mapping[str, Identity], Mapping[str, Identity]],
    changes: ChangeSets,
    helpers: Mapping[str, _Moved],
) -> dict[str, _Moved]:
    """What changed of the relations that a view's plan reads, from one vector to the other. ``helpers`` are those that
    something has changed for; what that does to their rows is not known."""
    found = {}
    for name in sorted(scanned(catalog, view)):
        if name in helpers:
            found[name] = helpers[name]
            continue
        after, upto = (vector[name].version if name in vector else None for vector in vectors)
        if after is None or upto is None or after == upto:
            continue
        used = used_columns(catalog, view, name)
        glance = changes.of(relation(catalog, name), after, upto, used).glance(used)
        if glance is None:
            found[name] = _Moved({name: None})
        elif glance[0]:
            found[name] = _Moved({name: glance[0]}, glance[1])
    return found


def _rows(moved: Iterable[_Moved]) -> dict[str, int | None]:
    """The changed rows of base tables, each counted once."""
    found: dict[str, int | None] = {}
    for each in moved:
        for table, rows in each.rows.items():
            have = found.get(table, 0)
            found[table] = None if rows is None or have is None else max(rows, have)
    return found


def followed(catalog: Catalog, view: View, before: Mapping[str, Identity], target: Mapping[str, Identity]) -> Next:
    """The incremental refresh from one vector to another."""
    helpers: dict[str, _Moved] = {}
    changed: list[tuple[View, dict[str, _Moved]]] = []
    with ChangeSets(catalog.engine, catalog.limits, partial(used_by, catalog, [view.name])) as changes:
        try:
            for helper in view.helpers:  # some of them read others, which come first
                own = catalog.get(helper.name)
                if below := _moved(catalog, own, (before, target), changes, helpers):
                    helpers[helper.name] = _Moved(_rows(below.values()))
                    changed.append((own, below))
            changed.append((view, _moved(catalog, view, (before, target), changes, helpers)))
        except (VersionGone, SchemaChanged, Damaged):
            return _recomputed(catalog, view, "history_gone")
        except RollviewError as error:
            return Next(None, error.what)
    found = [_one(catalog, each, target, moved) for each, moved in changed]
    some = next((each for each in reversed(found) if each.strategy != NO_OP), None)  # the view's own before a helper's
    return found[-1] if some is None else some


def _one(catalog: Catalog, view: View, target: Mapping[str, Identity], moved: Mapping[str, _Moved]) -> Next:
    """The incremental refresh of a view, or of a helper, by what changed of the relations that its plan reads."""
    rows = _rows(moved.values())
    known = [number for number in rows.values() if number is not None]
    growing = frozenset(name for name, each in moved.items() if each.growing)
    change = Change(frozenset(moved), growing, sum(known))
    found = catalog.compiled(view)
    situation = Situation(found.state, change, view.policy, None, tuple(view.tables), view.moved)
    try:
        plan = guarded(lambda: found.chooser.choose(situation))
    except Failed as error:  # the delta of this change cannot be derived
        return _recomputed(catalog, view, BUG, f"{REASONS[BUG]}: {error.what}")
    assert isinstance(plan, RefreshPlan)
    if plan.strategy == NO_OP:
        return Next(NO_OP, "the changes since are in columns that the view does not use")
    most = most_rows_of(catalog, view, target, plan)
    if most is not None and change.rows > catalog.limits.always_followed and change.rows > most():
        return Next(FULL, REASONS[TOO_MUCH], TOO_MUCH)
    number = f"{change.rows:,} changed {'row' if change.rows == 1 else 'rows'}"
    why = f"{number if len(known) == len(rows) else 'changes'} of {', '.join(rows)}"
    helper = " (in a helper)" if view.owner else ""
    return Next(plan.strategy, f"{why}{helper}", None, tuple(_steps(plan)))


def _steps(plan: RefreshPlan) -> list[StepRead]:
    """The steps of a plan, and last what is written."""
    found = [StepRead(step.name, step.what, _relations(step.plan)) for step in plan.steps]
    if plan.write is not None:
        found.append(StepRead("rows", plan.write.what, _relations(plan.write.rows)))
    return found


def _relations(plan: Node) -> tuple[str, ...]:
    return tuple(sorted({relation_name(scan) for scan in plan.walk() if isinstance(scan, Scan)}))
