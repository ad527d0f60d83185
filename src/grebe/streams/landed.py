"""What of a batch landed already: by positions, by its id, by keys. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from grebe.errors import HistoryExpiredError, RefreshError, SourceReplacedError
from grebe.model import Version
from grebe.streams.event_text import Dead

_LONGEST_LABEL: Final = 200
"""Signs of a batch id that are kept as they are; of a longer one a digest."""
_SPLIT: Final = "@"
_SLICE: Final = "#"
"""Between the id of a batch and the number of a part of it."""


@dataclass(frozen=True, slots=True)
class Incoming:
    """One event as it came: its text, and where in its source it lies."""

    text: bytes | Dead
    position: str
    """Names the event for ever: partition and offset, or batch and ordinal."""
    partition: str = ""
    offset: int = -1


@dataclass(frozen=True, slots=True)
class SourceWindow:
    """``[begin, end)`` of each partition of a source, with what tells it from another of its name."""

    identity: str
    begin: Mapping[str, int]
    end: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Batch:
    """Events that are committed together, and what is known of them as a whole."""

    events: Sequence[Incoming]
    window: SourceWindow | None = None
    label: str | None = None
    """The batch id, or what it is known by."""
    digest: str = ""
    """Tells its events from others under the same id."""


@dataclass(slots=True)
class Landed:
    """What a stream view holds already."""

    identity: str | None = None
    positions: dict[str, int] = field(default_factory=dict)
    """The next offset of each partition."""
    labels: dict[str, str] = field(default_factory=dict)
    """Batch ids with the digests of their events."""
    keys: set[object] = field(default_factory=set)


def position_text(positions: Mapping[str, int]) -> Version:
    """Positions as the version of a frontier."""
    return Version(json.dumps(dict(positions), sort_keys=True, separators=(",", ":")))


def positions_of(version: str) -> dict[str, int]:
    """What `position_text` wrote."""
    return {str(part): int(offset) for part, offset in json.loads(version).items()}


def label_of(batch: str, number: int = 0) -> str:
    """What a batch id is kept as; a slice of it has its number."""
    from hashlib import blake2b

    text = batch
    odd = not batch.isprintable() or not batch.isascii() or _SLICE in batch
    if odd or len(batch) > _LONGEST_LABEL or batch.startswith("id:"):
        digest = blake2b(batch.encode(errors="surrogatepass"), digest_size=16).hexdigest()
        text = f"id:{digest}"
    return f"{text}{_SLICE}{number}" if number else text


def stored_label(label: str, digest: str) -> str:
    """What the rows of a batch say of it.

    >>> read_label(stored_label("a@b", "12"))
    ('a@b', '12')
    """
    return f"{label}{_SPLIT}{digest}"


def read_label(text: str) -> tuple[str, str]:
    """What `stored_label` wrote."""
    label, _, digest = text.rpartition(_SPLIT)
    return label, digest


def unseen(batch: Batch, landed: Landed) -> list[int]:
    """The places of the events that did not land, by positions and by the batch's id.

    Raises:
        SourceReplacedError: the positions are those of another source of this name.
        HistoryExpiredError: events between what landed and this batch are missing.
        RefreshError: the id is known, with other events.
    """
    if batch.window is not None:
        return _behind(batch, batch.window, landed)
    known = landed.labels.get(batch.label) if batch.label is not None else None
    if known is None:
        return list(range(len(batch.events)))
    if known != batch.digest:
        raise RefreshError(
            f'batch "{(batch.label or "")[:100]}" was stored with other events',
            detail="nothing of this batch is stored",
            hint="send new events under a new batch id",
            code="batch-differs",
        )
    return []


def _behind(batch: Batch, window: SourceWindow, landed: Landed) -> list[int]:
    if landed.identity is not None and landed.identity != window.identity:
        raise SourceReplacedError(
            "the stream's source is another one than before",
            detail=f"positions are of {landed.identity}, events come from {window.identity}",
            hint="adopt it, if its events are new ones: view.adopt_source(identity)",
        )
    for part, begin in window.begin.items():
        at = landed.positions.get(part)
        if at is not None and at < begin:
            raise HistoryExpiredError(
                f"events {at} to {begin - 1} of partition {part} are gone",
                detail="the source no longer holds what lies between the view and this batch",
                hint='set on_gap = "continue" for the stream to go on without them',
            )
    return [
        place
        for place, event in enumerate(batch.events)
        if event.offset >= landed.positions.get(event.partition, -1)
    ]


def advanced(window: SourceWindow, landed: Landed) -> dict[str, int]:
    """The positions after a window; they never lead back."""
    return {
        **landed.positions,
        **{part: max(end, landed.positions.get(part, 0)) for part, end in window.end.items()},
    }
