"""One view of a project."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from grebe.api.shown import Shown
from grebe.api.standing import Standing
from grebe.errors import GrebeError
from grebe.model import Outcome, Policy, Reason, State, TableName
from grebe.registry.records import RunRecord
from grebe.secrets import masked

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from grebe.api.explained import Explained
    from grebe.api.planning import Plan
    from grebe.api.project import Project
    from grebe.api.upkeep import Vacuumed
    from grebe.engine.result import RefreshResult
    from grebe.engine.verify import Report


@dataclass(frozen=True, slots=True)
class Status(Shown):
    """What is true of a view now, and of its last run."""

    name: TableName
    state: State
    policy: Policy
    lag: str | None
    schedule: str | None
    standing: Standing
    last: RunRecord | None
    data_time: datetime | None
    next_time: datetime | None
    file: str | None
    error: GrebeError | None = None
    last_refresh: datetime | None = None
    """When a run last made the view what it shows: a failed one did not."""

    @property
    def stale_since(self) -> datetime | None:
        """Since when a source is ahead of the view."""
        return self.standing.stale_since

    def to_dict(self) -> dict[str, object]:
        """Plain values, ready for JSON."""
        return {
            "view": str(self.name),
            "state": str(self.state),
            "policy": str(self.policy),
            "lag": self.lag,
            "schedule": self.schedule,
            "data_time": _iso(self.data_time),
            "last_refresh": _iso(self.last_refresh),
            "stale_since": _iso(self.stale_since),
            "next": _iso(self.next_time),
            "last": run_to_dict(self.last) if self.last else None,
            "reasons": [
                {"code": item.code, "message": item.message} for item in self.standing.reasons
            ],
            "file": self.file,
            "error": error_to_dict(self.error) if self.error else None,
        }

    def rows(self) -> tuple[Sequence[str], list[Sequence[object]]]:
        """One line of the table of views."""
        return STATUS_HEADINGS, [status_row(self)]


STATUS_HEADINGS = ("view", "state", "lag", "last outcome", "reason", "rows", "took", "next")


def status_row(status: Status) -> tuple[object, ...]:
    """The cells of one view."""
    last = status.last
    codes = [reason.code for reason in status.standing.reasons]
    codes = codes or ([reason.code for reason in last.reasons] if last else [])
    if status.error is not None:
        codes = [status.error.code]
    return (
        status.name,
        status.state,
        status.lag or "",
        last.outcome if last else "",
        ", ".join(dict.fromkeys(codes)),
        f"{last.counts.rows_in:,} in, {last.counts.rows_out:,} out" if last else "",
        f"{last.seconds:.1f} s" if last and last.seconds is not None else "",
        _minute(status.next_time),
    )


class View(Shown):
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

    def explain(self) -> Explained:
        """Whether and how the view is maintained incrementally, and why."""
        return self.project.explain(self._exact())

    def plan(self) -> Plan:
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


def run_to_dict(run: RunRecord) -> dict[str, Any]:
    """A run as plain values."""
    return {
        "run_id": run.run_id,
        "view": run.view,
        "outcome": run.outcome and str(run.outcome),
        "trigger": run.trigger,
        "begun_at": _iso(run.begun_at),
        "ended_at": _iso(run.ended_at),
        "seconds": run.seconds,
        "rows_in": run.counts.rows_in,
        "rows_out": run.counts.rows_out,
        "reasons": [
            {"code": item.code, "message": item.message, "numbers": dict(item.numbers)}
            for item in run.reasons
        ],
        "error": run.error,
    }


def error_to_dict(error: BaseException) -> dict[str, Any]:
    """An error as plain values."""
    if not isinstance(error, GrebeError):
        return {"code": "unexpected", "message": masked(str(error)) or type(error).__name__}
    return {
        "code": error.code,
        "message": error.message,
        "detail": error.detail,
        "hint": error.hint,
        "where": str(error.where) if error.where else None,
    }


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


def _minute(moment: datetime | None) -> str:
    return moment.strftime("%Y-%m-%d %H:%M") if moment else ""


class Statuses(list[Status], Shown):
    """Every chosen view's status, as one table."""

    def rows(self) -> tuple[Sequence[str], list[Sequence[object]]]:
        """One line per view."""
        return STATUS_HEADINGS, [status_row(item) for item in self]

    def to_dict(self) -> list[dict[str, object]]:
        """Plain values, ready for JSON."""
        return [item.to_dict() for item in self]

    __str__ = Shown.__str__
    __repr__ = Shown.__str__


DIED = Reason("died", "the run holds no lease any more; the next refresh tells what became of it")


class Runs(list[RunRecord], Shown):
    """Runs, newest first, as one table."""

    def rows(self) -> tuple[Sequence[str], list[Sequence[object]]]:
        """One line per run."""
        headings = ("begun", "view", "outcome", "reason", "rows in", "rows out", "took", "run")
        return headings, [
            (
                run.begun_at.strftime("%Y-%m-%d %H:%M:%S") if run.begun_at else "",
                run.view,
                run.outcome or ("died" if DIED in run.reasons else "running"),
                ", ".join(reason.code for reason in run.reasons),
                run.counts.rows_in,
                run.counts.rows_out,
                f"{run.seconds:.1f} s" if run.seconds is not None else "",
                run.run_id,
            )
            for run in self
        ]

    def to_dict(self) -> list[dict[str, Any]]:
        """Plain values, ready for JSON."""
        return [run_to_dict(run) for run in self]

    __str__ = Shown.__str__
    __repr__ = Shown.__str__
