"""The difference of two states of a table as weights on positions of files. Pure.

A state is a formal sum: every live file once, each of its deleted positions minus once. Therefore

    changes of a window  =  state(upto) − state(after)

exactly, whatever lies between. A commit that only moves rows (`replace`) adds nothing to the rows
but a lot to that sum, so the second way subtracts it again:

    changes of a window  =  state(upto) − state(after) − Σ (state(r) − state(parent of r))

over the window's `replace` commits r. Both are exact; which one reads fewer bytes depends on the
window. They are alternatives: positions of the one say nothing about the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from pyroaring import BitMap64

from grebe.formats.iceberg.manifests import DataFile, DeleteFile, LiveFiles

Deleted = Callable[[DataFile, LiveFiles], BitMap64]


@dataclass(slots=True)
class FileWeights:
    """The weight of each row of one file: ``base`` for all, more or less at some positions."""

    file: DataFile
    base: int = 0
    marks: dict[int, BitMap64] = field(default_factory=dict)
    """Disjoint positions by the weight that is added to ``base`` there."""

    def add(self, sign: int, deleted: BitMap64) -> None:
        """Add a live copy of the file (``sign`` 1) or take one away (-1)."""
        self.base += sign
        if not deleted:
            return
        moved: dict[int, BitMap64] = {}
        rest = BitMap64(deleted)
        for weight, positions in self.marks.items():
            _put(moved, weight - sign, positions & deleted)
            _put(moved, weight, positions - deleted)
            rest -= positions
        _put(moved, -sign, rest)
        self.marks = moved

    @property
    def is_zero(self) -> bool:
        """Whether no row of the file counts."""
        return not any(weight and count for weight, count in self._counts())

    def added(self) -> int:
        """The number of rows with a positive weight, times it."""
        return sum(count * weight for weight, count in self._counts() if weight > 0)

    def removed(self) -> int:
        """The number of rows with a negative weight, times it."""
        return -sum(count * weight for weight, count in self._counts() if weight < 0)

    def _counts(self) -> list[tuple[int, int]]:
        marked = sum(len(positions) for positions in self.marks.values())
        own = [(self.base + weight, len(positions)) for weight, positions in self.marks.items()]
        return [*own, (self.base, self.file.records - marked)]


def _put(marks: dict[int, BitMap64], weight: int, positions: BitMap64) -> None:
    if weight and positions:
        marks[weight] = marks[weight] | positions if weight in marks else positions


@dataclass(slots=True)
class Weights:
    """The weights of all files that count."""

    files: dict[str, FileWeights] = field(default_factory=dict)

    def touched(self) -> list[FileWeights]:
        """The files that hold a row with a weight, in a fixed order."""
        return [self.files[path] for path in sorted(self.files) if not self.files[path].is_zero]

    def total(self) -> int:
        """The sum of all weights: rows gained less rows lost."""
        return sum(weights.added() - weights.removed() for weights in self.files.values())

    def _copy(self, file: DataFile, sign: int, deleted: BitMap64) -> None:
        self.files.setdefault(file.path, FileWeights(file)).add(sign, deleted)


@dataclass(frozen=True, slots=True)
class Step:
    """Two states whose difference counts, with a sign."""

    sign: int
    before: LiveFiles
    after: LiveFiles


_Side = list[tuple[DataFile, LiveFiles]]


def _moved(step: Step) -> list[tuple[_Side, _Side]]:
    """Per path, the copies of both sides, where they are not the same anyway."""
    sides: dict[str, tuple[_Side, _Side]] = {}
    for index, live in enumerate((step.before, step.after)):
        for file in live.data:
            sides.setdefault(file.path, ([], []))[index].append((file, live))
    return [pair for pair in sides.values() if _look(pair[0]) != _look(pair[1])]


def _look(side: _Side) -> list[tuple[int, list[tuple[str, int]]]]:
    return sorted(
        (file.sequence, sorted(delete.key for delete in live.deletes_of(file)))
        for file, live in side
    )


def needed_deletes(steps: Iterable[Step]) -> list[DeleteFile]:
    """The delete files that have to be read before `weigh`."""
    return [
        delete
        for step in steps
        for pair in _moved(step)
        for side in pair
        for file, live in side
        for delete in live.deletes_of(file)
    ]


def weigh(steps: Sequence[Step], deleted: Deleted) -> Weights:
    """The sum of the steps' differences as weights on positions of files."""
    weights = Weights()
    for step in steps:
        for before, after in _moved(step):
            for side, sign in ((before, -1), (after, 1)):
                for file, live in side:
                    weights._copy(file, sign * step.sign, deleted(file, live))
    return weights
