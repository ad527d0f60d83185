"""A project: a folder with grebe.toml and views, and everything that can be done with them."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grebe.api import reading
from grebe.api.adoption import Adoption, adopt
from grebe.api.dag import Dag
from grebe.api.explained import Explained, Readiness, readiness
from grebe.api.results import Results
from grebe.api.view import View
from grebe.compiler.reasons import ReasonCode
from grebe.config import Settings, load
from grebe.engine.extras import require_extras
from grebe.engine.place import refuse_moved, settle_in
from grebe.engine.result import RefreshResult
from grebe.engine.tables import Tables
from grebe.engine.view_graph import levels
from grebe.errors import GrebeError, UnknownTableError, did_you_mean
from grebe.model import Outcome, Policy, RunId, State, TableName
from grebe.project import lifecycle
from grebe.project.dead_runs import settle, told
from grebe.project.definitions import Definition, all_written, columns_of_views
from grebe.project.history import Runs
from grebe.project.lifecycle import GivenDefinition
from grebe.project.lookup import Lookup
from grebe.project.old_versions import expire_old
from grebe.project.planning import Plans, planned, standing_still
from grebe.project.recovery import Recovered, recover
from grebe.project.retention import Retention, Vacuumed, retention
from grebe.project.seeds import plant
from grebe.project.selection import Selection, exact_name, select
from grebe.project.standing import Heads, Standing, refreshed_at, replaced_parents, standings
from grebe.project.status import Status, Statuses
from grebe.project.steps_ran import StepsRan, steps_ran
from grebe.registry.records import RunRecord, ViewRecord
from grebe.stored_properties import KEYS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from grebe.engine.engine import Engine
    from grebe.engine.verify import Report
    from grebe.project.compile_views import Builder
    from grebe.registry import Registry

Say = Callable[[str], None]


class Project:
    """The views of one folder. Spark starts when something has to be compiled, read or written."""

    def __init__(
        self, settings: Settings, spark: SparkSession | None = None, say: Say | None = None
    ) -> None:
        refuse_moved(settings)
        self.settings = settings
        self.say: Say = say or (lambda _: None)
        self._given = spark
        self._closing = ExitStack()

    @classmethod
    def open(
        cls, folder: str | Path = ".", *, spark: SparkSession | None = None, say: Say | None = None
    ) -> Project:
        """The project in a folder: its grebe.toml, or an embedded default.

        Args:
            folder: the project's folder, or the path of its TOML file.
            spark: a session of yours to work beside, classic or Connect.
            say: is told what is happening now.
        """
        return cls(load(folder), spark, say)

    @classmethod
    def adopt(
        cls,
        folder: str | Path = ".",
        *,
        fresh: bool = False,
        spark: SparkSession | None = None,
        say: Say | None = None,
    ) -> Adoption:
        """Make a copied or moved folder a project of the place where it lies.

        What its tables name elsewhere is written anew to name their files here; the folder that it was
        copied from is neither read nor written. Doing it twice does nothing more.

        Args:
            folder: the project's folder, or the path of its TOML file.
            fresh: take the rows of all views away, so that the next refresh builds them anew.
            spark: a session of yours to work beside, for `fresh`.
            say: is told what is happening now.

        Raises:
            ConfigError: grebe.toml names the former place, or files that belong to the original.
            LeaseHeldError: a run that began before the folder was moved goes on.
        """
        return adopt(load(folder), lambda: cls.open(folder, spark=spark, say=say), fresh=fresh)

    def close(self) -> None:
        """Give the registry's connections back; Spark goes on, it may be somebody else's too."""
        self._closing.close()

    def __enter__(self) -> Project:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f'<project "{self.settings.folder}">'

    # --- what it stands on ----------------------------------------------------------------------

    @property
    def spark(self) -> SparkSession:
        """The session in use, started at first use."""
        return self.engine.spark

    @cached_property
    def tables(self) -> Tables:
        """The tables of the configured catalogs."""
        return Tables(self.settings)

    @cached_property
    def engine(self) -> Engine:
        """What compiles and runs."""
        from grebe.engine.engine import Engine

        require_extras(self.settings)
        engine = Engine(self.settings, self._given, self.registry)
        if self._given is None:
            self.say("starting Spark")
        return engine

    @cached_property
    def registry(self) -> Registry:
        """The journal of views, runs and leases."""
        from grebe.registry import Registry

        if not self.has_registry():
            require_extras(self.settings)  # before one is made
        opened = Registry.open(self.settings.registry_url)
        self._closing.callback(opened.close)
        settle_in(self.settings)
        return opened

    @cached_property
    def builder(self) -> Builder:
        """What makes views from texts."""
        from grebe.project.compile_views import Builder

        return Builder(self.engine, self.registry, self.say)

    def look(self) -> Heads:
        """One look at the tables as they are now."""
        return Heads(self.tables, lambda: self.spark)

    # --- views ----------------------------------------------------------------------------------

    def written(self) -> dict[str, Definition]:
        """Every view as it is written now, by full name."""
        return all_written(self.settings, self._records(), lambda: self.spark, self._compiled)

    def _compiled(self, view: Definition) -> dict[str, str] | None:
        """The columns of a view as the engine compiled this very text of it, if it did."""
        engine = self.__dict__.get("engine")  # asking for it would start Spark
        made = engine.views.get(view.key) if engine else None
        if made is None or dict(made.definition.properties).get(KEYS["definition"]) != view.text:
            return None
        return dict(made.columns)

    def _records(self) -> list[ViewRecord]:
        """What the registry knows; a project that never ran has none, and looking makes none."""
        return self.registry.views() if self.has_registry() else []

    def has_registry(self) -> bool:
        """False for a project that never ran: looking at it makes no registry."""
        url = self.settings.registry_url
        return not url.startswith("sqlite:///") or Path(url.removeprefix("sqlite:///")).exists()

    def columns(self) -> Lookup:
        """The columns of tables and views, for definitions that name none."""
        return Lookup(
            self.settings, columns_of_views(self.written(), self._compiled), lambda: self.spark
        )

    def views(self, selection: Selection = None) -> list[View]:
        """The views of the project, by name."""
        names = self._selected(self.written(), selection)
        return [View(self, written.name) for written in names.values()]

    def view(self, name: str) -> View:
        """The view of that name.

        Raises:
            UnknownTableError: there is none; the hint names the closest.
        """
        return View(self, self._named(name).name)

    __getitem__ = view

    def _named(self, name: str | TableName) -> Definition:
        views = self.written()
        defaults = (self.settings.defaults.catalog, self.settings.defaults.schema)
        full = exact_name(str(name), views, None if isinstance(name, TableName) else defaults)
        full = full or str(name if isinstance(name, TableName) else self.settings.resolve(name))
        if full not in views:
            raise UnknownTableError(
                f'view "{full}" does not exist',
                hint=did_you_mean(full, list(views)) or "see `grebe status`",
                code="unknown-view",
            )
        return views[full]

    def _selected(
        self, views: Mapping[str, Definition], selection: Selection
    ) -> dict[str, Definition]:
        defaults = self.settings.defaults
        names = select(
            selection,
            {name: view.parents_among(views) for name, view in views.items()},
            {name: () if view.error else view.tags for name, view in views.items()},
            (defaults.catalog, defaults.schema),
        )
        return {name: view for name, view in views.items() if name in names}

    def create_view(  # noqa: PLR0913  every option of a view, by name
        self,
        name: str | None,
        definition: GivenDefinition,
        *,
        policy: Policy | str | None = None,
        lag: str | None = None,
        schedule: str | None = None,
        build: bool = True,
        replace: bool = False,
    ) -> View:
        """A view from SQL, from a file, or from a declarative definition; filled unless told not to.

        Args:
            name: its name; may be left out when the definition says it.
            definition: a SELECT, a CREATE MATERIALIZED VIEW, the path of a file with one, or a
                mapping with `$from`.
            policy: what a refresh may do: auto, incremental, strict or full.
            lag: how old its data may be, such as "10 minutes".
            schedule: EVERY 1 HOUR, or CRON '0 2 * * *'.
            build: fill it now.
            replace: put it in the place of a view of that name.

        With `IF NOT EXISTS` in the definition a view of that name is left as it is, and returned.

        Raises:
            DefinitionError: the definition means nothing, or the name is taken.
        """
        given = lifecycle.Given(name, definition, policy, lag, schedule)
        there = lifecycle.kept_instead(self, given)
        if there is not None:
            return View(self, there)
        written = lifecycle.new_view(self, given, replaces=replace)
        before = self.written()
        views = {**before, written.key: written}
        levels({key: item.parents_among(views) for key, item in views.items()})
        _, failed = self.builder.added(views, written.parents_among(views))
        if failed:
            raise next(iter(failed.values()))
        self.builder.add(written)
        view = View(self, written.name)
        if build:
            try:
                view.refresh()
            except GrebeError as error:
                # What may go through the next time, or is somebody else's by now, stays.
                if written.key not in before and not getattr(error, "retryable", False):
                    lifecycle.undo(self, written.name)
                raise
        return view

    def define_view(self, definition: Mapping[str, Any], *, build: bool = False) -> View:
        """A view from a declarative definition; its name is its `$type`."""
        return self.create_view(None, definition, build=build)

    def materialized_view(
        self,
        function: Callable[[], object] | None = None,
        *,
        name: str | None = None,
        refresh_policy: Policy | str | None = None,
        lag: str | None = None,
        schedule: str | None = None,
    ) -> Any:  # noqa: ANN401  a decorator with or without arguments
        """Decorates a function that returns the view's SQL; its name is the view's.

        Raises:
            DefinitionError: the function gives something else, e.g. a DataFrame.
        """

        def define(made_by: Callable[[], object]) -> View:
            text = lifecycle.text_from(made_by)
            return self.create_view(
                name or made_by.__name__,
                text,
                policy=refresh_policy,
                lag=lag,
                schedule=schedule,
                build=False,
                replace=True,
            )

        return define if function is None else define(function)

    # --- looking --------------------------------------------------------------------------------

    def status(self, selection: Selection = None) -> Statuses:
        """Where the chosen views stand; needs no Spark where the catalogs can be read without."""
        views = self.written()
        chosen = self._selected(views, selection)
        look = self.look()
        stands = standings(views, look)
        latest, landed = self._latest(), self._latest(landed=True)
        return Statuses(
            self._status(
                view,
                stands[name],
                latest.get(name),
                refreshed_at(view, stands[name], landed.get(name), look),
            )
            for name, view in chosen.items()
        )

    def _latest(self, *, landed: bool = False) -> dict[str, RunRecord]:
        return self.registry.latest(landed=landed) if self.has_registry() else {}

    def _status(
        self, view: Definition, stand: Standing, last: RunRecord | None, refreshed: datetime | None
    ) -> Status:
        broken = view.error is not None
        schedule = None if broken else view.schedule
        return Status(
            name=view.name,
            state=stand.state,
            policy=Policy.AUTO if broken else view.policy,
            lag=None if broken else view.lag,
            schedule=schedule,
            standing=stand,
            last=last,
            data_time=stand.data_time,
            next_time=next_time(schedule, last),
            file=view.file,
            error=stand.error,
            last_refresh=refreshed,
        )

    def history(self, selection: Selection = None, *, limit: int | None = 50) -> Runs:
        """Runs of the chosen views, newest first."""
        if not self.has_registry():
            return Runs()
        return told(self._runs(selection, limit), self.registry)

    def _runs(self, selection: Selection, limit: int | None) -> list[RunRecord]:
        if not selection:
            return self.registry.runs(limit=limit)
        chosen = self._selected(self.written(), selection)
        if len(chosen) == 1:
            return self.registry.runs(next(iter(chosen)), limit)
        return [run for run in self.registry.runs(limit=None) if run.view in chosen][:limit]

    def dag(self, selection: Selection = None) -> Dag:
        """The graph of the chosen views; needs no Spark.

        Raises:
            CycleError: views read each other in a circle.
        """
        views = self.written()
        chosen = self._selected(views, selection)
        parents = {name: view.parents_among(views) for name, view in chosen.items()}
        levels({name: view.parents_among(views) for name, view in views.items()})
        sources = {
            name: [table for table in view.tables if table not in views]
            for name, view in chosen.items()
            if view.error is None
        }
        stands = standings(views, self.look())
        inside = {name: [p for p in above if p in chosen] for name, above in parents.items()}
        return Dag(inside, sources, {name: str(stands[name].state) for name in chosen})

    def explain(self, what: str | Path) -> Explained:
        """Whether and how a view is maintained incrementally, and why.

        Args:
            what: a view's name, SQL that exists nowhere yet, or a file with it.

        Raises:
            UnknownTableError: it can only be a name, and no view has it.
        """
        views = self.written()
        known = lifecycle.meant(self, what, views) or lifecycle.unsaved(self, what)
        if known.error:
            raise known.error
        if known.is_as_compiled and known.facts:
            document = json.loads(known.facts.explanation)
        else:
            document = self._explained(known, views)
        ready = self._readiness(known, views)
        return Explained(known.name, known.policy, document, ready, *known.layout)

    def steps_ran(self, view: str | TableName, run: str | None = None) -> StepsRan:
        """The steps that the last run of a view ran, or those of the run that is named.

        Raises:
            RefreshError: no steps of it are known.
        """
        registry = self.registry if self.has_registry() else None
        return steps_ran(registry, self._named(view).name, run)

    def _explained(self, view: Definition, views: Mapping[str, Definition]) -> dict[str, Any]:
        from grebe.compiler.explain import explain

        self.builder.compiled(views, view.parents_among(views))
        return explain(self.builder.compile(view).plan).to_dict()

    def _readiness(
        self, view: Definition, views: Mapping[str, Definition]
    ) -> tuple[Readiness, ...]:
        return readiness(view, [t for t in view.tables if t not in views], self.look())

    def plan(
        self,
        selection: Selection = None,
        *,
        full: bool = False,
        policy: Policy | str | None = None,
    ) -> Plans:
        """What a refresh of the same views would do now; nothing is written.

        What changes in a view that is refreshed first is not known before: `parent-moves`.
        """
        views = self.written()
        names = set(self._selected(views, selection))
        chosen = Policy.FULL if full else lifecycle.policy_given(policy)
        levels({name: view.parents_among(views) for name, view in views.items()})
        if not names:
            return Plans()
        if chosen is not Policy.FULL:
            fresh = self._all_fresh(views, names, RunId("plan"), time.monotonic())
            if fresh is not None:
                return Plans(standing_still(views[str(item.view)]) for item in fresh)
        return Plans(planned(self, views, names, chosen))

    # --- doing ----------------------------------------------------------------------------------

    def refresh(
        self,
        selection: Selection = None,
        *,
        full: bool = False,
        policy: Policy | str | None = None,
        jobs: int = 1,
    ) -> Results:
        """Refresh the chosen views, on one pin per source; `+x` chooses what x reads too.

        A view is read by its children as it is; parents that do not fit each other are refreshed too.
        A view that fails holds back only what reads it; look at `Results.failed`. When no source
        moved, nothing is written to any table, and Spark is not started.
        """
        run_id = RunId(uuid.uuid4().hex[:12])
        begun = time.monotonic()
        views = self.written()
        names = list(self._selected(views, selection))
        chosen = Policy.FULL if full else lifecycle.policy_given(policy)
        parents = {name: view.parents_among(views) for name, view in views.items()}
        levels(parents)
        settle(self, views)
        if not names:
            return Results()
        if chosen is not Policy.FULL:
            fresh = self._all_fresh(views, set(names), run_id, begun)
            if fresh is not None:
                return fresh.noted(views)
        if plant(self):
            views = self.written()
        done = self.builder.refresh(views, names, run_id, policy=chosen, jobs=jobs)
        # Also where no row changed: a frontier that moves alone is a version, too.
        expire_old(self, [str(item.view) for item in done if item.outcome is not Outcome.FAILED])
        return Results(done).noted(views)

    def _all_fresh(
        self, views: Mapping[str, Definition], wanted: set[str], run_id: RunId, begun: float
    ) -> Results | None:
        """The results when nothing is to be done for any view, else None."""
        stands = standings({name: views[name] for name in sorted(wanted)}, self.look())
        if any(stand.state is not State.FRESH or stand.settles for stand in stands.values()):
            return None
        if any(views[name].policy is Policy.FULL or _by_clock(views[name]) for name in wanted):
            return None
        if any(replaced_parents(views[name], views) for name in wanted):
            return None
        parents = {name: views[name].parents_among(views) for name in sorted(wanted)}
        results = Results()
        for level in levels(parents):
            for name in level:
                position = stands[name].position
                results.append(
                    RefreshResult(
                        views[name].name,
                        Outcome.NO_OP,
                        run_id,
                        time.monotonic() - begun,
                        frontier=position.frontier if position else None,
                        version=position.version if position else None,
                    )
                )
        return results

    def verify(self, selection: Selection = None, *, sample: float | None = None) -> list[Report]:
        """Reports that the chosen views equal their queries at their frontiers.

        With a sample, such as 0.01, only that part of the keys is compared.

        Raises:
            CheckFailedError: the first that does not, with the rows that differ.
        """
        chosen = self._selected(self.written(), selection)
        return [self.verify_one(view.name, sample) for view in chosen.values()]

    def verify_one(self, name: TableName, sample: float | None = None) -> Report:
        """The report of one view."""
        compiled = reading.compiled(self, self._named(name))
        self.say(f"verifying {name}")
        return self.engine.verify(compiled.name.quoted(), sample)

    def read(
        self, name: TableName | str, *, as_of: str | int | datetime | None = None
    ) -> DataFrame:
        """The rows that a view shows, now or as of a version or a time of the view itself."""
        return reading.read(self, self._named(name), as_of)

    def sql(self, text: str) -> DataFrame:
        """A query or statement in the project's session."""
        return self.spark.sql(text)

    def retention(self) -> Retention:
        """The oldest version of each source that any view needs, and how to expire the others."""
        return retention(self.written(), self.look())

    # --- changing -------------------------------------------------------------------------------

    def alter(
        self,
        name: TableName | str,
        *,
        policy: Policy | str | None = None,
        lag: str | None = None,
        schedule: str | None = None,
        properties: Mapping[str, str] | None = None,
        sql: str | None = None,
    ) -> View:
        """Change a view's settings without a rebuild; another query makes it invalid until rebuilt.

        An empty text takes a lag or a schedule away.
        """
        given = lifecycle.Given(None, sql, policy, lag, schedule)
        return View(self, lifecycle.alter(self, self._named(name), given, dict(properties or {})))

    def doomed(self, name: TableName | str, *, cascade: bool = False) -> tuple[TableName, ...]:
        """The views that `drop` would remove, children before parents."""
        return tuple(
            view.name for view in lifecycle.doomed(self, self._named(name), cascade=cascade)
        )

    def drop(self, name: TableName | str, *, cascade: bool = False) -> tuple[TableName, ...]:
        """Remove a view, its rows and its record; with `cascade` also the views that read it.

        Raises:
            DefinitionError: other views read it.
            LeaseHeldError: it is being refreshed.
        """
        return lifecycle.drop(self, self._named(name), cascade=cascade)

    def vacuum(
        self, name: TableName | str, *, retention: str = "7 days", force: bool = False
    ) -> Vacuumed:
        """Remove old versions of a view, but none that another view still needs unless forced."""
        return lifecycle.vacuum(self, self._named(name), retention, force=force)

    def recover(self) -> Recovered:
        """Settle what died, and write the registry again from the tables where it is lost."""
        return recover(self)


def _by_clock(view: Definition) -> bool:
    """True when the rows of a view change although no source does."""
    return view.facts is not None and any(
        code == ReasonCode.TIME_FUNCTION for code, _ in view.facts.reasons
    )


def next_time(schedule: str | None, last: RunRecord | None) -> datetime | None:
    """When a view is due by its schedule."""
    if schedule is None:
        return None
    from grebe.schedule import schedule as read

    now = datetime.now(UTC)
    since = last.begun_at if last and last.begun_at else now
    due = read(schedule).after(since)
    return max(due, now - timedelta(0)) if due else None
