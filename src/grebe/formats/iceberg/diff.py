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
from dataclasses import dataclass

from pyroaring import BitMap64

from grebe.formats.iceberg.manifests import DataFile, DeleteFile, LiveFiles
from grebe.formats.weights import Weights

Deleted = Callable[[DataFile, LiveFiles], BitMap64]


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


def weigh(steps: Sequence[Step], deleted: Deleted) -> Weights[DataFile]:
    """The sum of the steps' differences as weights on positions of files."""
    weights: Weights[DataFile] = Weights()
    for step in steps:
        for before, after in _moved(step):
            for side, sign in ((before, -1), (after, 1)):
                for file, live in side:
                    weights.copy(file, sign * step.sign, deleted(file, live))
    return weights
