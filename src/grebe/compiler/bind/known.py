"""What is known once earlier steps have run: all that a step may be bound to again."""

from __future__ import annotations

from typing import Protocol

from grebe.compiler.algebra.nodes import Named, Node, RowsNear, Scan
from grebe.compiler.algebra.scalar import Scalar


class Known(Protocol):
    """Facts of earlier steps. An engine gives figures; what follows from them is decided here."""

    def is_empty(self, step: str) -> bool:
        """Whether a step gave no row."""
        ...

    def rows_of(self, leaf: Node) -> int | None:
        """How many rows a step or a delta has, where they are on the driver."""
        ...

    def range_of(self, step: str, key: str, stored: str) -> Scalar | None:
        """Where a stored column lies that equals a column of a step, if that skips files."""
        ...

    def is_read(self, named: Named) -> bool:
        """Whether rows under this name are there already."""
        ...

    def source(self, scan: Scan) -> SourceFigures | None:
        """What is known of a source whose rows may come to the driver; None where none may."""
        ...

    def near(self, scan: Scan, near: RowsNear) -> NearFigures | None:
        """What is known of the rows that are near a change; None where they cannot be kept."""
        ...

    def is_refused(self, name: str) -> bool:
        """Whether rows of this name turned out to be too many for the driver."""
        ...


class SourceFigures(Protocol):
    """Figures of one source, from its metadata."""

    @property
    def rows(self) -> int | None:
        """How many rows it has."""
        ...

    def is_plain(self, column: str) -> bool:
        """Whether values of a column go to the driver and back as they are."""
        ...

    def width(self, column: str) -> int | None:
        """How many different values an integer column can have at most."""
        ...


class NearFigures(Protocol):
    """Figures of the rows of one source that are near a change."""

    @property
    def scans(self) -> int:
        """How many scans of this refresh need them."""
        ...

    @property
    def is_shared(self) -> bool:
        """Whether other views of the run may need them."""
        ...

    @property
    def rows(self) -> int | None:
        """How many rows the source has."""
        ...

    @property
    def is_plain(self) -> bool:
        """Whether all columns that are wanted go to the driver and back as they are."""
        ...

    @property
    def keys(self) -> int | None:
        """How many different keys the change has; None where they are not on the driver."""
        ...

    @property
    def width(self) -> int | None:
        """How many different values the column can have at most."""
        ...
