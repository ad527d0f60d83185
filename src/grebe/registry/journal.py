"""The registry: views, runs and leases behind one small face."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType

from grebe.compiler.plan.cost import Past
from grebe.registry import checks, leases, runs, seen_sources, view_rows
from grebe.registry.database import Database
from grebe.registry.layout import bring_up
from grebe.registry.records import CheckRecord, Lease, RunRecord, SourceRecord, ViewRecord


class Registry:
    """A journal. Losing it loses history; views stay right and can be found again."""

    def __init__(self, database: Database) -> None:
        self.database = database

    @classmethod
    def open(cls, url: str) -> Registry:
        """The registry at a URL, ``sqlite:///file`` or ``postgresql://…``, its tables made.

        Raises:
            RegistryError: the database cannot be reached or used; the hint says what to do.
            RegistryVersionError: a newer grebe wrote it.
            ConfigError: the URL is none.
        """
        database = Database.open(url)
        try:
            bring_up(database)
        except BaseException:
            database.close()
            raise
        return cls(database)

    def close(self) -> None:
        """Give all connections back."""
        self.database.close()

    def __enter__(self) -> Registry:
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        self.close()

    # --- leases ---------------------------------------------------------------------------------

    def acquire(self, view: str, owner: str, seconds: float) -> Lease | None:
        """The right to write a view for some seconds, or None when somebody else has it."""
        with self.database.writing() as connection:
            return leases.acquire(connection, view, owner, seconds)

    def renew(self, lease: Lease) -> Lease | None:
        """The lease for its whole time again, or None when it was taken over meanwhile."""
        with self.database.writing() as connection:
            return leases.renew(connection, lease)

    def release(self, lease: Lease) -> bool:
        """End a lease; False when it was taken over meanwhile, and nothing was done."""
        with self.database.writing() as connection:
            return leases.release(connection, lease)

    def holder(self, view: str) -> Lease | None:
        """The lease on a view that has not expired, if there is one."""
        with self.database.reading() as connection:
            return leases.holder(connection, view)

    def held(self) -> list[Lease]:
        """All leases that have not expired."""
        with self.database.reading() as connection:
            return leases.held(connection)

    def free_all(self) -> None:
        """End every lease: only in a registry that was copied, whose holders work elsewhere."""
        with self.database.writing() as connection:
            leases.free_all(connection)

    # --- runs -----------------------------------------------------------------------------------

    def begin(self, run: RunRecord) -> None:
        """Write down that a run begins."""
        with self.database.writing() as connection:
            runs.begin(connection, run)

    def finish(self, run: RunRecord) -> bool:
        """Write down how a run ended, by its id and view; False when nobody wrote that it began.

        Raises:
            ValueError: the record has no outcome.
        """
        if run.outcome is None:
            raise ValueError(f"run {run.run_id} has no outcome")
        with self.database.writing() as connection:
            return runs.finish(connection, run)

    def runs(self, view: str | None = None, limit: int | None = 50) -> list[RunRecord]:
        """Runs, newest first."""
        with self.database.reading() as connection:
            return runs.listed(connection, view, limit)

    def unfinished(self) -> list[RunRecord]:
        """Runs without an end: they run now, or died."""
        with self.database.reading() as connection:
            return runs.listed(connection, None, None, unfinished=True)

    def dead(self, runs: Iterable[RunRecord]) -> list[RunRecord]:
        """Those of the runs that did not end, and hold no lease any more: nobody will end them."""
        found: list[RunRecord] = []
        for run in runs:
            if run.outcome is None:
                holder = self.holder(run.view)
                if holder is None or holder.owner != run.owner:
                    found.append(run)
        return found

    def latest(self, *, landed: bool = False) -> dict[str, RunRecord]:
        """The newest finished run of every view; or the newest that did not fail."""
        with self.database.reading() as connection:
            return runs.latest(connection, landed=landed)

    def past(self, view: str, limit: int = 20) -> tuple[Past, ...]:
        """What earlier runs of a view cost, for the choice between incremental and full."""
        with self.database.reading() as connection:
            return runs.past(connection, view, limit)

    def steps(self, view: str, run_id: str | None = None) -> tuple[str, str] | None:
        """A run and what it ran, as JSON: the newest that is known, or the one that is named."""
        with self.database.reading() as connection:
            return runs.steps(connection, view, run_id)

    # --- checks and sources ---------------------------------------------------------------------

    def note_check(self, check: CheckRecord) -> None:
        """Write down what verify said of a view, now."""
        with self.database.writing() as connection:
            checks.note(connection, check)

    def checks(self, view: str | None = None, limit: int | None = 50) -> list[CheckRecord]:
        """What verify said, newest first."""
        with self.database.reading() as connection:
            return checks.listed(connection, view, limit)

    def latest_checks(self) -> dict[str, CheckRecord]:
        """What verify said last of every view."""
        with self.database.reading() as connection:
            return checks.latest(connection)

    def see_sources(self, seen: Iterable[SourceRecord]) -> None:
        """Write down versions of sources that are seen now; those that are known stay as they are."""
        with self.database.writing() as connection:
            seen_sources.see(connection, seen)

    def sources(self, source: str | None = None, limit: int | None = 50) -> list[SourceRecord]:
        """Versions of sources that were seen, newest first."""
        with self.database.reading() as connection:
            return seen_sources.listed(connection, source, limit)

    # --- views ----------------------------------------------------------------------------------

    def views(self) -> list[ViewRecord]:
        """All views, by name."""
        with self.database.reading() as connection:
            return view_rows.listed(connection)

    def save_view(self, view: ViewRecord) -> None:
        """Write a view's record, in place of an older one."""
        with self.database.writing() as connection:
            view_rows.save(connection, view)

    def view(self, name: str) -> ViewRecord | None:
        """The record of one view."""
        with self.database.reading() as connection:
            return next(iter(view_rows.listed(connection, name)), None)

    def change_view(self, view: ViewRecord, seen: ViewRecord | None) -> bool:
        """Write a view's record if people still say of it what was seen; False: they do not."""
        with self.database.writing() as connection:
            return view_rows.change(connection, view, seen)

    def drop_view(self, name: str) -> bool:
        """Forget a view; its runs stay. False when there was none."""
        with self.database.writing() as connection:
            return view_rows.drop(connection, name)
