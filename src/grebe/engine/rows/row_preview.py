"""What a refresh of a row view would do, in numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class RowNumbers:
    """Rows that enter, leave and change; inputs that are known, and that functions would be asked with."""

    enter: int = 0
    leave: int = 0
    change: int = 0
    pending: int = 0
    """Rows whose functions were not asked yet."""
    reused: int = 0
    to_compute: int = 0

    @property
    def has_work(self) -> bool:
        """Whether anything would be written."""
        return bool(self.enter or self.leave or self.change or self.pending)

    def headings(self) -> Sequence[str]:
        """The names of the numbers."""
        return tuple(asdict(self))

    def cells(self) -> Sequence[object]:
        """The numbers as they are shown."""
        return tuple(f"{number:,}" for number in asdict(self).values())

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {**asdict(self), "has_work": self.has_work}
