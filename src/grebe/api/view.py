"""One view of a project."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final, overload

from grebe.model import Outcome, Policy, State, TableName
from grebe.project.tabular import Tabular
from grebe.registry.records import RunRecord

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from grebe.api.explained import Explained
    from grebe.api.project import Project
    from grebe.engine.result import RefreshResult
    from grebe.engine.verify import Report
    from grebe.project.planning import RefreshPreview
    from grebe.project.retention import Vacuumed
    from grebe.project.status import Status
    from grebe.project.steps_ran import StepsRan

LAST: Final = "last"
"""Stands for the last run that computed something."""


class View(Tabular):
    """A handle: the name of a view, and the project that it is in."""

    def __init__(self, project: Project, name: TableName) -> None:
        self.project = project
        self.name = name

    def refresh(self, *, full: bool = False, policy: Policy | str | None = None) -> RefreshResult:
        """Refresh the view alone: views that it reads stay as they are, if they fit each other.

        Raises what made it fail; `project.refresh("+name")` refreshes what it reads too.

        Raises:
            GrebeError: the refresh failed; nothing of it is visible.
        """
        results = self.project.refresh(self._exact(), full=full, policy=policy)
        result = next(item for item in results if item.view == self.name)
        if result.outcome is Outcome.FAILED:
            errors = [item.error for item in results if item.error is not None]
            if result.error is not None:
                raise result.error
            if errors:
                raise errors[0]
        return result

    def status(self) -> Status:
        """Where the view stands; needs no Spark."""
        return next(iter(self.project.status(self._exact())))

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
            return self.project.explain(self._exact())
        return self.project.steps_ran(self.name, None if run == LAST else run)

    def plan(self) -> RefreshPreview:
        """What a refresh would do now; nothing is written."""
        return next(
            iter(item for item in self.project.plan(self._exact()) if item.view == self.name)
        )

    def history(self, limit: int | None = 50) -> Sequence[RunRecord]:
        """Runs, newest first."""
        return self.project.history(self._exact(), limit=limit)

    def verify(self, *, sample: float | None = None) -> Report:
        """A report that the view equals its query at its frontier.

        With a sample, such as 0.01, only that part of the keys is compared, always the same ones.

        Raises:
            CheckFailedError: with the rows that differ.
        """
        return self.project.verify_one(self.name, sample)

    def read(self, as_of: str | int | datetime | None = None) -> DataFrame:
        """The rows that the view shows, now or as of a version or time of the view itself."""
        return self.project.read(self.name, as_of=as_of)

    def alter(
        self,
        *,
        policy: Policy | str | None = None,
        lag: str | None = None,
        schedule: str | None = None,
        properties: Mapping[str, str] | None = None,
        sql: str | None = None,
    ) -> View:
        """Change settings without a rebuild; another query makes the view invalid until rebuilt."""
        self.project.alter(
            self.name, policy=policy, lag=lag, schedule=schedule, properties=properties, sql=sql
        )
        return self

    def drop(self, *, cascade: bool = False) -> tuple[TableName, ...]:
        """Remove the view, its rows and its record; refused when other views read it."""
        return self.project.drop(self.name, cascade=cascade)

    def vacuum(self, retention: str = "7 days", *, force: bool = False) -> Vacuumed:
        """Remove old versions of the view, but none that another view still needs."""
        return self.project.vacuum(self.name, retention=retention, force=force)

    def _exact(self) -> str:
        return str(self.name)

    def __repr__(self) -> str:
        return f'<view "{self.name}">'

    def __eq__(self, other: object) -> bool:
        return isinstance(other, View) and (other.name, other.project) == (self.name, self.project)

    def __hash__(self) -> int:
        return hash(self.name)

    def rows(self) -> tuple[Sequence[str], list[Sequence[object]]]:
        """For a notebook: the view's status."""
        return self.status().rows()
