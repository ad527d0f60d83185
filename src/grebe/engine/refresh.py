"""One refresh, from start to end. Correctness rests on the commit alone.

A crash before it leaves nothing visible; a crash after it is recognised by the run id in the
frontier. The commit compares with the version that the position was read at, never with the state
at its own beginning.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from grebe import thresholds
from grebe.compiler.algebra.nodes import Verbatim
from grebe.compiler.bind import bind
from grebe.compiler.explain import StepText, bound_steps, step_text
from grebe.compiler.plan.cost import cost_of
from grebe.compiler.text.clock import CLOCK, ZONE, reads_clock
from grebe.engine.choice import Choice, Costs, choose, not_incremental, replaced
from grebe.engine.clustering import order_of
from grebe.engine.compiled_view import CompiledView, Used, check_of
from grebe.engine.delta_statistics import delta_facts
from grebe.engine.execute import Execution
from grebe.engine.former_storage import differs_from_text
from grebe.engine.kept_rows import KeptRows
from grebe.engine.new_storage import make_storage
from grebe.engine.pins import point_of
from grebe.engine.preview import PlannedWindow, RefreshPreview
from grebe.engine.public import (
    PUBLIC,
    altered,
    is_as_published,
    keeps_words,
    kept_properties,
    may_replace,
    publish,
    refuse_taken,
    restore_properties,
)
from grebe.engine.public_name import shown_storage
from grebe.engine.result import RefreshResult as RefreshResult
from grebe.engine.result import StepRun, StepWatch, unwatched
from grebe.engine.rows.row_options import FunctionRun, RowOptions
from grebe.engine.rows.row_preview import RowNumbers
from grebe.engine.rows.row_refresh import (
    FAILED,
    KEPT_VALUES,
    PENDING,
    RowRefresh,
    dropped_at_the_end,
    layout_of,
    row_values,
)
from grebe.engine.small_steps_run import SmallSteps
from grebe.engine.small_views import repeated
from grebe.engine.source_deltas import Delta, Deltas, SourceDelta, Stage
from grebe.engine.standing import Pinned
from grebe.engine.tables import Tables
from grebe.engine.verify import check_first_build
from grebe.errors import InternalError
from grebe.formats.base import Committed, Overwrite, VersionStats, Write
from grebe.formats.failpoints import reach
from grebe.model import (
    LAYOUT,
    Check,
    Frontier,
    Outcome,
    Policy,
    Position,
    Reason,
    RunId,
    SmallChoice,
    SourcePoint,
    TableName,
    Version,
    Window,
)
from grebe.spark.broken_rules import WITHOUT_CONSTRAINTS
from grebe.spark.tuning import tune
from grebe.stored_properties import KEYS
from grebe.view_timing import APPEND

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from grebe.compiler.plan.cost import Past

ENGINE_VERSION = "0.1"
STRATEGY: Final = KEYS["strategy"]
NOT_SHOWN: Final = Reason("not-shown", "the public name did not show the rows that are stored")
SMALL: Final = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    **WITHOUT_CONSTRAINTS,
}
"""For small deltas planning and scheduling are all that counts."""
LARGE: Final = {"spark.sql.adaptive.enabled": "true", **WITHOUT_CONSTRAINTS}
FULL: Final = {"spark.sql.adaptive.enabled": "true", **dict.fromkeys(WITHOUT_CONSTRAINTS, "true")}
PLACES: Final = (
    "refresh.planned",
    "refresh.deltas",
    "refresh.computed",
    "refresh.created",
    "refresh.committed",
    "refresh.shown",
)
"""The places between the steps of a refresh where tests can interfere."""


@dataclass(slots=True)
class Refresh:
    """Everything that one refresh of one view needs."""

    view: CompiledView
    run_id: RunId
    tables: Tables
    session: Callable[[], SparkSession]
    """A Spark session that nobody else uses; started when something has to be read or written."""
    pins: Mapping[TableName, Pinned]
    deltas: Deltas
    nearby: KeptRows
    stage: Stage
    policy: Policy
    position: Position
    """Where the view stood before the sources were pinned: what the commit compares with."""
    inherited: Mapping[str, SourcePoint] = field(default_factory=dict)
    """What the parents show of sources that the view does not read itself."""
    past: tuple[Past, ...] = ()
    began: datetime = field(default_factory=lambda: datetime.now(UTC))
    """When the run began: what its queries see of the clock."""
    parents: Mapping[TableName, TableName] = field(default_factory=dict)
    """The views that it reads, by their storage tables."""
    ran: list[StepRun] = field(default_factory=list)
    """What was run so far: also of a refresh that fails, this is known."""
    watch: StepWatch = unwatched
    rows: RowOptions = field(default_factory=RowOptions)
    """Limits for a row view."""

    def run(self) -> RefreshResult:
        """The refresh: windows, plan, run, commit; the public name last."""
        started = time.monotonic()
        position = self.position
        shown = self.tables.shown(self.view.name, self.session)
        storage = shown_storage(self.view.name, shown)
        choice = self._choose(shown, self._judged(keeps=True))
        reach("refresh.planned")
        done = self._carry_out(choice, position)
        reasons = (*choice.reasons, *done.reasons)
        if not self._is_shown(shown, done.outcome):
            reasons, shown = (*reasons, NOT_SHOWN), None
        if done.outcome is Outcome.FULL and not keeps_words(self.view, self.tables):
            shown = None  # nobody can tell whether it is still the one that was published
        if shown is None or done.outcome is Outcome.FULL:
            restore_properties(self.view, self.tables, self.session())
        checked = 0.0
        if storage != self.view.storage_name:
            checked = self._check_first_build()
        if storage != self.view.storage_name or shown is None:
            publish(self.tables, self.session(), self.view)
            reach("refresh.shown")
        wrote = done.committed is not None and done.outcome is not Outcome.NO_OP
        return RefreshResult(
            view=self.view.name,
            outcome=done.outcome,
            run_id=self.run_id,
            seconds=time.monotonic() - started,
            reasons=reasons,
            rows_in=done.rows_in,
            rows_out=_rows_out(done.committed) if done.changed is None else done.changed,
            frontier=done.frontier or position.frontier,
            version=done.committed.version if done.committed else position.version,
            row_version=done.committed.version
            if wrote and done.committed
            else position.row_version,
            check_seconds=checked,
            steps=done.steps,
            cost=cost_of(done.outcome, done.rows_in, time.monotonic() - started, self.past),
            functions=done.functions,
        )

    def _judged(self, *, keeps: bool) -> Position:
        """The position, unproven where rows of an older version are not what the text says."""
        position = self.position
        if position.frontier is None or check_of(self.view, self.tables.settings) is Check.NEVER:
            return position
        differs = differs_from_text(self.view, self.tables, self.session, keeps=keeps)
        return replace(position, unproven=differs) if differs else position

    def plan(self, moving: Mapping[TableName, str]) -> RefreshPreview:
        """The same, stopped where rows would be computed: what is to be read is counted.

        Args:
            moving: views that change first, by their storage tables: how is not known before.
        """
        view, shown = self.view, self.tables.shown(self.view.name, self.session)
        choice = self._choose(shown, self._judged(keeps=False))
        windows = self._planned_windows(choice, moving)
        outcome, reasons = choice.outcome, choice.reasons
        if outcome is Outcome.INCREMENTAL and all(item.is_nothing for item in windows):
            outcome = Outcome.NO_OP
        if moving and outcome is Outcome.NO_OP:
            names = ", ".join(sorted(moving.values()))
            outcome = Outcome.INCREMENTAL
            reasons = (Reason("parent-moves", f"{names} will change first"),)
        elif not self._is_shown(shown, outcome):
            reasons = (*reasons, NOT_SHOWN)
        used = dict(view.sources)
        bound = self._planned_steps(replace(choice, outcome=outcome), moving)
        steps = tuple((step.kind, step.name, step.sql) for step in bound)
        # A window of a view's storage table is told by the name of the view.
        behind = {name: own for name, own in self.parents.items() if name in used}
        numbers = None if view.rows is None or moving else self._row_numbers(choice)
        if numbers and outcome is Outcome.NO_OP and numbers.has_work:
            outcome = Outcome.INCREMENTAL
        return RefreshPreview(
            view.name,
            outcome,
            reasons,
            windows,
            view.plan.strategy,
            steps,
            names=behind,
            numbers=numbers,
        )

    def _row_numbers(self, choice: Choice) -> RowNumbers:
        """What a refresh of a row view would do: the same, stopped before any function is asked."""
        left = row_values(self.position.frontier)[PENDING]
        if choice.outcome is Outcome.NO_OP and not left:
            return RowNumbers()
        spark = self.session()
        follows = choice.outcome is Outcome.INCREMENTAL
        work = self._row_refresh(spark, self.position, self._sides(choice) if follows else {})
        with tune(spark, LARGE), dropped_at_the_end(spark):
            work.moves()
            return work.numbers()

    def _planned_steps(
        self, choice: Choice, moving: Mapping[TableName, str]
    ) -> tuple[StepText, ...]:
        """The steps that would run, bound to the changes as far as these are known."""
        plan = self.view.plan
        if self.view.rows is not None:
            return ()  # what is written rests on what moves, which is read first
        steps = bound_steps(plan)
        if choice.outcome is Outcome.FULL:
            steps = plan.full
        elif choice.outcome is Outcome.INCREMENTAL and not moving:
            stored = self._target(self.position).rows
            steps = bind(plan, delta_facts(plan, self._sides(choice), stored))
        return tuple(step_text(step, plan.dialect) for step in steps)

    def _planned_windows(
        self, choice: Choice, moving: Mapping[TableName, str]
    ) -> tuple[PlannedWindow, ...]:
        found = [PlannedWindow(name, None) for name in sorted(moving)]
        used = dict(self.view.sources)
        for name, window in choice.windows:
            if window.is_empty or name in moving:
                continue
            if choice.outcome is Outcome.INCREMENTAL:  # what will be read is counted, not guessed
                delta = self._delta(name, used[name], window)
                added, removed = delta.insertions, delta.rows - delta.insertions
                found.append(PlannedWindow(name, window, added, removed))
            else:
                stats = self.pins[name].source.window_stats(window)
                found.append(PlannedWindow(name, window, stats.rows_added, stats.rows_removed))
        return tuple(found)

    def _choose(self, shown: str | None, position: Position) -> Choice:
        """What is to be done, given what the public name and the storage table show."""
        refuse_taken(self.view, shown)
        if not may_replace(self.view, shown_storage(self.view.name, shown)):
            raise altered(self.view)
        return choose(
            self.view,
            position,
            self.pins,
            policy=self.policy,
            costs=Costs(self.past, self._net),
            replaces=replaced(self.view, shown, self._position_of, self._kept_of, self.pins),
        )

    def _check_first_build(self) -> float:
        """What it took to compare rows with the user's text before anybody sees them.

        A text without algebra was run itself: there is nothing to compare.
        """
        wanted = check_of(self.view, self.tables.settings)
        if wanted is Check.NEVER or isinstance(self.view.plan.definition, Verbatim):
            return 0.0
        started = time.monotonic()
        rows = [self._source_stats(str(name)).rows for name, _ in self.view.sources]
        small = (
            all(count is not None for count in rows)
            and sum(filter(None, rows)) <= thresholds.CHECKED_ROWS
        )
        sample = None if small or wanted is Check.ALWAYS else thresholds.CHECKED_SHARE
        check_first_build(self.view, self.tables, self.session(), sample)
        return time.monotonic() - started

    def _carry_out(self, choice: Choice, position: Position) -> _Done:
        if self.view.rows is not None:
            return self._rows(choice, position)
        match choice.outcome:
            case Outcome.NO_OP:
                return (
                    self._move_frontier(position) if choice.moves_frontier else _Done(Outcome.NO_OP)
                )
            case Outcome.INCREMENTAL:
                return self._incremental(choice, position)
        return self._full(position)

    def _rows(self, choice: Choice, position: Position) -> _Done:
        """The refresh of a row view: only what moves is looked at, where that can be told."""
        values = row_values(position.frontier)
        left = values[PENDING] or (self.rows.retry_errors and values[FAILED])
        if choice.outcome is Outcome.NO_OP and not left:
            return self._move_frontier(position) if choice.moves_frontier else _Done(Outcome.NO_OP)
        spark = self.session()
        follows = choice.outcome is Outcome.INCREMENTAL
        work = self._row_refresh(spark, position, self._sides(choice) if follows else {})
        small = follows and self._net(dict(choice.windows)) <= thresholds.DRIVER_ROWS
        with tune(spark, SMALL if small else LARGE), dropped_at_the_end(spark):
            moved, rows_in = work.moves()
            reach("refresh.deltas")
            if not moved and work.trusted:
                frontier = work.frontier({})
                storage = self.tables.storage(self.view.storage_name, spark)
                committed = storage.commit((), frontier, position)
                return _Done(Outcome.NO_OP, rows_in, committed, frontier)
            work.find_results()
            reach("refresh.computed")
            if position.version is None:
                make_storage(self.view, self.tables.storage(self.view.storage_name, spark))
                reach("refresh.created")
                made = self.tables.storage(self.view.storage_name, spark).position()
                work.position = made if made.frontier is None else position
            done = work.write(rows_in)
        outcome = Outcome.FULL if choice.outcome is Outcome.FULL else Outcome.INCREMENTAL
        if not done.changed and outcome is Outcome.INCREMENTAL:
            outcome = Outcome.NO_OP
        return _Done(
            outcome,
            done.rows_in,
            done.committed,
            done.frontier,
            done.changed,
            functions=done.functions,
        )

    def _row_refresh(
        self, spark: SparkSession, position: Position, sides: Mapping[TableName, SourceDelta]
    ) -> RowRefresh:
        def frontier(values: dict[str, str]) -> Frontier:
            made = self._frontier(Outcome.INCREMENTAL)
            return replace(made, values=tuple(sorted({**dict(made.values), **values}.items())))

        return RowRefresh(
            self.view,
            layout_of(self.view),
            self.run_id,
            self.tables,
            spark,
            self.stage,
            position,
            frontier,
            self.rows,
            self.tables.settings.home / "results" / str(self.view.name),
            sides,
        )

    def _move_frontier(self, position: Position) -> _Done:
        """The frontier alone follows, so that the versions it names need not be kept for ever."""
        frontier = self._frontier(Outcome.NO_OP)
        storage = self.tables.storage(self.view.storage_name, self.session())
        return _Done(Outcome.NO_OP, 0, storage.commit((), frontier, position), frontier)

    def _incremental(self, choice: Choice, position: Position) -> _Done:
        sides = self._sides(choice)
        deltas = {str(name): side.delta for name, side in sides.items() if side.delta}
        retracted = self._retracted(deltas)
        rows_in = sum(delta.rows for delta in deltas.values())
        reach("refresh.deltas")
        stored = self._target(position).rows
        execution = self._execution(sides, position)
        facts = delta_facts(self.view.plan, sides, stored)
        bound = bind(self.view.plan, facts, execution.trail)
        execution.on_driver = rows_in <= thresholds.DRIVER_ROWS
        with tune(execution.spark, SMALL if execution.on_driver else LARGE), closing(execution):
            writes = [write for write in execution.run(bound) if not _is_nothing(write)]
            reach("refresh.computed")
            outcome = Outcome.INCREMENTAL if writes else Outcome.NO_OP
            frontier = self._frontier(outcome)
            storage = self.tables.storage(self.view.storage_name, self.session())
            committed = storage.commit(writes, frontier, position)
        reach("refresh.committed")
        if writes and not _rows_out(committed) and not execution.changed:
            # Rows that only Spark saw were to be added and were none, if the table says so too.
            same = storage.position().row_version == position.row_version
            outcome = Outcome.NO_OP if same else outcome
        ran = tuple(execution.ran)
        return _Done(outcome, rows_in, committed, frontier, execution.changed, ran, retracted)

    def _retracted(self, deltas: Mapping[str, Delta]) -> tuple[Reason, ...]:
        """That rows were taken away from sources of a view that promised to only add, if so.

        Raises:
            NotIncrementalError: under `strict`.
        """
        if dict(self.view.definition.properties).get(STRATEGY) != APPEND:
            return ()
        gone = {name: delta.rows - delta.insertions for name, delta in sorted(deltas.items())}
        told = ", ".join(f"{count} rows of {name}" for name, count in gone.items() if count)
        if not told:
            return ()
        reason = Reason("rows-retracted", f"{told} were taken away; the view follows as any other")
        if self.policy is Policy.STRICT:
            raise not_incremental(self.view, (reason,))
        return (reason,)

    def _full(self, position: Position) -> _Done:
        """Overwrite everything; the first time the storage table is made."""
        frontier = self._frontier(Outcome.FULL)
        execution = self._execution()
        execution.moment = self.began if reads_clock(self.view.plan.reasons) else None
        execution.order = order_of(self.view, self._target(position).rows, self._source_stats)
        spark = self.session()
        storage = self.tables.storage(self.view.storage_name, spark)
        with tune(spark, FULL), closing(execution):
            writes = execution.run(self.view.plan.full)
            if position.version is None:
                make_storage(self.view, storage)
                reach("refresh.created")
                made = storage.position()
                # Somebody may have filled it since: then the commit finds that it has moved.
                position = made if made.frontier is None else position
            committed = storage.commit(writes, frontier, position)
        reach("refresh.committed")
        return _Done(Outcome.FULL, 0, committed, frontier, steps=tuple(execution.ran))

    def _source_stats(self, name: str) -> VersionStats:
        pins = {str(item): pin for item, pin in self.pins.items()}
        (used,) = (items for item, items in self.view.sources if str(item) == name)
        pin = pins[name]
        return pin.source.version_stats(pin.head.version, [column.id for column in used])

    def _is_shown(self, shown: str | None, outcome: Outcome) -> bool:
        """Whether the public name, and who reads by what the table keeps, see what was published.

        True also where another table was published: then the name is to move anyway. A small
        change need not pay for a look at what the table keeps.
        """
        storage = shown_storage(self.view.name, shown)
        if storage is None or storage != self.view.storage_name:
            return True
        looks = outcome is not Outcome.INCREMENTAL
        kept = (self._kept_of(storage) or {}).get(PUBLIC) if looks else None
        as_kept = kept in (None, kept_properties(self.view)[PUBLIC])
        return as_kept and is_as_published(self.view, self.tables, shown)

    def _position_of(self, storage: TableName) -> Position | None:
        return self.tables.position(storage, self.session)

    def _kept_of(self, storage: TableName) -> Mapping[str, str] | None:
        return self.tables.properties(storage, self.session)

    def _net(self, windows: Mapping[TableName, Window]) -> int:
        """Rows that changed, by the deltas themselves: they are kept for the refresh."""
        return sum(
            self._delta(name, used, windows[name]).changed
            for name, used in self.view.sources
            if name in windows
        )

    def _sides(self, choice: Choice) -> dict[TableName, SourceDelta]:
        windows = dict(choice.windows)
        sides: dict[TableName, SourceDelta] = {}
        for name, used in self.view.sources:
            pin, window = self.pins[name], windows[name]
            delta = None if window.is_empty else self._delta(name, used, window)
            ids = {column.name: column.id for column in used}
            sides[name] = SourceDelta(pin.source, ids, window.after, window.upto, delta)
        return sides

    def _delta(self, name: TableName, used: Sequence[Used], window: Window) -> Delta:
        needed = [column.id for column in used]
        return self.deltas.read(name, self.pins[name].source, window, needed)

    def _execution(
        self, sides: Mapping[TableName, SourceDelta] | None = None, position: Position | None = None
    ) -> Execution:
        given = sides or {
            name: SourceDelta(
                self.pins[name].source,
                {column.name: column.id for column in used},
                None,
                self.pins[name].head.version,
            )
            for name, used in self.view.sources
        }
        spark = self.session()
        named = {str(name): side for name, side in given.items()}
        stored = _AtPosition(self, position)
        settings = self.tables.settings.refresh
        return Execution(
            spark=spark,
            run_id=self.run_id,
            sides=named,
            stored=lambda: self._stored(position),
            target=stored.target,
            held=stored.held,
            stage=self.stage,
            small=SmallSteps(
                named,
                stored,
                lambda: _zone(spark),
                self.nearby,
                lambda: spark,
                None if settings.small_steps is SmallChoice.AUTO else 'small_steps = "spark"',
            ),
            nearby=self.nearby,
            rewrites=settings.small_steps is SmallChoice.AUTO and self._rewrites(spark),
            ran=self.ran,
            watch=self.watch,
        )

    def _rewrites(self, spark: SparkSession) -> bool:
        return self.tables.storage(self.view.storage_name, spark).commits_on_driver

    def _stored(self, position: Position | None) -> DataFrame:
        """The view's own rows at the version that the refresh was planned from."""
        if position is None or position.version is None:
            raise InternalError.broken("stored rows are read before there are any")
        source = self.tables.source(self.view.storage_name, self.session)
        ids = [column.id for column in source.schema_at(position.version).columns]
        return source.read_at(position.version, ids)

    def _held(self, position: Position | None) -> pa.Table | None:
        """All stored rows on the driver, as changes from nothing; None where only Spark reads."""
        if position is None or position.version is None:
            return None
        source = self.tables.source(self.view.storage_name, self.session)
        ids = [column.id for column in source.schema_at(position.version).columns]
        rows = source.rows_on_driver(position.version, ids)
        if rows is not None:
            return rows
        arrow = source.changes(Window(None, position.version), ids).arrow
        return None if arrow is None else repeated(arrow)

    def _stored_types(self, version: Version) -> Mapping[str, str]:
        source = self.tables.source(self.view.storage_name, self.session)
        return {column.name: column.type for column in source.schema_at(version).columns}

    def _target(self, position: Position | None) -> VersionStats:
        """What metadata says of the storage table at that version."""
        if position is None or position.version is None:
            return VersionStats(None, 0, 0, {})
        source = self.tables.source(self.view.storage_name, self.session)
        scope = self.view.plan.shape.scope or self.view.plan.shape.columns
        columns = source.schema_at(position.version).columns
        ids = [column.id for column in columns if column.name in scope]
        return source.version_stats(position.version, ids)

    def _frontier(self, outcome: Outcome) -> Frontier:
        used = dict(self.view.sources)
        own = {
            str(name): replace(point_of(pin), columns=tuple(item.column for item in used[name]))
            for name, pin in self.pins.items()
        }
        return Frontier(
            sources=tuple(sorted({**self.inherited, **own}.items())),
            fingerprint=self.view.fingerprint,
            run_id=self.run_id,
            engine_version=ENGINE_VERSION,
            state_layout=LAYOUT,
            values=(*self._clock(outcome), *self._row_values(), ("outcome", outcome.value)),
        )

    def _row_values(self) -> tuple[tuple[str, str], ...]:
        """What is known of the rows of a row view goes on, until a commit says something else."""
        if self.view.rows is None or self.position.frontier is None:
            return ()
        return tuple(item for item in self.position.frontier.values if item[0] in KEPT_VALUES)

    def _clock(self, outcome: Outcome) -> tuple[tuple[str, str], ...]:
        """What the clock showed, so that a check can compute the same rows."""
        read = outcome is Outcome.FULL and reads_clock(self.view.plan.reasons)
        return ((CLOCK, self.began.isoformat()),) if read else ()


def _zone(spark: SparkSession) -> str:
    """The zone of the session; none where TIMESTAMP means a time without one."""
    kind = spark.conf.get("spark.sql.timestampType", "TIMESTAMP_LTZ")
    return str(spark.conf.get(ZONE, "UTC")) if kind == "TIMESTAMP_LTZ" else ""


@dataclass(slots=True)
class _AtPosition:
    """The view's own rows at the version that a refresh is planned from, read once."""

    refresh: Refresh
    position: Position | None
    stats: VersionStats | None = None
    rows: pa.Table | None = None

    def target(self) -> VersionStats:
        if self.stats is None:
            self.stats = self.refresh._target(self.position)
        return self.stats

    def stored_types(self) -> Mapping[str, str]:
        if self.position is None or self.position.version is None:
            return {}
        return self.refresh._stored_types(self.position.version)

    def held(self) -> pa.Table | None:
        if self.rows is None:
            self.rows = self.refresh._held(self.position)
        return self.rows


@dataclass(frozen=True, slots=True)
class _Done:
    outcome: Outcome
    rows_in: int = 0
    committed: Committed | None = None
    frontier: Frontier | None = None
    changed: int | None = None
    steps: tuple[StepRun, ...] = ()
    reasons: tuple[Reason, ...] = ()
    functions: tuple[FunctionRun, ...] = ()


def _is_nothing(write: Write) -> bool:
    """True for a write that changes nothing: the frontier alone moves then.

    To write a table anew without rows is to empty it.
    """
    arrow = write.rows.arrow
    return not isinstance(write, Overwrite) and arrow is not None and arrow.num_rows == 0


def _rows_out(committed: Committed | None) -> int:
    if committed is None:
        return 0
    return sum(
        count or 0
        for count in (committed.rows_inserted, committed.rows_updated, committed.rows_deleted)
    )
