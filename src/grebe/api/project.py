"""A project: a folder with grebe.toml and views, and everything that can be done with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from grebe.api.results import Results
from grebe.api.row_query import RowQuery
from grebe.api.view import View
from grebe.config import Settings, load
from grebe.engine.place import refuse_moved
from grebe.engine.preview import Plans
from grebe.engine.rows.row_options import RowOptions
from grebe.engine.tables import Tables
from grebe.events import Listener
from grebe.model import Policy, TableName
from grebe.project import (
    adoption,
    lifecycle,
    plans,
    reading,
    refreshing,
    row_views,
    stopping,
    stream_numbers,
    stream_views,
    verifying,
)
from grebe.project.adoption import Adoption
from grebe.project.dag import Dag, dag
from grebe.project.definitions import Definition
from grebe.project.explained import Explained, explain_view
from grebe.project.given import Given, GivenDefinition, policy_given, text_from
from grebe.project.past_runs import Runs, history
from grebe.project.recovery import Recovered, recover
from grebe.project.registered import register
from grebe.project.retention import Retention, Vacuumed, retention
from grebe.project.selection import Selection
from grebe.project.status import Statuses, statuses
from grebe.project.steps_ran import StepsRan, steps_ran
from grebe.project.stream_numbers import StreamStatuses
from grebe.project.vacuum import vacuum
from grebe.project.verifying import Verdicts
from grebe.project.workspace import Say, Workspace
from grebe.streams.totals import Ingested
from grebe.tabular import html
from grebe.view_timing import GivenTiming

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from grebe.engine.engine import Engine
    from grebe.engine.verify import Report
    from grebe.registry import Registry
    from grebe.scheduler.loop import Loop


class Project:
    """The views of one folder. Spark starts when something has to be compiled, read or written."""

    def __init__(
        self,
        settings: Settings,
        spark: SparkSession | None = None,
        say: Say | None = None,
        listeners: Sequence[Listener] = (),
    ) -> None:
        refuse_moved(settings)
        self.workspace = Workspace(settings, spark, say, listeners)

    @classmethod
    def open(
        cls,
        folder: str | Path = ".",
        *,
        spark: SparkSession | None = None,
        say: Say | None = None,
        listeners: Sequence[Listener] = (),
    ) -> Project:
        """The project in a folder: its grebe.toml, or an embedded default.

        Args:
            folder: the project's folder, or the path of its TOML file.
            spark: a session of yours to work beside, classic or Connect.
            say: is told what is happening now.
            listeners: are told every event, each in a thread of its own; they cannot harm a run.
        """
        return cls(load(folder), spark, say, listeners)

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

        def reopened() -> Workspace:
            return cls.open(folder, spark=spark, say=say).workspace

        return adoption.adopt(load(folder), reopened, fresh=fresh)

    def close(self) -> None:
        """Give the registry's connections back; Spark goes on, it may be somebody else's too."""
        self.workspace.close()

    def __enter__(self) -> Project:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f'<project "{self.settings.folder}">'

    def __str__(self) -> str:
        """Where it lies, and how many views it has: nothing is asked of any catalog."""
        views, known = self.written(), len(self.workspace.latest())
        formats = ", ".join(f"{item.name} ({item.format})" for item in self.settings.catalogs)
        return (
            f"project {self.settings.folder}: {len(views)} views, {known} of them with runs\n"
            f"  catalogs: {formats}"
        )

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        """What a notebook shows: where it lies, and its views."""
        try:
            headings = ("view", "policy", "lag", "reads")
            rows = [
                (view.name, view.policy, view.lag or "", ", ".join(view.tables))
                for view in self.written().values()
                if view.error is None
            ]
            text = str(self)
        except Exception as error:  # a repr that raises would hide the cell's own result
            return {"text/plain": f"{self!r}: {error}"}
        title = f"<p>{escape(text)}</p>"
        return {"text/plain": text, "text/html": title + html(headings, rows)}

    # --- what it stands on ----------------------------------------------------------------------

    @property
    def settings(self) -> Settings:
        """What its grebe.toml says."""
        return self.workspace.settings

    @property
    def spark(self) -> SparkSession:
        """The session in use, started at first use."""
        return self.workspace.spark

    @property
    def tables(self) -> Tables:
        """The tables of the configured catalogs."""
        return self.workspace.tables

    @property
    def engine(self) -> Engine:
        """What compiles and runs."""
        return self.workspace.engine

    @property
    def registry(self) -> Registry:
        """The journal of views, runs and leases."""
        return self.workspace.registry

    # --- views ----------------------------------------------------------------------------------

    def written(self) -> dict[str, Definition]:
        """Every view as it is written now, by full name."""
        return self.workspace.written()

    def views(self, selection: Selection = None) -> list[View]:
        """The views of the project, by name."""
        chosen = self.workspace.selected(self.written(), selection)
        return [View(self.workspace, view.name) for view in chosen.values()]

    def view(self, name: str) -> View:
        """The view of that name.

        Raises:
            UnknownTableError: there is none; the hint names the closest.
        """
        return View(self.workspace, self.workspace.named(name).name)

    __getitem__ = view

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
        **timing: Unpack[GivenTiming],
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
            timing: trigger ("update" or "manual"), grace, at_most_every, catch_up, max_failures,
                timeout, verify, strategy: see *Keeping views fresh*.

        With `IF NOT EXISTS` in the definition a view of that name is left as it is, and returned.

        Raises:
            DefinitionError: the definition means nothing, or the name is taken.
        """
        given = Given(name, definition, policy, {"lag": lag, "schedule": schedule, **timing})
        made = lifecycle.create(self.workspace, given, build=build, replaces=replace)
        return View(self.workspace, made)

    def table(self, name: str) -> RowQuery:
        """A table or view to choose rows of, for a row view: `.where(…).select(…)`."""
        return RowQuery(name, known=lambda: row_views.columns_of(self.workspace, name))

    def query(self, sql: str) -> RowQuery:
        """The rows of any query, for a row view over a join or over groups."""
        return RowQuery(sql, is_query=True)

    def create_materialized_view(
        self,
        name: str,
        query: RowQuery,
        *,
        with_no_data: bool = True,
        policy: Policy | str | None = None,
        replace: bool = False,
    ) -> View:
        """A row view from a query with functions; its rows wait for the first refresh unless told not to.

        Args:
            name: its name.
            query: from `table` or `query`.
            with_no_data: only say which rows there are; no function is called.
            policy: what a refresh may do: auto, incremental, strict or full.
            replace: put it in the place of a view of that name.

        Raises:
            DefinitionError: the query cannot be kept, or the name is taken.
        """
        given = Given(name, query.definition().to_text(), policy)
        rows = RowOptions(max_rows=0) if with_no_data else RowOptions()
        made = lifecycle.create(self.workspace, given, build=True, replaces=replace, rows=rows)
        return View(self.workspace, made)

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
        **timing: Unpack[GivenTiming],
    ) -> Any:  # noqa: ANN401  a decorator with or without arguments
        """Decorates a function that returns the view's SQL; its name is the view's.

        Raises:
            DefinitionError: the function gives something else, e.g. a DataFrame.
        """

        def define(made_by: Callable[[], object]) -> View:
            text = text_from(made_by)
            return self.create_view(
                name or made_by.__name__,
                text,
                policy=refresh_policy,
                lag=lag,
                schedule=schedule,
                build=False,
                replace=True,
                **timing,
            )

        return define if function is None else define(function)

    def define_stream_view(self, definition: Mapping[str, Any], *, replace: bool = False) -> View:
        """A view of events: typed rows, each event once. Nothing of it needs Spark.

        Args:
            definition: `$type`, `$stream`, `$schema`, and what else says how events become rows.
            replace: let it say something else than before; the rows that are stored stay.

        Raises:
            DeclarationError: with the code and the field of what is wrong; nothing was made.
        """
        return View(
            self.workspace, stream_views.define(self.workspace, definition, replaces=replace)
        )

    def ingest_stream(
        self,
        view: str | TableName | View,
        events: Iterable[object],
        *,
        batch: str | None = None,
        on_error: str = "dead",
    ) -> Ingested:
        """Store events in one stream view.

        Args:
            view: the view.
            events: mappings, or texts of JSON; a generator is stored slice by slice.
            batch: an id: the same batch sent again is known, and stored once.
            on_error: keep an event that does not become rows as a dead letter ("dead"), or store
                nothing of its slice and raise ("stop").
        """
        named = self.workspace.named(view.name if isinstance(view, View) else view)
        return stream_views.ingest_into(
            self.workspace, named, events, batch=batch, on_error=on_error
        )

    def ingest(
        self, stream: str, events: Iterable[object], *, batch: str | None = None
    ) -> dict[str, Ingested]:
        """Store events in every view of a stream; one view that fails stops no other."""
        return stream_views.ingest(self.workspace, stream, events, batch=batch)

    def streams(self, stream: str | None = None) -> StreamStatuses:
        """What became of the events of every stream view; needs no Spark."""
        return stream_numbers.stream_statuses(self.workspace, stream)

    # --- looking --------------------------------------------------------------------------------

    def status(self, selection: Selection = None) -> Statuses:
        """Where the chosen views stand; needs no Spark where the catalogs can be read without."""
        return statuses(self.workspace, selection)

    def history(self, selection: Selection = None, *, limit: int | None = 50) -> Runs:
        """Runs of the chosen views, newest first."""
        return history(self.workspace, selection, limit)

    def dag(self, selection: Selection = None) -> Dag:
        """The graph of the chosen views; needs no Spark.

        Raises:
            CycleError: views read each other in a circle.
        """
        return dag(self.workspace, selection)

    def explain(self, what: str | Path) -> Explained:
        """Whether and how a view is maintained incrementally, and why.

        Args:
            what: a view's name, SQL that exists nowhere yet, or a file with it.

        Raises:
            UnknownTableError: it can only be a name, and no view has it.
        """
        return explain_view(self.workspace, what)

    def steps_ran(self, view: str | TableName, run: str | None = None) -> StepsRan:
        """The steps that the last run of a view ran, or those of the run that is named.

        Raises:
            RefreshError: no steps of it are known.
        """
        return steps_ran(self.workspace, self.workspace.named(view).name, run)

    def plan(
        self,
        selection: Selection = None,
        *,
        full: bool = False,
        policy: Policy | str | None = None,
        measure: bool = True,
    ) -> Plans:
        """What a refresh of the same views would do now; nothing is written.

        What changes in a view that is refreshed first is not known before: `parent-moves`.

        Args:
            selection: the views; all, if nothing is said.
            full: as if everything were recomputed.
            policy: instead of each view's own.
            measure: count the rows that changed, however many. Without it only a few megabytes are
                looked at, and Spark is started only where a text has to be compiled to tell.
        """
        chosen = Policy.FULL if full else policy_given(policy)
        return plans.plan(self.workspace, selection, chosen, measure=measure)

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
        chosen = Policy.FULL if full else policy_given(policy)
        return Results(refreshing.refresh(self.workspace, selection, chosen, jobs))

    def refresh_due(self, selection: Selection = None) -> Results:
        """Refresh what is due now, once: for cron, Airflow and other schedulers."""
        from grebe.scheduler.sweep import sweep

        chosen = [selection] if isinstance(selection, str) else list(selection or ())
        return Results(sweep(self.workspace, chosen))

    def scheduler(self, selection: Selection = None, *, jobs: int | None = None) -> Loop:
        """The loop of `grebe serve`, to be run in a thread: `with project.scheduler(): …`.

        A worker process beside it does the refreshes; Spark is not started here.
        """
        from grebe.scheduler.loop import Loop

        chosen = [selection] if isinstance(selection, str) else list(selection or ())
        return Loop(self.settings, chosen, jobs=jobs)

    def notify(self, source: str) -> None:
        """Say that a table moved: the scheduler looks at it next.

        Raises:
            UnknownTableError: no view reads it.
        """
        stopping.hint(self.workspace, source)

    def verify(self, selection: Selection = None, *, sample: float | None = None) -> list[Report]:
        """Reports that the chosen views equal their queries at their frontiers.

        With a sample, such as 0.01, only that part of the keys is compared.

        Raises:
            CheckFailedError: the first that does not, with the rows that differ.
        """
        chosen = self.workspace.selected(self.written(), selection)
        return [verifying.verify_one(self.workspace, view, sample) for view in chosen.values()]

    def verdicts(self, selection: Selection = None, *, sample: float | None = None) -> Verdicts:
        """What verify says of each chosen view, whatever it says of the others."""
        return verifying.verify_all(self.workspace, selection, sample)

    def read(
        self, name: TableName | str, *, as_of: str | int | datetime | None = None
    ) -> DataFrame:
        """The rows that a view shows, now or as of a version or a time of the view itself."""
        return reading.read(self.workspace, self.workspace.named(name), as_of)

    def sql(self, text: str) -> DataFrame:
        """A query or statement in the project's session."""
        return self.spark.sql(text)

    def register(
        self, spark: SparkSession | None = None, selection: Selection = None
    ) -> dict[str, str]:
        """Let a session of yours read the views; for each, what `spark.table` takes there.

        Iceberg's catalogs are made known to it. Views in folders get temporary views: of Delta they
        follow every refresh, of DuckLake they hold the rows of now.
        """
        chosen = self.workspace.selected(self.written(), selection)
        return register(self.workspace, chosen.values(), spark or self.spark)

    def retention(self) -> Retention:
        """The oldest version of each source that any view needs, and how to expire the others."""
        return retention(self.written(), self.workspace.heads())

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
        **timing: Unpack[GivenTiming],
    ) -> View:
        """Change a view's settings without a rebuild; another query makes it invalid until rebuilt.

        An empty text takes a lag, a schedule, or another setting of `create_view` away.
        """
        view, given = (
            self.workspace.named(name),
            Given(None, sql, policy, {"lag": lag, "schedule": schedule, **timing}),
        )
        done = lifecycle.alter(self.workspace, view, given, dict(properties or {}))
        return View(self.workspace, done)

    def views_to_drop(
        self, name: TableName | str, *, cascade: bool = False
    ) -> tuple[TableName, ...]:
        """The views that `drop` would remove, children before parents."""
        view = self.workspace.named(name)
        found = lifecycle.views_to_drop(self.workspace, view, cascade=cascade)
        return tuple(item.name for item in found)

    def drop(self, name: TableName | str, *, cascade: bool = False) -> tuple[TableName, ...]:
        """Remove a view, its rows and its record; with `cascade` also the views that read it.

        Raises:
            DefinitionError: other views read it.
            LeaseHeldError: it is being refreshed.
        """
        return lifecycle.drop(self.workspace, self.workspace.named(name), cascade=cascade)

    def vacuum(
        self, name: TableName | str, *, retention: str = "7 days", force: bool = False
    ) -> Vacuumed:
        """Remove old versions of a view, but none that another view still needs unless forced."""
        return vacuum(self.workspace, self.workspace.named(name), retention, force=force)

    def recover(self) -> Recovered:
        """Settle what died, and write the registry again from the tables where it is lost."""
        return recover(self.workspace)
