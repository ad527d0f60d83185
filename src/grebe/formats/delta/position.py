"""What a storage table's own commits say: which frontier it shows, and who else wrote to it."""

from __future__ import annotations

from grebe.errors import HistoryExpiredError
from grebe.formats.delta.actions import Commit
from grebe.formats.delta.labels import DeltaLabel
from grebe.formats.delta.log import Log
from grebe.model import Position, RunId, Version


def is_maintenance(log: Log, commit: Commit) -> bool:
    """True for a commit of somebody else that changed neither rows nor columns."""
    if DeltaLabel.of(commit) is not None or commit.changes_rows:
        return False
    if commit.metadata is None or commit.version == 0:
        return True
    before, _ = log.described(commit.version - 1)
    now = commit.metadata
    return (before.id, before.schema, before.partition_columns) == (
        now.id,
        now.schema,
        now.partition_columns,
    )


def read_position(log: Log) -> Position:
    """The last published frontier, found by walking the log from its end."""
    head = log.refreshed().head
    foreign: list[str] = []
    try:
        for version in range(head, -1, -1):
            commit = log.commit(version)
            label = DeltaLabel.of(commit)
            if label is not None:
                foreign += _foreign(log, label.planned, version - 1)
                return label.position(commit, head, tuple(foreign))
            if not is_maintenance(log, commit):
                foreign.append(named(commit))
    except HistoryExpiredError as broken:
        return Position(
            None, Version(str(head)), foreign=tuple(foreign), unproven=f"{broken}: {broken.detail}"
        )
    return Position(None, Version(str(head)), foreign=tuple(foreign))


def is_filled(log: Log, version: int) -> bool:
    """Whether a run of ours made a version or one before it: what CREATE made shows no view."""
    for number in range(version, -1, -1):
        try:
            if DeltaLabel.of(log.commit(number)) is not None:
                return True
        except HistoryExpiredError:  # only what is old is cleaned up
            return True
    return False


def _foreign(log: Log, after: int, upto: int) -> list[str]:
    """Commits of others that slipped in between a run's plan and its commit."""
    commits = (log.commit(version) for version in range(upto, after, -1))
    return [named(commit) for commit in commits if not is_maintenance(log, commit)]


def find_run(log: Log, run_id: RunId, after: int) -> list[Commit]:
    """The commits of a run among those after a version."""
    found = []
    for version in range(after + 1, log.refreshed().head + 1):
        commit = log.commit(version)
        label = DeltaLabel.of(commit)
        if label is not None and label.run_id == run_id:
            found.append(commit)
    return found


def named(commit: Commit) -> str:
    """A commit for messages."""
    operation = commit.info.get("operation") or "commit"
    writer = commit.info.get("engineInfo") or "unknown"
    return f"{operation} {commit.version} by {writer}"
