"""One commit of events under way: which rows, of which batch, received when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from grebe.model import RunId
from grebe.streams.landed import Batch, stored_label
from grebe.streams.totals import Totals


@dataclass(slots=True)
class CommitPlan:
    """One commit under way."""

    run_id: RunId
    at: datetime
    batch: Batch
    rows: list[tuple[Mapping[str, Any], int, str | None, bytes | None]] = field(
        default_factory=list
    )
    keys: set[object] = field(default_factory=set)
    letters: set[str] = field(default_factory=set)
    totals: Totals = field(default_factory=Totals)
    moves: bool = False

    @property
    def label(self) -> str:
        """What the rows say of their batch."""
        if self.batch.label is None:
            return self.run_id
        return stored_label(self.batch.label, self.batch.digest)

    def add(
        self, row: Mapping[str, Any], place: int, dead: str | None = None, raw: bytes | None = None
    ) -> None:
        self.rows.append((row, place, dead, raw))

    def is_new_letter(self, digest: str, *, is_known: bool) -> bool:
        """False for a dead letter that is stored, or comes twice in this batch."""
        if is_known or digest in self.letters:
            return False
        self.letters.add(digest)
        return True
