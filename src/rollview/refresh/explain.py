"""What a view is and what its next refresh would do, found by the rules of a refresh."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
from rollview.refresh.refresh import TOO_MUCH, most_rows_of, used_columns
from rollview.store.protocol import Identity
from rollview.strategy.choose import choices
from rollview.strategy.full import FULL
from rollview.strategy.no_op import NO_OP
from rollview.strategy.plan import RefreshPlan
from rollview.strategy.propagate import Change
from rollview.strategy.reasons import REASONS
from rollview.strategy.show import show_with_view
from rollview.strategy.strategy import Situation
from rollview.views.catalog import Catalog
from rollview.views.changes import ChangeSet
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
        not_planned=found.part.what if found.part is not None else None,
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
            return Next(FULL, REASONS["damaged"], "damaged")
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
        return Next(FULL, REASONS[reason], reason)
    return followed(catalog, view, before.vector, target)


def followed(catalog: Catalog, view: View, before: Mapping[str, Identity], target: Mapping[str, Identity]) -> Next:
    """The incremental refresh from one vector to another."""
    changed, growing, rows, known = [], [], 0, True
    for table in view.tables:
        after, upto = before[table].version, target[table].version
        if after is None or upto is None or after == upto:
            continue
        used = used_columns(catalog, view, table)
        changes = ChangeSet(catalog.engine, catalog.limits, relation(catalog, table), after, upto, used)
        try:
            glance = changes.glance(used)
        except (VersionGone, SchemaChanged, Damaged):
            return Next(FULL, REASONS["history_gone"], "history_gone")
        except RollviewError as error:
            return Next(None, error.what)
        if glance is None:
            known = False
        elif not glance[0]:
            continue
        changed.append(table)
        rows += 0 if glance is None else glance[0]
        if glance is not None and glance[1]:
            growing.append(table)
    found = catalog.compiled(view)
    change = Change(frozenset(view.moved(changed)), frozenset(view.moved(growing)), rows)
    situation = Situation(found.state, change, view.policy, None, tuple(view.tables), view.moved)
    try:
        plan = guarded(lambda: found.chooser.choose(situation))
    except Failed as error:  # the delta of this change cannot be derived
        return Next(FULL, f"{REASONS[BUG]}: {error}", BUG)
    assert isinstance(plan, RefreshPlan)
    if plan.strategy == NO_OP:
        return Next(NO_OP, "the changes since are in columns that the view does not use")
    most = most_rows_of(catalog, view, target, plan)
    if most is not None and rows > catalog.limits.always_followed and rows > most():
        return Next(FULL, REASONS[TOO_MUCH], TOO_MUCH)
    why = f"{rows:,} changed rows of {', '.join(changed)}" if known else f"changes of {', '.join(changed)}"
    return Next(plan.strategy, why, None, tuple(_steps(plan)))


def _steps(plan: RefreshPlan) -> list[StepRead]:
    """The steps of a plan, and last what is written."""
    found = [StepRead(step.name, step.what, _relations(step.plan)) for step in plan.steps]
    if plan.write is not None:
        found.append(StepRead("rows", plan.write.what, _relations(plan.write.rows)))
    return found


def _relations(plan: Node) -> tuple[str, ...]:
    return tuple(sorted({relation_name(scan) for scan in plan.walk() if isinstance(scan, Scan)}))
