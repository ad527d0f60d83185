"""What a storage table's own commits say: which frontier it shows, and who else wrote to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from grebe.formats.iceberg.history import BrokenChainError, Lineage, changed_rows
from grebe.formats.iceberg.metadata import IcebergSnapshot
from grebe.model import Frontier, Position, RunId, Version
from grebe.stored_properties import FRONTIER, PART, ROW_VERSION, RUN

TAG = "grebe_frontier"
BRANCH_PREFIX = "grebe_"

THIS = "this"
"""The value of `grebe.row-version` that means the commit it stands in."""


def branch_of(run_id: RunId) -> str:
    """The branch on which a run prepares its commit."""
    return f"{BRANCH_PREFIX}{run_id}"


def run_of(ref: str) -> RunId | None:
    """The run that a ref belongs to, None for main, the tag and everybody else's refs."""
    if ref == TAG or not ref.startswith(BRANCH_PREFIX):
        return None
    return RunId(ref.removeprefix(BRANCH_PREFIX))


def is_maintenance(snapshot: IcebergSnapshot) -> bool:
    """True for a commit that moved rows between files and changed none."""
    return snapshot.operation == "replace" and RUN not in snapshot.summary


def read_position(lineage: Lineage) -> Position:
    """The last published frontier, found by walking parents from main."""
    head = lineage.now.head
    if head is None:
        return Position(frontier=None, version=None)
    version = Version(str(head))
    foreign: list[str] = []
    try:
        for snapshot in lineage.walk(head):
            if RUN in snapshot.summary:
                if _has_other_columns(lineage, snapshot):
                    foreign.append("its columns were changed")
                return _own(snapshot, version, tuple(foreign))
            if not is_maintenance(snapshot):
                foreign.append(_named(snapshot))
    except BrokenChainError as broken:
        return _unproven(lineage, version, tuple(foreign), str(broken))
    return Position(frontier=None, version=version, foreign=tuple(foreign))


def _has_other_columns(lineage: Lineage, own: IcebergSnapshot) -> bool:
    """True when the table has other columns than our last commit left: none of ours changes them."""
    known = (own.schema_id, lineage.now.schema_id)
    return None not in known and known[0] != known[1]


def find_run(lineage: Lineage, run_id: RunId) -> int | None:
    """The snapshot of a run, if that is the last one that was published."""
    try:
        for snapshot in lineage.walk(lineage.now.head):
            if RUN in snapshot.summary:
                return snapshot.id if snapshot.summary[RUN] == run_id else None
    except BrokenChainError:
        return None
    return None


def _own(snapshot: IcebergSnapshot, version: Version, foreign: tuple[str, ...]) -> Position:
    text = snapshot.summary.get(FRONTIER)
    if text is None:
        part = snapshot.summary.get(PART, "?")
        reason = f"main stands inside run {snapshot.summary[RUN]} (part {part})"
        return Position(frontier=None, version=version, foreign=foreign, unproven=reason)
    frontier = _parsed(text)
    if frontier is None:
        reason = f"the frontier of run {snapshot.summary[RUN]} cannot be read"
        return Position(frontier=None, version=version, foreign=foreign, unproven=reason)
    return Position(
        frontier=frontier,
        version=version,
        row_version=_row_version(snapshot),
        foreign=foreign,
    )


def _unproven(
    lineage: Lineage, version: Version, foreign: tuple[str, ...], reason: str
) -> Position:
    tagged = lineage.now.tip(TAG)
    text = tagged.summary.get(FRONTIER) if tagged else None
    frontier = _parsed(text) if text else None
    return Position(frontier=frontier, version=version, foreign=foreign, unproven=reason)


def _parsed(text: str) -> Frontier | None:
    try:
        return Frontier.from_json(text)
    except (ValueError, KeyError, TypeError):
        return None


def _row_version(snapshot: IcebergSnapshot) -> Version:
    before = snapshot.summary.get(ROW_VERSION, THIS)
    return Version(str(snapshot.id) if before == THIS or changed_rows(snapshot) else before)


def _named(snapshot: IcebergSnapshot) -> str:
    writer = snapshot.summary.get("engine-name") or snapshot.summary.get("app-name") or "unknown"
    return f"{snapshot.operation} {snapshot.id} by {writer}"


@dataclass(frozen=True, slots=True)
class CommitLabel:
    """What a run writes into each of its snapshots."""

    run_id: RunId
    part: int
    parts: int
    frontier: str | None = None
    row_version: str | None = None

    @property
    def properties(self) -> Mapping[str, str]:
        """The snapshot properties; only the last part carries the frontier."""
        own = {RUN: str(self.run_id), PART: f"{self.part}/{self.parts}"}
        if self.frontier is not None:
            own[FRONTIER] = self.frontier
            own[ROW_VERSION] = self.row_version or THIS
        return own
