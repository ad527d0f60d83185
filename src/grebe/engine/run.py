"""A run: some views refreshed together, on one pin per source."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import count
from typing import TYPE_CHECKING

from grebe.compiler.algebra.join_keys import join_keys
from grebe.engine.choice import not_incremental
from grebe.engine.compile_view import fits_parents, fits_sources
from grebe.engine.compiled_view import CompiledView
from grebe.engine.kept_rows import KeptRows
from grebe.engine.lease import SECONDS, Leases, owner_of
from grebe.engine.pins import NOWHERE, Pins, parent_pin, pin_sources, point_of
from grebe.engine.preview import RefreshPreview
from grebe.engine.public_name import shown_storage
from grebe.engine.refresh import Refresh, RefreshResult
from grebe.engine.result import StepRun, StepWatch, ended
from grebe.engine.rows.row_options import RowOptions
from grebe.engine.soundness import UNREADABLE, altered
from grebe.engine.source_deltas import Deltas, Stage
from grebe.engine.standing import Pinned
from grebe.engine.tables import Tables
from grebe.engine.upkeep import keep_up
from grebe.errors import (
    ConflictError,
    GrebeError,
    InternalError,
    LeaseHeldError,
    UnknownOutcomeError,
)
from grebe.events import RunStarted, SourceSeen, StepEnded, StepStarted, Tell, unheard
from grebe.formats.base import STAGED, Head
from grebe.formats.failpoints import reach
from grebe.formats.storage_errors import disk_trouble, failed
from grebe.model import (
    STREAM,
    Outcome,
    Policy,
    Position,
    Reason,
    RunId,
    SourcePoint,
    TableName,
    Version,
)
from grebe.registry.records import SourceRecord
from grebe.spark.pool import Pool
from grebe.sql_text import made
from grebe.view_graph import levels, with_parents

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from grebe.registry import Registry

PLACES = ("run.leased", "run.pinned", "run.begun", "run.staged", "run.recorded", "run.cleaned")
"""The places between the steps of a run where tests can interfere."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Options:
    """How a run is to be done."""

    policy: Policy | None = None
    """Instead of each view's own."""
    jobs: int = 1
    parents: bool | None = None
    """Whether parents are refreshed too; None: when they cannot be read together as they are."""
    trigger: str = "manual"
    lease_seconds: float = SECONDS
    skips_held: bool = False
    """Views that somebody else refreshes are left out in silence, and so is what reads them."""
    rows: RowOptions = field(default_factory=RowOptions)
    """Limits for row views."""


@dataclass(frozen=True, slots=True)
class _Work:
    pins: Pins
    deltas: Deltas
    nearby: KeptRows
    leases: Leases
    storages: Mapping[str, TableName]
    """The storage tables that the positions of the pins are those of."""
    lend: Callable[[], AbstractContextManager[Callable[[], SparkSession]]]
    """Gives a session for one view."""
    act: Callable[[Refresh], RefreshResult]
    """What is done with a view: refreshed, or only planned."""

    def position(
        self, view: CompiledView, tables: Tables, spark: Callable[[], SparkSession]
    ) -> Position:
        """Where a view stood when the sources were pinned; of one that has another table, now."""
        if self.storages.get(str(view.name)) == view.storage_name:
            return self.pins.positions[str(view.name)]
        return tables.position(view.storage_name, spark) or NOWHERE


@dataclass(slots=True)
class Run:
    """Refreshes views in the order of their graph; every view shows the same source versions."""

    tables: Tables
    spark: Callable[[], SparkSession]
    """The session in use, started at first use."""
    pool: Pool
    """Sessions for the views, one at a time for each."""
    views: dict[str, CompiledView]
    around: Mapping[str, CompiledView]
    """All views that are known, the parents of these among them."""
    options: Options = field(default_factory=lambda: Options())
    registry: Registry | None = None
    recompile: Callable[[CompiledView], CompiledView] | None = None
    """Compiles a view again, over its sources as they are."""
    give_up: Callable[[CompiledView], CompiledView] | None = None
    """The same view in another storage table, where its own is broken."""
    stay: Callable[[CompiledView], object] | None = None
    """Known again in the table that it had: the other one could not be filled."""
    run_id: RunId = field(default_factory=lambda: RunId(uuid.uuid4().hex[:12]))
    began: datetime = field(default_factory=lambda: datetime.now(UTC))
    results: dict[str, RefreshResult] = field(default_factory=dict)
    staged: list[TableName] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=count)
    """Of what is staged: views that run side by side must not stage under one name."""
    previews: dict[str, RefreshPreview] = field(default_factory=dict)
    """What was planned."""
    tell: Tell = unheard
    """Lets listeners hear what happens."""
    ran: dict[str, list[StepRun]] = field(default_factory=dict)
    """What each view ran so far."""

    def refresh(self) -> list[RefreshResult]:
        """The results, parents before children."""
        leases = self._leases()
        try:
            work = self._prepare(leases, self._stage, self.pool.lend, Refresh.run)
            for level in levels({name: view.parents for name, view in self.views.items()}):
                with ThreadPoolExecutor(max_workers=max(1, self.options.jobs)) as pool:
                    done = pool.map(lambda name: self._one(name, work), level)
                    self.results.update(zip(level, done, strict=True))
        finally:
            try:
                self._clean()
            finally:  # whoever interrupts: nobody must renew the leases of a run that is over
                leases.close()
        self._keep_up()
        return list(self.results.values())

    def plan(self) -> list[RefreshPreview]:
        """What `refresh` would do, in its order: the same run, of which nothing is computed or written.

        Changes are read to be counted. They are staged under names of one session, in which all
        views are looked at.
        """
        with self.pool.lend() as session:
            shown: list[str] = []

            def show(rows: DataFrame) -> str:
                shown.append(made(f"planned_{len(shown)}"))
                rows.createOrReplaceTempView(shown[-1])
                return shown[-1]

            try:
                leases = self._leases(only_looks=True)
                work = self._prepare(leases, show, lambda: nullcontext(session), self._foresee)
                for level in levels({name: view.parents for name, view in self.views.items()}):
                    for name in level:
                        self.results[name] = self._one(name, work)
            finally:
                for name in shown:
                    session().catalog.dropTempView(name)
        return [self._preview(name, result) for name, result in self.results.items()]

    def _foresee(self, refresh: Refresh) -> RefreshResult:
        """Plan one view, and say that it stands where it stood."""
        view, position = refresh.view, refresh.position
        moving = {
            self._known(name).storage_name: name
            for name in view.parents
            if name in self.results and self.results[name].outcome is not Outcome.NO_OP
        }
        preview = refresh.plan(moving)
        self.previews[str(view.name)] = preview
        return RefreshResult(
            view.name,
            preview.outcome,
            refresh.run_id,
            0.0,
            preview.reasons,
            frontier=position.frontier,
            version=position.version,
            row_version=position.row_version,
        )

    def _preview(self, name: str, result: RefreshResult) -> RefreshPreview:
        """What was planned; of a view that fails, why."""
        if result.outcome is Outcome.FAILED or name not in self.previews:
            error = result.error if isinstance(result.error, GrebeError) else None
            return RefreshPreview(result.view, result.outcome, result.reasons, error=error)
        return replace(self.previews[name], reasons=result.reasons)

    def _leases(self, *, only_looks: bool = False) -> Leases:
        return Leases(
            self.registry,
            owner_of(self.run_id),
            self.options.trigger,
            self.options.lease_seconds,
            only_looks,
        )

    def _prepare(
        self,
        leases: Leases,
        stage: Stage,
        lend: Callable[[], AbstractContextManager[Callable[[], SparkSession]]],
        act: Callable[[Refresh], RefreshResult],
    ) -> _Work:
        """Everything that the views of the run share."""
        pins = self._pin_all(leases)
        self._see(pins, leases)
        reach("run.pinned")
        deltas = Deltas(self._columns(), stage)
        storages = {name: view.storage_name for name, view in self.views.items()}
        return _Work(pins, deltas, self._nearby(deltas), leases, storages, lend, act)

    def _see(self, pins: Pins, leases: Leases) -> None:
        """Write down, and tell, which version of each source the run reads."""
        if leases.only_looks:
            return
        heads = [(name, pin.head) for name, pin in sorted(pins.pins.items())]
        leases.see(
            [
                SourceRecord(str(name), head.identity, head.version, head.committed_at)
                for name, head in heads
            ]
        )
        for name, head in heads:
            stamp = datetime.now(UTC)
            self.tell(SourceSeen(name, head.identity, head.version, head.committed_at, stamp))

    def _begin(self, view: CompiledView, leases: Leases) -> None:
        leases.begin(str(view.name), self._id(view))
        if not leases.only_looks:
            self.tell(
                RunStarted(
                    self._id(view),
                    self.run_id,
                    view.name,
                    self.options.trigger,
                    self._policy(view),
                    datetime.now(UTC),
                )
            )

    def _finish(self, result: RefreshResult, leases: Leases) -> None:
        leases.finish(result)
        if not leases.only_looks:
            self.tell(ended(result))

    def _left_out(self, result: RefreshResult, leases: Leases) -> RefreshResult:
        """The same, written down unless somebody else refreshes the view and that is no failure."""
        held = isinstance(result.error, LeaseHeldError) or self._waits_for_held(result)
        if held and self.options.skips_held:
            return result
        return self._unbegun(result, leases)

    def _waits_for_held(self, result: RefreshResult) -> bool:
        """Whether what a view reads is refreshed by somebody else, or waits for such a view."""
        above = [self.results.get(name) for name in self.views[str(result.view)].parents]
        return any(
            item is not None
            and (isinstance(item.error, LeaseHeldError) or self._waits_for_held(item))
            for item in above
        )

    def _unbegun(self, result: RefreshResult, leases: Leases) -> RefreshResult:
        """The same, written down as a run of its own: it failed before it could do anything."""
        self._begin(self.views[str(result.view)], leases)
        self._finish(result, leases)
        return result

    def _watch(self, view: CompiledView) -> StepWatch:
        """Tells of the steps of one view."""
        run_id, name = self._id(view), view.name

        def watch(words: str, place: tuple[int, int] | None, ran: StepRun | None) -> None:
            if place is not None:
                self.tell(StepStarted(run_id, name, words, *place, datetime.now(UTC)))
            if ran is not None:
                self.tell(StepEnded(run_id, name, words, ran.seconds, ran.rows))

        return watch

    def _pin_all(self, leases: Leases) -> Pins:
        """Where everything stands; parents that cannot be read as they are join the run."""
        self._lease(self.views, leases)
        pins = self._pin()
        if pins.conflict and self.options.parents is None:
            parents = {name: view.parents for name, view in self.around.items()}
            more = with_parents(self.views, parents) - set(self.views)
            self.views = {name: self.around[name] for name in (*more, *self.views)}
            self._lease(more, leases)
            pins = self._pin()
        return pins

    def _lease(self, names: Iterable[str], leases: Leases) -> None:
        wanted, left = set(names), set[str]()
        for level in levels({name: view.parents for name, view in self.views.items()}):
            # Who refreshes a view refreshes what reads it, too: their leases are left to them.
            left |= {name for name in level if not left.isdisjoint(self.views[name].parents)}
            free = [name for name in level if name in wanted - left]
            for name in leases.acquire(free):
                error = LeaseHeldError(
                    f'view "{name}" is being refreshed by somebody else', hint="refresh again later"
                )
                self.results[name] = self._failed(self.views[name], error)
                left.add(name)
        reach("run.leased")

    def _pin(self) -> Pins:
        """The pins, after definitions that no longer fit their sources were compiled again."""
        self._fit({})
        pins = pin_sources(self.tables, self.spark, self.views, self.around)
        if self._fit(pins.pins):
            pins = pin_sources(self.tables, self.spark, self.views, self.around)
        return pins

    def _fit(self, pins: Mapping[TableName, Pinned]) -> bool:
        """True when a view was compiled again, parents before children."""
        again = False
        for level in levels({name: view.parents for name, view in self.views.items()}):
            for name in level:
                view, known = self.views[name], {**self.around, **self.views}
                if not (fits_parents(view, known) and fits_sources(view, pins)):
                    again |= self._compile_again(name)
        return again

    def _compile_again(self, name: str) -> bool:
        try:
            if self.recompile:
                self.views[name] = self.recompile(self.views[name])
        except GrebeError as error:
            self.results[name] = self._failed(self.views[name], error)
            return False
        except Exception as error:  # as in `_one`
            log.exception('view "%s" was not compiled again', name)
            view = self.views[name]
            self.results[name] = self._failed(view, _unforeseen(view, self._id(view), error))
            return False
        return True

    def _one(self, name: str, work: _Work) -> RefreshResult:
        if name in self.results:
            return self._left_out(self.results[name], work.leases)
        if not fits_parents(self.views[name], {**self.around, **self.views}):
            self._compile_again(name)  # a parent has another storage table since this run began
            if name in self.results:
                return self._unbegun(self.results[name], work.leases)
        view = self.views[name]
        failed = [parent for parent in view.parents if self._has_failed(parent)]
        if failed:
            reason = Reason("upstream-failed", f"not refreshed, because {', '.join(failed)} failed")
            result = RefreshResult(view.name, Outcome.FAILED, self._id(view), 0.0, (reason,))
            return self._left_out(result, work.leases)
        self._begin(view, work.leases)
        begun = time.monotonic()
        reach("run.begun")
        try:
            with work.lend() as session:
                result = self._refresh_soundly(view, work, session)
        except GrebeError as error:
            result = self._failed(view, error)
        except Exception as error:  # what nobody foresaw stops one view, not its siblings
            log.exception('view "%s" was not refreshed', name)
            result = self._failed(view, _unforeseen(view, self._id(view), error))
        if result.outcome is Outcome.FAILED:
            took, ran = time.monotonic() - begun, tuple(self.ran.get(name, ()))
            result = replace(result, seconds=took, steps=ran)
        self._finish(result, work.leases)
        reach("run.recorded")
        work.leases.release(name)
        return result

    def _refresh_soundly(
        self, view: CompiledView, work: _Work, session: Callable[[], SparkSession]
    ) -> RefreshResult:
        """The refresh of a view; in another storage table where its own cannot be used any more."""
        unread = work.pins.unread.get(str(view.name))
        full = self.options.policy is Policy.FULL
        position, because = NOWHERE, None
        try:
            if unread is None:
                position = work.position(view, self.tables, session)
                because = altered(view, position, self.tables, session)
        except GrebeError as error:
            unread = error
        if unread is not None:
            if not full or self.give_up is None:
                raise _with_way_out(view, unread)
            return self._refresh_elsewhere(
                view, work, session, Reason(UNREADABLE, unread.explain())
            )
        if because is not None and self.give_up is not None:
            if self._policy(view) is Policy.STRICT:
                raise not_incremental(view, (because,))
            return self._refresh_elsewhere(view, work, session, because)
        try:
            return self._refresh_one(view, work, session, position)
        except (ConflictError, LeaseHeldError, UnknownOutcomeError):
            raise
        except GrebeError as error:
            shown = shown_storage(view.name, self.tables.shown(view.name, session))
            was_there = position.version is not None or shown == view.storage_name
            if not was_there or self.give_up is None:
                raise
            if not full:
                raise (error if error.hint else _with_way_out(view, error)) from error.__cause__
            # Whoever asks for all of it gets it, where it is the table that does not let us.
            because = Reason(UNREADABLE, error.explain())
            try:
                return self._refresh_elsewhere(view, work, session, because)
            except GrebeError:  # it is not the table
                raise error from None

    def _refresh_elsewhere(
        self, view: CompiledView, work: _Work, session: Callable[[], SparkSession], because: Reason
    ) -> RefreshResult:
        """The refresh in the next table that can be used."""
        if self.give_up is None:
            raise InternalError.broken("nobody makes another storage table")
        other = self.give_up(view)
        self.views[str(view.name)] = other
        try:
            position = self.tables.position(other.storage_name, session) or NOWHERE
            result = self._refresh_one(other, work, session, position)
        except Exception:
            self._stay(view, other, session)
            raise
        told = tuple(reason for reason in result.reasons if reason.code != because.code)
        return replace(result, reasons=(because, *told))

    def _stay(
        self, view: CompiledView, other: CompiledView, session: Callable[[], SparkSession]
    ) -> None:
        """Know the view in its former table, which is what readers see, unless they see the other one."""
        with suppress(Exception):  # who cannot tell has not published
            shown = shown_storage(view.name, self.tables.shown(view.name, session))
            if shown == other.storage_name:
                return
        self.views[str(view.name)] = view
        if self.stay is not None:
            self.stay(view)

    def _policy(self, view: CompiledView) -> Policy:
        return self.options.policy or view.definition.policy

    def _refresh_one(
        self,
        view: CompiledView,
        work: _Work,
        session: Callable[[], SparkSession],
        position: Position,
    ) -> RefreshResult:
        for name, _ in view.sources:
            if name in work.pins.missing:
                raise work.pins.missing[name]
        if work.pins.conflict and any(parent not in self.views for parent in view.parents):
            raise ConflictError(
                f'the parents of view "{view.name}" cannot be read together',
                detail=work.pins.conflict,
                hint="refresh the parents with it",
                code="frontier-conflict",
            )
        refresh = Refresh(
            parents={
                self._known(name).storage_name: self._known(name).name for name in view.parents
            },
            ran=self.ran.setdefault(str(view.name), []),
            watch=self._watch(view),
            view=view,
            run_id=self._id(view),
            tables=self.tables,
            session=lambda: set_up(session(), view),
            pins=self._pins_of(view, work.pins, session),
            deltas=work.deltas,
            nearby=work.nearby,
            stage=self._stage,
            policy=self._policy(view),
            position=position,
            inherited=self._inherited(view, work.pins),
            past=work.leases.past(str(view.name)),
            began=self.began,
            rows=self.options.rows,
        )
        return work.act(refresh)

    def _id(self, view: CompiledView) -> RunId:
        return RunId(f"{self.run_id}_{sorted(self.views).index(str(view.name))}")

    def _failed(self, view: CompiledView, error: GrebeError) -> RefreshResult:
        reason = Reason(error.code, error.explain())
        return RefreshResult(view.name, Outcome.FAILED, self._id(view), 0.0, (reason,), error=error)

    def _has_failed(self, name: str) -> bool:
        result = self.results.get(name)
        return result is not None and result.outcome is Outcome.FAILED

    def _pins_of(
        self, view: CompiledView, pins: Pins, session: Callable[[], SparkSession]
    ) -> dict[TableName, Pinned]:
        """The pins of a view's sources, readable in its session; parents as the run left them."""
        parents = {self._known(name).storage_name: name for name in view.parents}
        found: dict[TableName, Pinned] = {}
        for name, _ in view.sources:
            source = self.tables.source(name, session)
            if name in parents:
                parent = parents[name]
                position, known = self._left(parent, pins), self._known(parent)
                if position.version is None:  # planned: the run would make it before
                    found[name] = Pinned(source, Head("", Version(""), known.stored, None))
                else:
                    found[name] = parent_pin(source, position, known.fingerprint)
            else:
                found[name] = Pinned(source, pins.pins[name].head)
        return found

    def _known(self, name: str) -> CompiledView:
        return self.views.get(name) or self.around[name]

    def _left(self, name: str, pins: Pins) -> Position:
        """Where a view stands: after its refresh in this run, or as it was found."""
        result = self.results.get(name)
        if result is None:
            return pins.positions[name]
        return Position(result.frontier, result.version, result.row_version)

    def _inherited(self, view: CompiledView, pins: Pins) -> dict[str, SourcePoint]:
        """What the parents show of further sources, as this run reads them where it does."""
        found: dict[str, SourcePoint] = {}
        for parent in view.parents:
            frontier = self._left(parent, pins).frontier
            found.update(frontier.by_source if frontier else {})
        now = {**pins.shown, **{str(name): point_of(pin) for name, pin in pins.pins.items()}}
        return {
            name: now.get(name, point)
            for name, point in found.items()
            if not name.startswith(STREAM)
        }

    def _columns(self) -> dict[TableName, tuple[int, ...]]:
        ids: dict[TableName, dict[int, None]] = {}
        for view in self.views.values():
            for name, used in view.sources:
                ids.setdefault(name, {}).update(dict.fromkeys(column.id for column in used))
        return {name: tuple(found) for name, found in ids.items()}

    def _nearby(self, deltas: Deltas) -> KeptRows:
        views = self.views.values()
        return KeptRows(
            deltas.columns,
            [frozenset(view.plan.tables) for view in views],
            join_keys(view.plan.definition for view in views),
        )

    def _stage(self, rows: DataFrame) -> str:
        """Rows where every session of the run can read them; removed when the run ends."""
        beside = next(iter(self.views.values())).name
        name = TableName(
            beside.catalog, beside.schema, f"{STAGED}{self.run_id}_{next(self.numbers)}"
        )
        self.staged.append(name)
        text = self.tables.stage(name, rows)
        reach("run.staged")
        return text

    def _keep_up(self) -> None:
        """TableStyle after the files of what was written, now that everything is published."""
        for name, result in self.results.items():
            if result.outcome is Outcome.INCREMENTAL:
                with self.pool.lend() as session:
                    keep_up(self.views[name], self.tables, session)

    def _clean(self) -> None:
        if self.staged:
            spark = self.spark()
            for name in self.staged:
                try:
                    self.tables.unstage(name, spark)
                except Exception:  # recovery removes it later
                    log.warning('staged table "%s" stays', name, exc_info=True)
        reach("run.cleaned")


def _with_way_out(view: CompiledView, error: GrebeError) -> GrebeError:
    """The error of a storage table that nobody can read, with what leads out of it."""
    error.hint = f"grebe refresh {view.name} --full-refresh, which puts the rows into another table"
    return error


def _unforeseen(view: CompiledView, run_id: RunId, error: Exception) -> GrebeError:
    if disk_trouble(error):
        told = failed(view.storage_name, run_id, "write", error)
        told.__cause__ = error
        return told
    return InternalError.unforeseen(error)


def set_up(spark: SparkSession, view: CompiledView) -> SparkSession:
    """Give a session the settings that the view was defined under."""
    for key, value in view.definition.settings:
        spark.conf.set(key, value)
    return spark
