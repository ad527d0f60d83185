"""One view of a project: a name, and what can be done with what stands behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Unpack, cast, overload

from grebe.engine.preview import RefreshPreview
from grebe.engine.rows.row_options import row_options
from grebe.model import Policy, State, TableName
from grebe.project import lifecycle, plans, reading, row_views, stopping
from grebe.project.arrow_rows import arrow_rows, frame_of
from grebe.project.explained import Explained, explain_view
from grebe.project.given import Given, policy_given
from grebe.project.past_runs import history
from grebe.project.refreshing import refresh_one
from grebe.project.registered import spark_name
from grebe.project.retention import Vacuumed
from grebe.project.row_views import RowErrors, RowPlan, refuse_unbuilt
from grebe.project.status import Status, statuses
from grebe.project.steps_ran import StepsRan, steps_ran
from grebe.project.stream_numbers import DeadLetters, Where, letters_of, redrive, replay
from grebe.project.stream_sink import StreamSink
from grebe.project.vacuum import vacuum
from grebe.project.verifying import verify_one
from grebe.project.workspace import Workspace
from grebe.registry.records import RunRecord
from grebe.streams.totals import Ingested
from grebe.tabular import Tabular
from grebe.view_timing import GivenTiming

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from grebe.engine.result import RefreshResult
    from grebe.engine.verify import Report

LAST: Final = "last"
"""Stands for the last run that computed something."""


class View(Tabular):
    """A handle: the name of a view, and what its project stands on."""

    def __init__(self, workspace: Workspace, name: TableName) -> None:
        self.workspace = workspace
        self.name = name

    def refresh(
        self,
        *,
        full: bool = False,
        policy: Policy | str | None = None,
        max_rows: int | None = None,
        max_seconds: float | None = None,
        retry_errors: bool = False,
        concurrency: int | None = None,
        **more: object,
    ) -> RefreshResult:
        """Refresh the view alone: views that it reads stay as they are, if they fit each other.

        Raises what made it fail; `project.refresh("+name")` refreshes what it reads too.

        Args:
            full: look at all rows, whatever is known of what changed.
            policy: instead of the view's own.
            max_rows: of a row view: ask each function at most this often; the rest stays pending.
            max_seconds: of a row view: begin no call after so long; the rest stays pending.
            retry_errors: of a row view: ask again for rows whose functions failed.
            concurrency: of a row view: tasks that call functions beside each other.
            more: what document 002 knows and is not built.

        Raises:
            GrebeError: the refresh failed; nothing of it is visible.
        """
        refuse_unbuilt(more)
        chosen = Policy.FULL if full else policy_given(policy)
        rows = row_options(max_rows, max_seconds, retry_errors, concurrency)
        return refresh_one(self.workspace, self.name, chosen, rows)

    def plan_refresh(self) -> RowPlan:
        """Of a row view: what a refresh would do now, in numbers; no function is called.

        Raises:
            RowViewError: it is another kind of view.
        """
        return row_views.plan_rows(self.workspace, self.name)

    def errors(self) -> RowErrors:
        """Of a row view: the rows whose functions failed and were skipped, with why.

        Raises:
            RowViewError: it is another kind of view.
        """
        return row_views.errors_of(self.workspace, self.name)

    def metadata(self) -> dict[str, str]:
        """Of a row view: its definition and what it shows, under the keys of document 002.

        Raises:
            RowViewError: it is another kind of view.
        """
        return row_views.metadata_of(self.workspace, self.name)

    def cleanup_checkpoints(self) -> int:
        """Of a row view: remove results that wait in files; how many. What comes back is computed anew.

        Raises:
            RowViewError: it is another kind of view.
        """
        return row_views.clean(self.workspace, self.name)

    def status(self) -> Status:
        """Where the view stands; needs no Spark."""
        return next(iter(statuses(self.workspace, str(self.name))))

    @property
    def state(self) -> State:
        """Never refreshed, fresh, stale or invalid."""
        return self.status().state

    @overload
    def explain(self) -> Explained: ...

    @overload
    def explain(self, *, run: str) -> StepsRan: ...

    def explain(self, *, run: str | None = None) -> Explained | StepsRan:
        """Whether and how the view is maintained incrementally, and why.

        Args:
            run: the id of a run, or "last": the steps that it ran, with rows and seconds.

        Raises:
            RefreshError: no steps of that run are known.
        """
        if run is None:
            return explain_view(self.workspace, str(self.name))
        return steps_ran(self.workspace, self.name, None if run == LAST else run)

    def plan(self) -> RefreshPreview:
        """What a refresh would do now; nothing is written."""
        found = plans.plan(self.workspace, str(self.name), None)
        return next(item for item in found if item.view == self.name)

    def history(self, limit: int | None = 50) -> Sequence[RunRecord]:
        """Runs, newest first."""
        return history(self.workspace, str(self.name), limit)

    def verify(self, *, sample: float | None = None) -> Report:
        """A report that the view equals its query at its frontier.

        With a sample, such as 0.01, only that part of the keys is compared, always the same ones.

        Raises:
            CheckFailedError: with the rows that differ.
        """
        return verify_one(self.workspace, self.workspace.named(self.name), sample)

    def read(self, as_of: str | int | datetime | None = None) -> DataFrame:
        """The rows that the view shows, now or as of a version or time of the view itself."""
        return reading.read(self.workspace, self.workspace.named(self.name), as_of)

    def dead_letters(self, where: Where = None) -> DeadLetters:
        """The events of a stream view that did not become rows, oldest first; needs no Spark.

        Args:
            where: which: `{"code": "wrong-type"}`, or a function of a letter.
        """
        return letters_of(self.workspace, self.workspace.named(self.name), where)

    def replay(self, definition: Mapping[str, Any] | None = None) -> Ingested:
        """Make all rows of a stream view anew, from what its stream still holds.

        Args:
            definition: what it says from now on; it may have other types than the stored rows.

        Raises:
            DefinitionError: nothing holds its events.
        """
        return replay(self.workspace, self.workspace.named(self.name), definition)

    def sink(self, checkpoint: str, *, adopt: bool = False) -> StreamSink:
        """What `df.writeStream.foreachBatch` is given, to store its batches in a stream view, each once.

        Args:
            checkpoint: the query's `checkpointLocation`; what is in it names the batches.
            adopt: take the batches of another checkpoint than before for new ones.
        """
        folder = str(self.workspace.settings.folder)
        return StreamSink(folder, str(self.name), checkpoint, adopt)

    def redrive(self, where: Where = None) -> Ingested:
        """Run dead letters again: what becomes rows now takes their place, in one commit."""
        return redrive(self.workspace, self.workspace.named(self.name), where)

    def to_arrow(
        self,
        columns: Sequence[str] | None = None,
        where: str | None = None,
        limit: int | None = None,
    ) -> pa.Table:
        """The rows that the view shows as an Arrow table, read without Spark.

        Args:
            columns: only these, in this order.
            where: a condition in SQL: comparisons with values, AND, OR, NOT, IN, BETWEEN, IS NULL.
            limit: at most so many rows; which ones is not said.

        Raises:
            RefreshError: never refreshed; or `only-spark`: too large, or of types that only Spark
                reads, or a condition that says more.
        """
        view = self.workspace.named(self.name)
        return arrow_rows(self.workspace, view, columns, where, limit)

    def to_pandas(
        self,
        columns: Sequence[str] | None = None,
        where: str | None = None,
        limit: int | None = None,
    ) -> pandas.DataFrame:
        """The same as a frame of pandas."""
        return cast("pandas.DataFrame", frame_of(self.to_arrow(columns, where, limit), "pandas"))

    def to_polars(
        self,
        columns: Sequence[str] | None = None,
        where: str | None = None,
        limit: int | None = None,
    ) -> polars.DataFrame:
        """The same as a frame of polars."""
        return cast("polars.DataFrame", frame_of(self.to_arrow(columns, where, limit), "polars"))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    @property
    def spark_name(self) -> str:
        """What `spark.table` takes in the project's session; see `project.register` for your own."""
        return spark_name(self.workspace, self.workspace.named(self.name))

    def alter(
        self,
        *,
        policy: Policy | str | None = None,
        lag: str | None = None,
        schedule: str | None = None,
        properties: Mapping[str, str] | None = None,
        sql: str | None = None,
        **timing: Unpack[GivenTiming],
    ) -> View:
        """Change settings without a rebuild; another query makes the view invalid until rebuilt."""
        view, given = (
            self.workspace.named(self.name),
            Given(None, sql, policy, {"lag": lag, "schedule": schedule, **timing}),
        )
        lifecycle.alter(self.workspace, view, given, dict(properties or {}))
        return self

    def suspend(self, reason: str = "") -> View:
        """Let no run of the view begin by itself any more, until `resume`."""
        stopping.suspend(self.workspace, self.workspace.named(self.name), reason)
        return self

    def resume(self) -> View:
        """Let the view be refreshed by itself again: it is due, and what failed is forgotten."""
        stopping.resume(self.workspace, self.workspace.named(self.name))
        return self

    def ask(self) -> View:
        """Make the view due: the scheduler refreshes it next."""
        stopping.ask(self.workspace, self.workspace.named(self.name))
        return self

    def drop(self, *, cascade: bool = False) -> tuple[TableName, ...]:
        """Remove the view, its rows and its record; refused when other views read it."""
        return lifecycle.drop(self.workspace, self.workspace.named(self.name), cascade=cascade)

    def vacuum(self, retention: str = "7 days", *, force: bool = False) -> Vacuumed:
        """Remove old versions of the view, but none that another view still needs."""
        return vacuum(self.workspace, self.workspace.named(self.name), retention, force=force)

    def __repr__(self) -> str:
        return f'<view "{self.name}">'

    def __eq__(self, other: object) -> bool:
        own = (self.name, self.workspace)
        return isinstance(other, View) and (other.name, other.workspace) == own

    def __hash__(self) -> int:
        return hash(self.name)

    def rows(self) -> tuple[Sequence[str], list[Sequence[object]]]:
        """For a notebook: the view's status."""
        return self.status().rows()
