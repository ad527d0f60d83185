"""Which rows of which files make up a window: the choice between the two exact ways of `diff`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grebe.formats.base import check_total
from grebe.formats.files import Files
from grebe.formats.iceberg.deletes import DeletedPositions
from grebe.formats.iceberg.diff import Step, needed_deletes, weigh
from grebe.formats.iceberg.manifests import DataFile, Manifests
from grebe.formats.iceberg.metadata import EMPTY, SnapshotPoint, TableMetadata
from grebe.formats.iceberg.schema import IcebergField, leaves
from grebe.formats.weights import FileWeights
from grebe.model import TableName, Window


@dataclass(frozen=True, slots=True)
class IcebergWindow:
    """The files to read for a window, and what their rows must sum to."""

    way: str
    touched: list[FileWeights[DataFile]]
    bytes: int
    total: int
    """Rows gained less rows lost."""

    @property
    def rows_added(self) -> int:
        """Rows with a positive weight, before equal ones cancel."""
        return sum(weights.added() for weights in self.touched)

    @property
    def rows_removed(self) -> int:
        """Rows with a negative weight, before equal ones cancel."""
        return sum(weights.removed() for weights in self.touched)


class IcebergPlanner:
    """Plans windows of one table; keeps what it read, since these files never change."""

    def __init__(self, name: TableName, files: Files, manifests: Manifests) -> None:
        self._name = name
        self._manifests = manifests
        self._deletes = DeletedPositions(files)

    def plan(
        self, table: TableMetadata, window: Window, fields: Sequence[IcebergField]
    ) -> IcebergWindow | None:
        """The way that reads fewer bytes, or None when only Iceberg itself can read the rows."""
        after, upto = table.places_of(window)
        replaced = _replacements(table, after, upto)
        ids = [after.snapshot_id, upto.snapshot_id, *(n for pair in replaced for n in pair)]
        states = self._manifests.live(table, ids)
        before, now = states[after.snapshot_id], states[upto.snapshot_id]
        if before.has_equality_deletes or now.has_equality_deletes:
            return None
        ways = {"end-to-end": [Step(1, before, now)]}
        undone = [Step(-1, states[parent], states[number]) for parent, number in replaced]
        if undone and all(_keeps_rows(step) for step in undone):
            ways["by-commit"] = [*ways["end-to-end"], *undone]
        plans = [self._weighed(way, steps, fields) for way, steps in ways.items()]
        best = min((plan for plan in plans if plan), key=lambda plan: plan.bytes, default=None)
        rows_before, rows_now = before.rows(), now.rows()
        if best is not None and rows_before is not None and rows_now is not None:
            check_total(self._name, window, rows_now - rows_before, best.total)
        return best

    def _weighed(
        self, way: str, steps: list[Step], fields: Sequence[IcebergField]
    ) -> IcebergWindow | None:
        needed = needed_deletes(steps)
        if any(d.encrypted or d.format not in ("parquet", "puffin") for d in needed):
            return None
        self._deletes.load(needed)
        weights = weigh(steps, self._deletes.positions)
        touched = weights.touched()
        if any(w.file.encrypted or w.file.format != "parquet" for w in touched):
            return None
        size = sum(_column_bytes(w.file, fields) for w in touched)
        return IcebergWindow(way, touched, size, weights.total())


def _replacements(
    table: TableMetadata, after: SnapshotPoint, upto: SnapshotPoint
) -> list[tuple[int, int]]:
    """Parent and own id of each commit of the window that only moved rows; none if unsure."""
    chain = table.chain(after.snapshot_id, upto.snapshot_id)
    if chain is None:
        return []
    return [
        (EMPTY if snapshot.parent is None else snapshot.parent, snapshot.id)
        for snapshot in chain
        if snapshot.operation == "replace"
    ]


def _keeps_rows(step: Step) -> bool:
    """Whether a commit that claims to only move rows has as many as before, where that is known."""
    if step.before.has_equality_deletes or step.after.has_equality_deletes:
        return False
    before, after = step.before.rows(), step.after.rows()
    return before is None or after is None or before == after


def _column_bytes(file: DataFile, fields: Sequence[IcebergField]) -> int:
    """The compressed bytes of the used columns, or the file's size when they are not listed."""
    if not fields or not file.column_sizes:
        return file.size
    return sum(file.column_sizes.get(leaf.id, 0) for field in fields for leaf in leaves(field))
