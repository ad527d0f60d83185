"""What a Delta table is at one version: which files are live, under which schema."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from grebe.formats.delta.actions import AddedFile, Commit, FileKey, Metadata, Protocol

FOLDER = "_delta_log"


@dataclass(frozen=True, slots=True)
class LogState:
    """What a table is at one version."""

    version: int
    metadata: Metadata
    protocol: Protocol
    files: Mapping[FileKey, AddedFile]
    transactions: Mapping[str, int]

    def rows(self) -> int | None:
        """The number of rows, None when a file of another writer does not say its own."""
        counts = [file.rows for file in self.files.values()]
        known = [count for count in counts if count is not None]
        return sum(known) if len(known) == len(counts) else None

    def after(self, commits: Iterable[Commit]) -> LogState:
        """The state that some commits lead to, one after the other."""
        files, transactions = dict(self.files), dict(self.transactions)
        version, metadata, protocol = self.version, self.metadata, self.protocol
        for commit in commits:
            apply(files, commit)
            transactions |= commit.transactions
            version = commit.version
            metadata, protocol = commit.metadata or metadata, commit.protocol or protocol
        return LogState(version, metadata, protocol, files, transactions)


def apply(files: dict[FileKey, AddedFile], commit: Commit) -> None:
    """Make live files those after a commit."""
    for file in commit.removes:
        files.pop(file.key, None)
    for file in commit.adds:
        files[file.key] = file
