"""Which rows of which files make up a window: two exact ways, and the one that reads less is taken.

* **end to end**: state(upto) − state(after), as weights on positions of files.
* **by commit**: the sum over the commits between. A commit that wrote a change data feed gives its
  rows; any other one gives its files, where those that only moved rows (dataChange = false) drop
  out. So a feed that was switched on late, or off in between, is used as far as it goes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyroaring import BitMap64

from grebe import thresholds
from grebe.errors import HistoryExpiredError
from grebe.formats.base import check_total
from grebe.formats.delta.actions import AddedFile, ChangeFile, Commit, FileKey
from grebe.formats.delta.log import Log
from grebe.formats.delta.log_state import LogState, apply
from grebe.formats.delta.vectors import Vectors, vector_path
from grebe.formats.files import Files, torn
from grebe.formats.weights import FileWeights, Weights
from grebe.model import TableName, Version, Window

Live = Mapping[FileKey, AddedFile]


@dataclass(frozen=True, slots=True)
class Feed:
    """A file of the change data feed and the sign that its rows count with."""

    file: ChangeFile
    sign: int


@dataclass(frozen=True, slots=True)
class DeltaWindow:
    """The files to read for a window, and what their rows must sum to."""

    way: str
    touched: tuple[FileWeights[AddedFile], ...]
    feeds: tuple[Feed, ...]
    total: int | None
    """Rows gained less rows lost, None when the log does not give both counts."""

    @property
    def bytes(self) -> int:
        """What reading it costs at most."""
        feeds = sum(feed.file.size for feed in self.feeds)
        return feeds + sum(weights.file.size for weights in self.touched)

    @property
    def is_empty(self) -> bool:
        """No row can have changed."""
        return not self.touched and not self.feeds

    @property
    def paths(self) -> list[str]:
        """Every file that has to be there."""
        return [w.file.path for w in self.touched] + [feed.file.path for feed in self.feeds]


@dataclass(slots=True)
class _Sum:
    """Weights and feeds under way."""

    weights: Weights[AddedFile] = field(default_factory=Weights)
    copies: list[tuple[AddedFile, int]] = field(default_factory=list)
    feeds: list[Feed] = field(default_factory=list)

    def copy(self, files: Iterable[AddedFile], sign: int) -> None:
        self.copies += [(file, sign) for file in files]


def ends(window: Window) -> tuple[int, int]:
    """The versions of a window as numbers; -1 stands for nothing."""
    return -1 if window.after is None else number_of(window.after), number_of(window.upto)


def number_of(version: Version) -> int:
    """The number of a version."""
    return int(version)


class DeltaPlanner:
    """Plans windows of one table."""

    def __init__(self, name: TableName, log: Log, files: Files) -> None:
        self._name = name
        self._log = log
        self._files = files
        self._vectors = Vectors(log.root, files)

    def lost(self, window: Window) -> list[str]:
        """Files of the window's first version that are gone: that version cannot be read any more.

        What is still live at its other end is there, or the table itself is broken.
        """
        after, upto = ends(window)
        if after < 0:
            return []
        before, now = self._log.state(after).files, self._log.state(upto).files
        gone = [file for key, file in before.items() if key not in now]
        paths = {file.path: None for file in gone}
        paths |= {path: None for file in gone if (path := self._vector_path(file))}
        return self._files.absent(list(paths))

    def deleted(self, state: LogState) -> list[tuple[AddedFile, BitMap64]]:
        """The files of a version, with the deleted positions of each."""
        files = list(state.files.values())
        self._vectors.load(files)
        return [(file, self._vectors.positions(file)) for file in files]

    def plan(self, window: Window) -> DeltaWindow:
        """The way that reads fewer bytes."""
        after, upto = ends(window)
        before = self._log.state(after) if after >= 0 else None
        now = self._log.state(upto)
        total = _difference(before, now)
        whole = self._weighed("end-to-end", _end_to_end(before, now), total)
        best = whole
        if before is not None and (stepwise := self._by_commit(before, now, total)) is not None:
            best = min(whole, stepwise, key=_cost)
        if total is not None and not best.feeds:
            found = sum(weights.added() - weights.removed() for weights in best.touched)
            check_total(self._name, window, total, found)
        return best

    def _by_commit(self, before: LogState, now: LogState, total: int | None) -> DeltaWindow | None:
        """The sum of the commits, None when it cannot be trusted or its files are gone."""
        sign = 1 if before.version < now.version else -1
        low, high = sorted((before.version, now.version))
        live = dict((before if sign > 0 else now).files)
        found = _Sum()
        try:
            for commit in self._log.commits(low, high):
                if not _keeps_rows(commit, live):
                    return None
                _add_commit(found, commit, live, sign)
                apply(live, commit)
            plan = self._weighed("by-commit", found, total)
        except HistoryExpiredError:
            return None
        if plan.feeds:
            plan = replace(plan, way="change-feed")
        return None if self._files.absent(plan.paths) else plan

    def _weighed(self, way: str, found: _Sum, total: int | None) -> DeltaWindow:
        counted = [(self._counted(file), sign) for file, sign in found.copies]
        self._vectors.load(file for file, _ in counted)
        for file, sign in counted:
            found.weights.copy(file, sign, self._vectors.positions(file))
        return DeltaWindow(way, tuple(found.weights.touched()), tuple(found.feeds), total)

    def _counted(self, file: AddedFile) -> AddedFile:
        """The file with its number of rows, from its own footer where the log does not say."""
        if file.counted is not None:
            return file
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            with self._files.open(file.path) as stream:
                return replace(file, counted=pq.read_metadata(stream).num_rows)
        except (pa.ArrowException, OSError) as error:
            raise torn(file.path, error) from error

    def _vector_path(self, file: AddedFile) -> str | None:
        return None if file.vector is None else vector_path(self._log.root, file.vector)


def _cost(plan: DeltaWindow) -> tuple[bool, int, bool, int]:
    """What to prefer: nothing at all, then fewer bytes, and a feed among what is small anyway."""
    return not plan.is_empty, plan.bytes // thresholds.FILE_BYTES, not plan.feeds, plan.bytes


def _difference(before: LogState | None, now: LogState) -> int | None:
    old, new = 0 if before is None else before.rows(), now.rows()
    return None if old is None or new is None else new - old


def _end_to_end(before: LogState | None, now: LogState) -> _Sum:
    found = _Sum()
    old: dict[FileKey, AddedFile] = {} if before is None else dict(before.files)
    found.copy((file for key, file in old.items() if key not in now.files), -1)
    found.copy((file for key, file in now.files.items() if key not in old), 1)
    return found


def _add_commit(found: _Sum, commit: Commit, live: Live, sign: int) -> None:
    """Add what a commit changed in the files that were live before it."""
    if commit.feed:
        found.feeds += [Feed(file, sign) for file in commit.feed]
        return
    found.copy(_removed(commit, live, data_change=True), -sign)
    found.copy(_added(commit, live, data_change=True), sign)


def _removed(commit: Commit, live: Live, *, data_change: bool) -> list[AddedFile]:
    """The removed files as they were added: a removal often says nothing but the path."""
    return [
        live[file.key]
        for file in commit.removes
        if file.data_change is data_change and file.key in live
    ]


def _added(commit: Commit, live: Live, *, data_change: bool) -> list[AddedFile]:
    """The added files that were not live before: some writers add a file again to describe it."""
    return [
        file for file in commit.adds if file.data_change is data_change and file.key not in live
    ]


def _keeps_rows(commit: Commit, live: Live) -> bool:
    """Whether what claims to only move rows leaves as many as before, where that is known."""
    old = [file.rows for file in _removed(commit, live, data_change=False)]
    new = [file.rows for file in _added(commit, live, data_change=False)]
    if None in old or None in new:
        return True
    return sum(filter(None, old)) == sum(filter(None, new))


def counts(plan: DeltaWindow, feed_rows: Sequence[int]) -> tuple[int, int] | None:
    """Rows added and removed before equal ones cancel, from the number of rows to be read.

    Each row of a feed counts once, so their number and the difference of both say how many.
    """
    added = sum(weights.added() for weights in plan.touched)
    removed = sum(weights.removed() for weights in plan.touched)
    if not plan.feeds:
        return added, removed
    if plan.total is None:
        return None
    rest, number = plan.total - (added - removed), sum(feed_rows)
    return added + (number + rest) // 2, removed + (number - rest) // 2
