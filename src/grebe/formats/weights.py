"""Signed weights on the positions of files: the formal sum in which a table's state is written.

A state is every live file once, each of its deleted positions minus once. Sums and differences of
states are exact, whatever lies between them. Nothing here depends on a table format.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from pyroaring import BitMap64


class Countable(Protocol):
    """A data file: where it is and how many rows it holds, deleted ones included."""

    @property
    def path(self) -> str: ...

    @property
    def records(self) -> int: ...


F = TypeVar("F", bound=Countable)


@dataclass(slots=True)
class FileWeights(Generic[F]):
    """The weight of each row of one file: ``base`` for all, more or less at some positions."""

    file: F
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
class Weights(Generic[F]):
    """The weights of all files that count."""

    files: dict[str, FileWeights[F]] = field(default_factory=dict)

    def touched(self) -> list[FileWeights[F]]:
        """The files that hold a row with a weight, in a fixed order."""
        return [self.files[path] for path in sorted(self.files) if not self.files[path].is_zero]

    def total(self) -> int:
        """The sum of all weights: rows gained less rows lost."""
        return sum(weights.added() - weights.removed() for weights in self.files.values())

    def copy(self, file: F, sign: int, deleted: BitMap64) -> None:
        """Add a live copy of a file (``sign`` 1) or take one away (-1)."""
        self.files.setdefault(file.path, FileWeights(file)).add(sign, deleted)
