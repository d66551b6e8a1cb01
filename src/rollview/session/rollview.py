"""A session: what a user calls. Everything is delegated to the rooms that do it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import timedelta

from pyspark.sql import DataFrame, SparkSession

from rollview.clock import AsOf
from rollview.engine.protocol import Answer, Engine, Frame
from rollview.engine.spark import SparkEngine
from rollview.errors import (
    UserError,
)
from rollview.limits import DEFAULT, Limits
from rollview.live.live import Live
from rollview.live.open import live_view
from rollview.parse.durations import seconds_of
from rollview.parse.names import parse_name
from rollview.parse.parameters import Args, bound
from rollview.parse.tokens import split_script
from rollview.parse.tree import RAW_STRINGS
from rollview.parse.views import (
    CreateView,
    DescribeView,
    DropView,
    ExplainView,
    Policy,
    RefreshView,
    ShowViews,
    ViewStatement,
    parse_view_statement,
)
from rollview.plan.types import shown_type
from rollview.refresh.explanation import Explanation
from rollview.refresh.steps import Pace
from rollview.roll.apply import apply
from rollview.roll.explain import explained
from rollview.roll.following import refresh, refresh_all, refresh_upstream
from rollview.roll.reach import Reaches
from rollview.roll.results import OnStep, Propagated, PropagateOutcome
from rollview.roll.run import propagate, propagate_all
from rollview.session.answers import of_refresh, of_views
from rollview.session.arguments import NAME, NAME_TODO, SQL, SQL_TODO, article, check_text
from rollview.session.as_of import check_full, check_steps, goal_of, pace_of, position_of
from rollview.session.moments import Moments
from rollview.session.statements import known_names, run_statement
from rollview.store.protocol import Store
from rollview.strategy.no_op import NO_OP
from rollview.views.create import create_view
from rollview.views.drop import drop_view
from rollview.views.freshness import Freshness
from rollview.views.results import Outcome, RefreshResult, Verification, ViewStatus
from rollview.views.status import status_of
from rollview.views.verify import verify_all, verify_view


class Rollview(Moments):
    """A session: SQL over the store's tables, and the materialized views over them."""

    def __init__(self, engine: Engine, store: Store, limits: Limits = DEFAULT) -> None:
        super().__init__(engine, store, limits)
        self._trusted: set[str] = set()

    def __enter__(self) -> Rollview:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def spark(self) -> SparkSession:
        """The Spark session; a local one is started now if it was not needed before."""
        if isinstance(self.engine, SparkEngine):
            return self.engine.spark
        raise UserError("There is no Spark here", why="the session was opened on DuckDB")

    def sql(self, text: str, args: Args | None = None) -> DataFrame:
        """Runs SQL: statements about materialized views, statements that change tables, and anything that Spark knows.

        Several statements are separated by semicolons; the result of the last one is returned. ``args`` are values for
        ``:name`` markers, as a dict, or for ``?`` markers, as a list: ``rv.sql("SELECT * FROM t WHERE id = :id",
        {"id": 7})``. A view that is created with them keeps these values.
        """
        check_text(text, SQL, SQL_TODO)
        catalog = self.catalog
        statements = split_script(text)
        if not statements:
            raise UserError("There is no statement in this text")
        if args is not None:
            statements = self.bound(statements, args)
        for statement in statements[:-1]:
            self.answer(statement)
        found = self.answer(statements[-1])
        frame = catalog.engine.small(found.rows, found.schema) if isinstance(found, Answer) else found
        with self.engine.errors(statements[-1], lambda: known_names(catalog)):
            shown: DataFrame = catalog.engine.output(frame)
        return shown

    def bound(self, statements: Sequence[str], args: Args) -> list[str]:
        """The statements with values in the place of their markers, written as this session reads strings."""
        return bound(statements, args, lambda: self.engine.result_settings().get(RAW_STRINGS) == "true")

    def answer(self, sql: str) -> Answer | Frame:
        """Runs one statement. An answer of rollview itself is not made a frame, so it may need no Spark."""
        if (about_view := parse_view_statement(sql)) is not None:
            return self._run_view_statement(about_view)
        return run_statement(self.catalog, sql)

    def _run_view_statement(self, statement: ViewStatement) -> Answer:
        if isinstance(statement, ShowViews):
            return of_views(self.views())
        if isinstance(statement, CreateView):
            return of_refresh(create_view(self.catalog, statement, self._trusted))
        name = self.store.canonical(statement.name)
        if isinstance(statement, RefreshView):
            return of_refresh(self._refresh(name, full=statement.full, as_of=statement.as_of))
        if isinstance(statement, DropView):
            there = self.catalog.has(name) or not statement.if_exists
            if there:
                drop_view(self.catalog, name)
            return Answer({"dropped": "STRING"}, [[name]] if there else [])
        if isinstance(statement, DescribeView):
            columns = [[column.name, shown_type(column.type)] for column in self.catalog.get(name).columns]
            return Answer({"column": "STRING", "type": "STRING"}, columns)
        assert isinstance(statement, ExplainView)
        return Answer({"plan": "STRING"}, [[explained(self.catalog, name).text(verbose=statement.verbose)]])

    def create(
        self,
        name: str,
        query: str,
        *,
        policy: str | Policy = Policy.AUTO,
        comment: str | None = None,
        or_replace: bool = False,
        if_not_exists: bool = False,
        args: Args | None = None,
        as_of: AsOf | None = None,
        keep_changes: str | timedelta | None = None,
    ) -> RefreshResult:
        """Makes a materialized view, at the newest versions of its tables or AS OF a moment: see ``refresh``. ``args``
        are values for markers in the query, as for ``sql``. ``keep_changes`` is how long its timed delta is kept
        (``'7 days'``): see ``propagate``."""
        check_text(query, "A view's query", "give the SELECT as a string, not its result")
        statements = split_script(query)
        if args is not None:
            statements = self.bound(statements, args)
        if len(statements) != 1:
            raise UserError(f"A view is defined by one query, not by {len(statements)} statements")
        chosen = policy if isinstance(policy, Policy) else Policy.named(policy)
        check_text(name, NAME, NAME_TODO)
        kept = None if keep_changes is None else seconds_of(keep_changes, "keep_changes")
        statement = CreateView(parse_name(name), statements[0], chosen, comment, or_replace, if_not_exists, kept)
        goal, position = goal_of(self.catalog, as_of)
        made = create_view(self.catalog, statement, self._trusted, goal)
        if made.strategy == NO_OP and goal.exact and not if_not_exists:  # the same view is there, at another moment
            made = refresh(self.catalog, made.view, goal=goal)
        return replace(made, position=position)

    def declare_deterministic(self, *functions: str) -> None:
        """Promises that these registered functions give the same result for the same arguments: views may use them."""
        for function in functions:
            check_text(function, "A function's name", "give the names as strings")
        self._trusted |= {function.lower() for function in functions}

    def refresh(
        self,
        name: str,
        *,
        full: bool = False,
        upstream: bool = False,
        as_of: AsOf | None = None,
        step_rows: int | None = None,
        step_seconds: float | None = None,
        progress: Callable[[RefreshResult], None] | None = None,
    ) -> RefreshResult:
        """Brings a view to the newest versions of its base tables; with ``upstream``, the views that it reads first.

        Without ``upstream``, the views that it reads stay as they are; the result's ``stale`` names those behind.

        ``as_of`` is another moment to go to, forward or back: a time (``datetime`` or text, in the session's time zone
        if it has none), a position of the commit clock, or a vector (``{"orders": 5, "customers": 2}``). It is reached,
        or refused.

        With ``step_rows`` or ``step_seconds``, the view goes there in several commits, each at a position of the clock,
        of about this many changed rows or seconds. A refresh that is stopped loses one step. ``progress`` is called
        with the result of each step."""
        check_full(full, step_rows, step_seconds)
        found = self._name(name)
        pace = pace_of(self.catalog, step_rows, step_seconds)
        if upstream:
            goal, position = goal_of(self.catalog, as_of)
            done = refresh_upstream(self.catalog, found, full=full, goal=goal, pace=pace, progress=progress)
            return replace(done, position=position)
        return self._refresh(found, full=full, as_of=as_of, pace=pace, progress=progress)

    def _refresh(
        self,
        name: str,
        *,
        full: bool,
        as_of: AsOf | None,
        pace: Pace | None = None,
        progress: Callable[[RefreshResult], None] | None = None,
    ) -> RefreshResult:
        goal, position = goal_of(self.catalog, as_of)
        done = refresh(self.catalog, name, full=full, goal=goal, pace=pace, progress=progress)
        return replace(done, position=position)

    def refresh_all(
        self,
        names: Iterable[str] | None = None,
        *,
        full: bool = False,
        as_of: AsOf | None = None,
        step_rows: int | None = None,
        step_seconds: float | None = None,
        progress: Callable[[RefreshResult], None] | None = None,
    ) -> list[Outcome]:
        """Refreshes every view, or those that are named, upstream views first, all to the versions that the base tables
        have now, or AS OF another moment. No view's failure is raised: each view has an outcome, in the order of the
        refresh. A view is refreshed, or it failed, or it was skipped because of a view upstream that failed::

            for outcome in rv.refresh_all():
                print(outcome.view, outcome.outcome, outcome.explanation)

        ``as_of``, the steps and ``progress`` are those of ``refresh``.
        """
        check_full(full, step_rows, step_seconds)
        found = None if names is None else self.existing(names)
        pace = pace_of(self.catalog, step_rows, step_seconds)
        goal, position = goal_of(self.catalog, as_of)
        done = refresh_all(self.catalog, found, full=full, goal=goal, pace=pace, progress=progress)
        return [
            each if each.result is None else replace(each, result=replace(each.result, position=position))
            for each in done
        ]

    def propagate(
        self,
        name: str,
        *,
        steps: int | None = None,
        step_rows: int | None = None,
        step_seconds: float | None = None,
        progress: OnStep | None = None,
    ) -> Propagated:
        """Joins the changes of a view's tables into its timed delta, up to now. The view stays where it is: ``apply``
        brings it to any position that the delta reaches. The views that it reads are propagated first.

        Each of the ``steps`` of a view (by default, as many as it takes) is one query over the changes of one table and
        one commit. It takes in about ``step_rows`` changed rows (by default ``Limits.first_step_rows``), or as many as
        take ``step_seconds``. A process that is stopped loses one step; several may propagate one view. ``progress`` is
        called after each step."""
        check_steps(steps)
        pace = pace_of(self.catalog, step_rows, step_seconds) or Pace()
        return propagate(self.catalog, self._name(name), pace, steps, progress)

    def propagate_all(
        self,
        names: Iterable[str] | None = None,
        *,
        steps: int | None = None,
        step_rows: int | None = None,
        step_seconds: float | None = None,
        progress: OnStep | None = None,
    ) -> list[PropagateOutcome]:
        """Propagates every view, or those that are named, and those that they read. What they need of a table is read
        once for all. No view's failure is raised: each has an outcome; one with an operator that has no timed rule is
        ``refused``."""
        check_steps(steps)
        pace = pace_of(self.catalog, step_rows, step_seconds) or Pace()
        found = None if names is None else self.existing(names)
        return propagate_all(self.catalog, found, pace, steps, progress)

    def apply(self, name: str, *, as_of: AsOf | None = None) -> RefreshResult:
        """Brings a view to a moment that its timed delta reaches, forward or back: see ``propagate``. Without a moment,
        to the newest one. No base table is read. The result's strategy is ``apply``."""
        found = self._name(name)
        return apply(self.catalog, found, None if as_of is None else position_of(self.catalog, found, as_of))

    def existing(self, names: Iterable[str]) -> list[str]:
        """The canonical names of views. Raises an error for a name that is no view's."""
        if not isinstance(names, Iterable):
            raise UserError(f"Names are a list, not {article(names)}", todo=NAME_TODO)
        found = [self._name(name) for name in ([names] if isinstance(names, str) else names)]
        for name in found:
            if not self.catalog.has(name):
                self.catalog.get(name)
        return found

    def verify(self, name: str) -> Verification:
        """Compares a view with its query run from scratch over the versions that the view reflects."""
        return verify_view(self.catalog, self._name(name))

    def verify_all(self, names: Iterable[str] | None = None) -> list[Verification]:
        """Verifies every view, or those that are named. No view's failure is raised: a view that cannot be compared has
        an ``error``, and is not ``ok``."""
        return verify_all(self.catalog, None if names is None else self.existing(names))

    def explain(self, name: str, *, verbose: bool = False) -> str:
        """What a view is, what it reads and stores, and what its next refresh would do, as text. With ``verbose``, its
        plan, the compiled SQL, and the plans of a refresh's steps, too."""
        return self.explanation(name).text(verbose=verbose)

    def explanation(self, name: str) -> Explanation:
        """The same as an object."""
        return explained(self.catalog, self._name(name))

    def views(self) -> list[ViewStatus]:
        """The materialized views and how fresh they are, damaged ones among them; of those that are propagated, also
        how far that has come, and which history of their tables is still needed for it."""
        freshness, reaches = Freshness(self.catalog), Reaches(self.catalog)
        return [
            replace(status_of(self.catalog, name, freshness), reach=reaches.propagated(name))
            for name in self.catalog.names()
        ]

    def live(self, view: str, *, push: bool = True, look_ahead: str = "global") -> Live:
        """A live view: the rows of a materialized view, or of a query, kept in memory as a join graph. It answers
        look-ups, and tells its subscribers what each commit of the base tables does to the view, in milliseconds::

            with rv.live("v").follow() as live:
                for batch in live.changes(snapshot=True):
                    print(batch.to_pylist())

        ``push=False`` keeps only the graph: no diffs, cheaper changes, and rows are generated when they are asked for.
        ``look_ahead`` says what is known of a row before it is visited: 'none', 'local' or 'global'; the results are
        the same. A view that the join graph cannot hold is refused, with the reason: see docs/live.md."""
        check_text(view, "A view", "give its name, or the SELECT as a string")
        return live_view(self.catalog, view, push=push, look_ahead=look_ahead, limits=self.catalog.limits)

    def tables(self) -> list[str]:
        """The tables of the store, without rollview's own."""
        return self.catalog.tables()

    def drop(self, name: str) -> None:
        """Drops a materialized view that no other view reads."""
        drop_view(self.catalog, self._name(name))
