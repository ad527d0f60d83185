"""What a run of ours writes into its commit, and how a commit is told to be ours."""

from __future__ import annotations

import json
from dataclasses import dataclass

from grebe.formats.delta.actions import Commit
from grebe.model import Frontier, Position, RunId, Version

APP = "grebe"
"""The application id of every commit of ours. A storage table belongs to one view, so it is enough
that no two runs of it can both commit the same transaction number."""

_MARK = "grebe"
_LAYOUT = 1


@dataclass(frozen=True, slots=True)
class DeltaLabel:
    """The text that a commit carries as `userMetadata`."""

    run_id: RunId
    planned: int
    """The version that the run was planned from."""
    frontier: str
    row_version: str | None = None
    """The last version before this one that changed a row."""

    def text(self) -> str:
        """The label as one line of JSON."""
        document = {
            _MARK: _LAYOUT,
            "run": self.run_id,
            "planned": self.planned,
            "rows": self.row_version,
            "frontier": self.frontier,
        }
        return json.dumps(document, separators=(",", ":"), sort_keys=True)

    @staticmethod
    def of(commit: Commit) -> DeltaLabel | None:
        """The label of a commit, None when it is not ours."""
        try:
            document = json.loads(commit.info.get("userMetadata") or "null")
        except (ValueError, TypeError):
            return None
        if not isinstance(document, dict) or document.get(_MARK) != _LAYOUT:
            return None
        return DeltaLabel(
            RunId(document["run"]), document["planned"], document["frontier"], document["rows"]
        )

    def position(self, commit: Commit, head: int, foreign: tuple[str, ...]) -> Position:
        """The position that the newest commit of ours proves."""
        try:
            frontier = Frontier.from_json(self.frontier)
        except (ValueError, KeyError, TypeError):
            reason = f"the frontier of run {self.run_id} cannot be read"
            return Position(None, Version(str(head)), foreign=foreign, unproven=reason)
        rows = str(commit.version) if commit.changes_rows else self.row_version
        return Position(
            frontier,
            Version(str(head)),
            row_version=None if rows is None else Version(rows),
            foreign=foreign,
        )
