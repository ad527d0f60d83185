"""What the registry gives back: plain records, free of SQLAlchemy."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from grebe.model import Cost, Outcome, Reason, Version


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to write one view until it expires; ``number`` grows with every new holder."""

    view: str
    owner: str
    number: int
    seconds: float
    expires_at: datetime
    """By the clock of the registry's database."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Net changed source rows that a run read, and view rows that it wrote."""

    rows_in: int = 0
    rows_out: int = 0


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One attempt to refresh one view; without an outcome it runs, or died.

    ``begun_at`` and ``ended_at`` are the database's; whoever begins a run leaves them out.
    """

    run_id: str
    view: str
    trigger: str = "manual"
    owner: str = ""
    begun_at: datetime | None = None
    ended_at: datetime | None = None
    outcome: Outcome | None = None
    reasons: tuple[Reason, ...] = ()
    counts: Counts = Counts()
    seconds: float | None = None
    frontier_json: str | None = None
    error: str | None = None
    steps_json: str | None = None
    """What ran, step by step; written, and read back by `Registry.steps` alone."""
    cost: Cost | None = None

    @property
    def is_over(self) -> bool:
        """True when it is known how the run ended."""
        return self.outcome is not None


@dataclass(frozen=True, slots=True)
class ViewRecord:
    """What is known of a view without asking its storage table or Spark."""

    name: str
    definition: str
    """The text that a person wrote: a statement, or a declarative definition as JSON."""
    policy: str = "auto"
    lag: str | None = None
    schedule: str | None = None
    timing: tuple[tuple[str, str], ...] | None = None
    """When it is refreshed, beside lag and schedule; None: an older version wrote the record."""
    properties: tuple[tuple[str, str], ...] = ()
    fingerprint: str | None = None
    storage: str | None = None
    """The storage table's full name."""
    state: str | None = None
    """What the last command saw; status computes it anew."""
    compiled: str | None = None
    """JSON of what a no-change refresh needs: sources with used columns, parents, columns."""
    updated_at: datetime | None = None

    @property
    def said(self) -> tuple[object, ...]:
        """What people said of the view; all else is found out again from that."""
        return self.definition, self.policy, self.lag, self.schedule, self.timing, self.properties


@dataclass(frozen=True, slots=True)
class CheckRecord:
    """What verify said of a view; ``equal`` is None where nothing could be compared."""

    view: str
    equal: bool | None
    rows: int = 0
    differing: int = 0
    """Rows of the comparison that only one side has, counted in both directions."""
    seconds: float = 0.0
    sample: float | None = None
    versions: tuple[tuple[str, str], ...] = ()
    """Of the sources, at which the query was asked."""
    trouble: str | None = None
    """The code of the error, if there was one."""
    error: str | None = None
    checked_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """A version of a source that somebody saw, and when it was first seen."""

    source: str
    identity: str
    version: Version
    committed_at: datetime | None = None
    seen_at: datetime | None = None
