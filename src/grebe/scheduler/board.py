"""The registry as the place where copies meet: what is known of views, and who may run what."""

from __future__ import annotations

import logging
import os
import socket
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import random
from typing import TYPE_CHECKING

from grebe.engine.standing import Standing
from grebe.errors import CycleError, GrebeError, UnknownTableError
from grebe.model import Outcome, State, TableName
from grebe.project.definitions import FOLDER, Definition
from grebe.project.freshness import standing
from grebe.project.summary import text_digest
from grebe.project.workspace import Workspace
from grebe.registry import activity_rows
from grebe.registry.activity_rows import ActivityRow
from grebe.registry.polls import PollRow
from grebe.schedule import duration
from grebe.scheduler import backoff
from grebe.scheduler.backoff import LEFT_OUT, FailureKind, RunFailure
from grebe.scheduler.due import Decision, Moment
from grebe.scheduler.member_end import DIED, MemberEnd
from grebe.scheduler.notices import NoticeBoard
from grebe.scheduler.run_groups import Member, PlannedRun
from grebe.scheduler.turn import Sight
from grebe.scheduler.watch import intervals, look, stale_since
from grebe.scheduler.wish_of import wish_of
from grebe.scheduler.wishes import ViewKnown, Wish
from grebe.view_graph import levels
from grebe.view_timing import Trigger

if TYPE_CHECKING:
    import sqlalchemy as sa

log = logging.getLogger(__name__)


class RegistryBoard:
    """What is known, in the registry and in the tables themselves. No Spark."""

    def __init__(self, workspace: Workspace, selection: Sequence[str] = ()) -> None:
        self.workspace = workspace
        self.selection = tuple(selection)
        self.owner = f"{socket.gethostname()}/{os.getpid()}/{uuid.uuid4().hex[:8]}"
        self.poll = duration(workspace.settings.scheduler.poll).total_seconds()
        self.began: float | None = None
        self.views: dict[str, Definition] = {}
        self.wishes: dict[str, Wish] = {}
        self.rows: dict[str, ActivityRow] = {}
        self.held: dict[str, PlannedRun] = {}
        """The runs of this copy, by their first view."""
        self.notices = NoticeBoard(workspace)
        self._read: object = None
        self._judged: dict[str, tuple[object, Standing]] = {}
        self._place: object = None
        self._sight: Sight | None = None
        self._now = 0.0

    # --- looking ------------------------------------------------------------------------------------

    def look(self) -> Sight:
        """What is so now."""
        self._follow_registry()
        registry = self.workspace.registry
        with registry.database.reading() as connection:
            stamp = activity_rows.stamp(connection)
        self._definitions(stamp)
        wanted = intervals(self.wishes.values(), self.poll)
        names = {source: self._table(source) for source in wanted}
        heads = self.workspace.heads()
        seen_heads = look(registry, heads, names, wanted)
        with registry.database.writing() as connection:
            activity_rows.renew(connection, self._own_views(), self.owner)
            now, rows = activity_rows.listed(connection)
            new = self.wishes.keys() - rows.keys()
            if new:
                activity_rows.know(connection, new)
                now, rows = activity_rows.listed(connection)
        leases = {lease.view for lease in registry.held()}
        self.rows, self._now = rows, now
        self.began = now if self.began is None or self.began > now else self.began
        known = {
            name: self._known(wish, rows[name], seen_heads, leases, stamp, heads)
            for name, wish in self.wishes.items()
        }
        self._sight = Sight(Moment(now, self.poll, self.began), self.wishes, known)
        return self._sight

    def _own_views(self) -> list[str]:
        return [name for run in self.held.values() for name in run.names]

    def _follow_registry(self) -> None:
        """A registry whose file was removed is written on by nobody: the new one is opened instead."""
        url = self.workspace.settings.registry_url
        if not url.startswith("sqlite:///"):
            return
        file = Path(url.removeprefix("sqlite:///"))
        try:
            found = file.stat()
            place: object = (found.st_dev, found.st_ino)
        except OSError:
            place = None
        if self._place is not None and place != self._place:
            log.warning("the registry %s is another file than before: it is opened anew", file)
            self.workspace.open_registry_again()
            self._judged.clear()
            self._read = None
        registry = self.workspace.registry
        if self._place is None or place != self._place:
            registry.runs(limit=1)
            found = file.stat()
            self._place = (found.st_dev, found.st_ino)

    def _definitions(self, stamp: Sequence[object]) -> None:
        """Read the definitions where their files or records are others than before."""
        seen = (stamp[2:], _files(self.workspace.settings.folder / FOLDER))
        if seen == self._read:
            return
        self.views = self.workspace.written()
        chosen = self._chosen()
        circle = _circle(self.views)
        self.wishes = {
            name: replace(wish_of(view, self.views, self.workspace.settings), broken=circle[name])
            if name in circle
            else wish_of(view, self.views, self.workspace.settings)
            for name, view in chosen.items()
        }
        self._judged = {name: item for name, item in self._judged.items() if name in self.wishes}
        self._read = seen

    def _chosen(self) -> dict[str, Definition]:
        """The views that are looked after; a name that is gone stops no other."""
        if not self.selection:
            return self.views
        found: dict[str, Definition] = {}
        for item in self.selection:
            try:
                found |= self.workspace.selected(self.views, [item])
            except UnknownTableError as error:
                if self._read is None:
                    raise
                log.warning("%s", error)
        return dict(sorted(found.items()))

    def _table(self, source: str) -> TableName:
        return self.workspace.settings.resolve(source.split("."))

    def _known(
        self,
        wish: Wish,
        row: ActivityRow,
        seen_heads: Mapping[str, PollRow],
        leases: set[str],
        stamp: Sequence[object],
        heads: object,
    ) -> ViewKnown:
        view, now = self.views[wish.name], self._now
        problem = next(
            (
                seen_heads[s].problem
                for s in wish.sources
                if s in seen_heads and seen_heads[s].problem
            ),
            None,
        )
        base = ViewKnown(
            durations=row.durations,
            started=_past(row.started_at, now),
            ended=_past(row.ended_at, now),
            running=wish.name in leases or _is_claimed(row, now),
            last_slot=_past(row.last_slot, now),
            failures=row.failures,
            tries=row.tries,
            retry_at=None
            if row.retry_at is None
            else min(row.retry_at, now + 2 * backoff.LONGEST_WAIT),
            failed_inputs=row.failed_inputs,
            alone=row.alone,
            suspended=row.suspended,
            wanted=row.wanted,
            checked=_past(row.checked_at, now),
            unreachable=problem,
            inputs=_inputs(view, wish, seen_heads),
        )
        if wish.broken is not None or problem is not None:
            return base
        stand = self._standing(view, wish, seen_heads, stamp, heads)
        if stand.state is State.INVALID and self.workspace.settings.scheduler.apply != "auto":
            return base
        if stand.error is not None:
            return replace(base, unreachable=f"{stand.error}")
        if stand.state is State.FRESH:
            return replace(base, stale=stand.frontier_lags)
        moment = None
        if stand.state is State.STALE:
            moment = stale_since(stand, seen_heads, now, row.started_at)
        return replace(base, stale=True, since=moment)

    def _standing(
        self,
        view: Definition,
        wish: Wish,
        seen_heads: Mapping[str, PollRow],
        stamp: Sequence[object],
        heads: object,
    ) -> Standing:
        """Where a view stands, judged again when what it reads or any run has moved."""
        sources = tuple((s, seen_heads[s].head) for s in wish.sources if s in seen_heads)
        key = (sources, tuple(stamp), view.text)
        known = self._judged.get(wish.name)
        if known is not None and known[0] == key:
            return known[1]
        try:
            found = standing(view, heads)  # type: ignore[arg-type]
        except Exception as error:  # what nobody foresaw in one view holds up no other
            log.warning("where %s stands cannot be judged: %s", wish.name, error)
            found = Standing(State.STALE, error=GrebeError(str(error), code="unexpected"))
        if found.error is None:
            self._judged[wish.name] = (key, found)
        return found

    # --- taking -------------------------------------------------------------------------------------

    def take(self, run: PlannedRun) -> PlannedRun | None:
        """The run with the views that are ours now; who is somebody else's is left out in silence."""
        mine: list[Member] = []
        lost: set[str] = set()
        with self.workspace.registry.database.writing() as connection:
            for member in run.members:
                row = self.rows[member.view]
                waits = lost & set(self.wishes[member.view].parents)
                if not waits and activity_rows.claim(
                    connection, member.view, self.owner, member.slot, row
                ):
                    mine.append(member)
                else:
                    lost.add(member.view)
        if not mine:
            return None
        taken = replace(run, members=tuple(mine))
        self.held[taken.names[0]] = taken
        return taken

    def is_nothing(self, run: PlannedRun) -> bool:
        """True when no view of a run has anything to do: its time came, and no source moved."""
        asked = any(member.trigger is Trigger.MANUAL for member in run.members)
        if self._sight is None or run.is_check or asked:
            return False
        known = self._sight.known
        return not any(known[name].stale or self.wishes[name].always_runs for name in run.names)

    def ended(self, run: PlannedRun, ends: Iterable[MemberEnd]) -> None:
        """Write down how a run ended, view by view, and tell who wants to know."""
        by_view = {item.view: item for item in ends}
        self.held.pop(run.names[0], None)
        with self.workspace.registry.database.writing() as connection:
            for member in run.members:
                end, row = by_view.get(member.view), self.rows[member.view]
                if end is None or set(end.codes) & LEFT_OUT:
                    activity_rows.release(connection, member.view, self.owner)
                    continue
                if run.is_check:
                    self._checked(connection, row, end)
                    continue
                made = self._after(member, row, end)
                activity_rows.finish(connection, made, self.owner)
                if end.run_id:
                    trigger = Trigger.MANUAL if member.trigger is Trigger.MANUAL else member.trigger
                    times = {"slot": member.slot, "stale_since": member.since, "lag": member.lag}
                    activity_rows.note_run(connection, end.run_id, member.view, trigger, times)
                self.notices.after_run(connection, row, made, end, self._now)

    def _checked(self, connection: sa.Connection, row: ActivityRow, end: MemberEnd) -> None:
        made = replace(row, checked_at=self._now)
        activity_rows.finish(connection, made, self.owner)
        if end.failed and "differs" in end.codes:
            self.notices.differs(connection, row.view, end, self._now)

    def _after(self, member: Member, row: ActivityRow, end: MemberEnd) -> ActivityRow:
        sight, now = self._sight, self._now
        known = ViewKnown() if sight is None else sight.known[member.view]
        known = replace(known, suspended=None)
        if not end.failed:
            nothing = end.outcome == Outcome.NO_OP
            made = backoff.after_success(known, now, None if nothing else end.seconds)
            return _row(row, made, no_ops=row.no_ops + nothing)
        kind = FailureKind.DIED if DIED in end.codes else backoff.kind_of(frozenset(end.codes))
        most = self.wishes[member.view].max_failures if member.view in self.wishes else 5
        failure = RunFailure(kind, known.inputs, end.says)
        return _row(row, backoff.after(known, failure, now, random(), most), no_ops=row.no_ops)

    def renew(self) -> None:
        """Keep what is ours."""
        with self.workspace.registry.database.writing() as connection:
            activity_rows.renew(connection, self._own_views(), self.owner)

    def give_back(self, run: PlannedRun) -> None:
        """Let others have the views of a run that did not begin."""
        self.held.pop(run.names[0], None)
        with self.workspace.registry.database.writing() as connection:
            for name in run.names:
                activity_rows.release(connection, name, self.owner)

    def tell(self, sight: Sight, found: Mapping[str, Decision]) -> None:
        """Write down what is late, or no longer, and tell people once."""
        self.notices.edges(sight, found, self.rows)


def _row(row: ActivityRow, known: ViewKnown, *, no_ops: int) -> ActivityRow:
    return replace(
        row, failures=known.failures, tries=known.tries, retry_at=known.retry_at,
        failed_inputs=known.failed_inputs, alone=known.alone, suspended=known.suspended,
        durations=known.durations, no_ops=no_ops,
    )  # fmt: skip


def _past(moment: float | None, now: float) -> float | None:
    """A time that was; one that lies ahead is of another clock, and becomes now."""
    return None if moment is None else min(moment, now)


def _is_claimed(row: ActivityRow, now: float) -> bool:
    """A claim that ends later than twice its length from now is of another clock, and over."""
    if row.claim_until is None:
        return False
    return 0 < row.claim_until - now <= 2 * activity_rows.CLAIM_SECONDS


def _inputs(view: Definition, wish: Wish, seen_heads: Mapping[str, PollRow]) -> str:
    """Equal texts give equal failures: the definition, and every version that is read."""
    parts = [text_digest(view.text), str(view.policy) if wish.broken is None else ""]
    for source in wish.sources:
        row = seen_heads.get(source)
        parts.append(f"{source}={row.head}/{row.absences}" if row else source)
    return " ".join(parts)


def _files(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """What tells that the files of views are others than before."""
    if not folder.is_dir():
        return ()
    found = []
    for file in sorted(folder.rglob("*")):
        try:
            stat = file.stat()
        except OSError:
            continue
        found.append((str(file), stat.st_mtime_ns, stat.st_size))
    return tuple(found)


def _circle(views: Mapping[str, Definition]) -> dict[str, str]:
    """Views that read each other in a circle, or read such views: they stop nobody else."""
    parents = {name: view.parents_among(views) for name, view in views.items()}
    try:
        levels(parents)
    except CycleError as error:
        left = dict(parents)
        while True:
            free = [name for name, above in left.items() if not set(above) & left.keys()]
            if not free:
                return dict.fromkeys(left, f"{error}  [{error.code}]")
            for name in free:
                del left[name]
    return {}
