"""The status of views: where they stand now, and what their last runs did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from grebe.engine.standing import Standing
from grebe.errors import GrebeError
from grebe.model import Policy, State, TableName
from grebe.project.definitions import Definition
from grebe.project.freshness import refreshed_at, standings
from grebe.project.past_runs import iso, run_to_dict
from grebe.project.selection import Selection
from grebe.registry.records import RunRecord
from grebe.schedule import DOWNSTREAM, duration
from grebe.spoken_times import ago, length, until
from grebe.tabular import Tabular, error_to_dict

if TYPE_CHECKING:
    from grebe.project.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Status(Tabular):
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
            "lag_seconds": self.lag_now.total_seconds() if self.lag_now is not None else None,
            "schedule": self.schedule,
            "data_time": iso(self.data_time),
            "last_refresh": iso(self.last_refresh),
            "stale_since": iso(self.stale_since),
            "next": iso(self.next_time),
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

    def wide_rows(self) -> tuple[Sequence[str], list[Sequence[object]]]:
        """The same, with what it may do, when, and what it shows."""
        return WIDE_HEADINGS, [wide_row(self)]

    @property
    def lag_now(self) -> timedelta | None:
        """How old the oldest change is that the view does not show; None where that is not known."""
        if self.state is State.FRESH:
            return timedelta(0)
        return datetime.now(UTC) - self.stale_since if self.stale_since else None


STATUS_HEADINGS = ("view", "state", "lag", "last", "when", "reason", "rows", "took", "next")
WIDE_HEADINGS = (*STATUS_HEADINGS, "policy", "schedule", "version", "run")


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
        _lag(status),
        last.outcome if last else "",
        ago(last.ended_at) if last else "",
        ", ".join(dict.fromkeys(codes)),
        f"{last.counts.rows_in:,} in, {last.counts.rows_out:,} out" if last else "",
        f"{last.seconds:.1f} s" if last and last.seconds is not None else "",
        until(status.next_time),
    )


def wide_row(status: Status) -> tuple[object, ...]:
    """The same, with more."""
    run = status.last.run_id if status.last else ""
    version = status.standing.refreshed_version or ""
    return (*status_row(status), status.policy, status.schedule or "", version, run)


def _lag(status: Status) -> str:
    """How old its data is, and how old it may be."""
    now = status.lag_now
    if status.lag is None:
        return "" if not now else length(now.total_seconds())
    known = "?" if now is None else length(now.total_seconds())
    return f"{known} / {_wanted(status.lag)}"


def _wanted(lag: str) -> str:
    if lag == DOWNSTREAM:
        return lag
    try:
        return length(duration(lag).total_seconds())
    except GrebeError:
        return lag


def statuses(workspace: Workspace, selection: Selection) -> Statuses:
    """Where the chosen views stand; needs no Spark where the catalogs can be read without."""
    views = workspace.written()
    chosen = workspace.selected(views, selection)
    heads = workspace.heads()
    stands = standings(views, heads)
    latest, landed = workspace.latest(), workspace.latest(landed=True)
    return Statuses(
        _status(
            view,
            stands[name],
            latest.get(name),
            refreshed_at(view, stands[name], landed.get(name), heads),
        )
        for name, view in chosen.items()
    )


def _status(
    view: Definition, stand: Standing, last: RunRecord | None, refreshed: datetime | None
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


def next_time(schedule: str | None, last: RunRecord | None) -> datetime | None:
    """When a view is due by its schedule."""
    if schedule is None:
        return None
    from grebe.schedule import schedule as read

    now = datetime.now(UTC)
    since = last.begun_at if last and last.begun_at else now
    due = read(schedule).after(since)
    return max(due, now) if due else None


class Statuses(list[Status], Tabular):
    """Every chosen view's status, as one table."""

    def rows(self) -> tuple[Sequence[str], list[Sequence[object]]]:
        """One line per view."""
        return STATUS_HEADINGS, [status_row(item) for item in self]

    def wide_rows(self) -> tuple[Sequence[str], list[Sequence[object]]]:
        """The same, with more."""
        return WIDE_HEADINGS, [wide_row(item) for item in self]

    def to_dict(self) -> list[dict[str, object]]:
        """Plain values, ready for JSON."""
        return [item.to_dict() for item in self]

    __str__ = Tabular.__str__
    __repr__ = Tabular.__str__
