"""The log of a Delta table: which commits and checkpoints there are, and the state at a version.

Read without Spark and without a library: a commit is one JSON file, a checkpoint is Parquet. What a
file of the log holds never changes, so it is read once.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from grebe.errors import HistoryExpiredError, SourceError, UnknownTableError
from grebe.formats.delta import checkpoints
from grebe.formats.delta.actions import (
    Commit,
    Metadata,
    Protocol,
)
from grebe.formats.delta.log_state import FOLDER, LogState
from grebe.formats.files import Files, local_path, torn

KEPT_COMMITS = 1000
KEPT_STATES = 4
READER_FEATURES = frozenset(
    {
        "columnMapping",
        "deletionVectors",
        "timestampNtz",
        "typeWidening",
        "typeWidening-preview",
        "v2Checkpoint",
        "vacuumProtocolCheck",
        "variantType",
        "variantType-preview",
        "variantShredding-preview",
    }
)
"""What a reader must understand and we do. A table that needs more is refused."""

_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(
    r"(\d{20})\.checkpoint(?:\.(?P<part>\d{10})\.(?P<parts>\d{10})|\.(?P<uuid>[0-9a-fA-F-]{36}))?"
    r"\.(?:parquet|json)"
)


@dataclass(frozen=True, slots=True)
class LogListing:
    """The files of the log by version, each with what tells it from a file of the same name."""

    commits: Mapping[int, tuple[str, object]]
    checkpoints: Mapping[int, tuple[str, ...]]
    newest: int | None = None

    @property
    def head(self) -> int:
        """The newest version."""
        if self.newest is not None:
            return self.newest
        return max(self.commits, default=max(self.checkpoints, default=-1))


def listing_of(names: Mapping[str, object]) -> LogListing:
    """The commits and the whole checkpoints among the names of a log's files."""
    commits: dict[int, tuple[str, object]] = {}
    parts: dict[tuple[int, str], list[str]] = {}
    for name in sorted(names):
        if found := _COMMIT.fullmatch(name):
            commits[int(found[1])] = (name, names[name])
        elif found := _CHECKPOINT.fullmatch(name):
            kind = found["uuid"] or found["parts"] or ""
            parts.setdefault((int(found[1]), kind), []).append(name)
    whole = {
        version: tuple(files)
        for (version, kind), files in parts.items()
        if len(files) == (int(kind) if len(kind) == 10 else 1)
    }
    return LogListing(commits, whole)


@dataclass(slots=True)
class Log:
    """The log of one table folder."""

    root: str
    files: Files
    follows: bool = False
    """Once listed, only what follows the newest commit is looked for: whoever writes many small
    commits to a log on this machine's disk would list all of it for each."""
    _listing: LogListing | None = None
    _commits: OrderedDict[tuple[str, object], Commit] = field(default_factory=OrderedDict)
    _states: OrderedDict[int, LogState] = field(default_factory=OrderedDict)
    _checkpoints: dict[int, LogState] = field(default_factory=dict)

    def refreshed(self) -> LogListing:
        """The files that the log has now."""
        if self.follows and self._listing is not None:
            following = self._following(self._listing)
            if following is not None:
                self._listing = following
                return following
        names = self.files.listed(f"{self.root}/{FOLDER}")
        found = listing_of(names)
        if found.head < 0:
            raise UnknownTableError(f'folder "{self.root}" is not a Delta table')
        if self._listing is not None and _replaced(self._listing, found):
            self._states.clear()
            self._checkpoints.clear()
        self._listing = found
        return found

    def _following(self, known: LogListing) -> LogListing | None:
        """The listing with the commits since; None when the newest that is known is not as it was."""
        newest = known.head
        if newest not in known.commits or self._sign(newest) != known.commits[newest][1]:
            return None
        more: dict[int, tuple[str, object]] = {}
        while (sign := self._sign(newest + 1)) is not None:
            newest += 1
            more[newest] = (f"{newest:020}.json", sign)
        if not more:
            return known
        return LogListing({**known.commits, **more}, known.checkpoints, newest)

    def _sign(self, version: int) -> object | None:
        """What tells a commit from another one of its version; None when there is none."""
        try:
            stat = Path(f"{local_path(self.root)}/{FOLDER}/{version:020}.json").stat()
        except OSError:
            return None
        return stat.st_size, stat.st_mtime_ns

    def listing(self, *versions: int) -> LogListing:
        """The files that were seen last, or now when a version is not among them."""
        if self._listing is not None and all(v <= self._listing.head for v in versions):
            return self._listing
        return self.refreshed()

    def commit(self, version: int) -> Commit:
        """One commit."""
        (commit,) = self._load([version])
        return commit

    def commits(self, after: int, upto: int) -> list[Commit]:
        """The commits of a window, oldest first."""
        return self._load(range(after + 1, upto + 1))

    def _load(self, versions: Sequence[int]) -> list[Commit]:
        """Some commits; those that are not known yet are read together."""
        listed = self.listing(*versions).commits
        for version in versions:
            if version not in listed:
                raise expired(self.root, version)
        missing = [version for version in versions if listed[version] not in self._commits]
        paths = [f"{self.root}/{FOLDER}/{listed[version][0]}" for version in missing]
        found = {listed[version]: self._commits.get(listed[version]) for version in versions}
        for version, path, content in zip(missing, paths, self.files.read(paths), strict=True):
            found[listed[version]] = Commit(self.root, version, path, content)
        for key, commit in found.items():
            if commit is not None:
                self._commits[key] = commit
                self._commits.move_to_end(key)
        while len(self._commits) > KEPT_COMMITS:
            self._commits.popitem(last=False)
        return [commit for commit in found.values() if commit is not None]

    def described(self, version: int) -> tuple[Metadata, Protocol]:
        """Metadata and features at a version, without its files."""
        metadata: Metadata | None = None
        protocol: Protocol | None = None
        listing = self.listing(version)
        if version in self._states:
            state = self._states[version]
            return state.metadata, state.protocol
        if not self.files.on_driver:  # each read is a job: one for all
            first = max((n for n in listing.checkpoints if n <= version), default=-1) + 1
            self._load([n for n in range(first, version + 1) if n in listing.commits])
        for number in range(version, -1, -1):
            # A commit says at least as much as a checkpoint of the same version.
            if number in listing.commits and number not in listing.checkpoints:
                commit = self.commit(number)
                metadata = metadata or commit.metadata
                protocol = protocol or commit.protocol
            elif number in listing.checkpoints:
                state = self._checkpoint(number, listing.checkpoints[number], whole=False)
                metadata, protocol = metadata or state.metadata, protocol or state.protocol
            else:
                break
            if metadata is not None and protocol is not None:
                return metadata, _known(self.root, protocol)
        raise expired(self.root, version)

    def state(self, version: int) -> LogState:
        """The state at a version."""
        listing = self.listing(version)
        if version > listing.head:
            raise expired(self.root, version)
        if version not in self._states:
            start = self._start(version, listing) or _founded(self.root, self.commit(0))
            state = start.after(self.commits(start.version, version))
            _known(self.root, state.protocol)
            self._states[version] = state
        self._states.move_to_end(version)
        while len(self._states) > KEPT_STATES:
            self._states.popitem(last=False)
        return self._states[version]

    def _start(self, version: int, listing: LogListing) -> LogState | None:
        """The newest known state that leads to a version, None for the beginning of the table."""
        kept = max((number for number in self._states if number <= version), default=-1)
        stored = max((number for number in listing.checkpoints if number <= version), default=-1)
        if kept >= stored:
            return self._states[kept] if kept >= 0 else None
        return self._checkpoint(stored, listing.checkpoints[stored], whole=True)

    def _checkpoint(self, version: int, names: Sequence[str], *, whole: bool) -> LogState:
        if version in self._checkpoints and not whole:
            return self._checkpoints[version]
        paths = [f"{self.root}/{FOLDER}/{name}" for name in names]
        state = checkpoints.read(self.files, self.root, version, paths, whole=whole)
        self._checkpoints = {version: replace(state, files={})}
        return state


def _replaced(before: LogListing, now: LogListing) -> bool:
    """Whether a commit that was seen is another one now: the folder holds a new table."""
    return any(
        now.commits[version] != seen
        for version, seen in before.commits.items()
        if version in now.commits
    )


def _founded(root: str, commit: Commit) -> LogState:
    if commit.metadata is None or commit.protocol is None:
        raise torn(f"{root}/{FOLDER}", "the first commit has no schema")
    empty = LogState(commit.version, commit.metadata, commit.protocol, {}, {})
    return empty.after([commit])


def _known(root: str, protocol: Protocol) -> Protocol:
    unknown = sorted(protocol.reader - READER_FEATURES)
    if unknown:
        raise SourceError(
            f'table "{root}" needs features that this version does not read',
            detail=", ".join(unknown),
            code="unknown-table-feature",
        )
    return protocol


def expired(root: str, version: int) -> HistoryExpiredError:
    """The error for a version that the log no longer leads to."""
    return HistoryExpiredError(
        f'version {version} of table "{root}" no longer exists',
        detail="its log was cleaned up, or it was never there",
        hint="refresh in full, and keep the log longer than the time between two refreshes",
    )
