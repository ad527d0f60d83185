"""Dead letters as they are kept: why, what they were, and what they are known by."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import Any, Final

from grebe.streams.event_text import Dead, DeadCode

MARK: Final = ""
"""Stands in the place of a reason in a row that only says that its batch landed: no event of it
became a row or a dead letter."""
KEPT: Final = 64 * 1024
"""Bytes of an event that are kept; of a longer one its beginning, and its hash."""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """An event that did not become rows."""

    batch: str
    event: int
    at: datetime
    code: str
    field: str
    text: str
    raw: bytes
    position: str
    digest: str
    is_whole: bool
    """False when the event was too long to be kept: it cannot be run again."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "batch": self.batch,
            "event": self.event,
            "at": self.at.isoformat(),
            "code": self.code,
            "field": self.field,
            "text": self.text,
            "raw": self.raw.decode("utf-8", errors="replace"),
            "position": self.position,
        }


def event_digest(text: bytes | Dead) -> str:
    """What an event is known by."""
    content = text if isinstance(text, bytes) else text.text.encode(errors="replace")
    return blake2b(content, digest_size=12).hexdigest()


def raw_of(text: bytes | Dead) -> bytes:
    """What of an event is kept."""
    return text[:KEPT] if isinstance(text, bytes) else b""


def letter_text(dead: Dead, text: bytes | Dead, position: str) -> str:
    """What is kept of a dead letter beside its own text."""
    document = {
        "code": dead.code,
        "field": dead.field,
        "text": dead.text,
        "position": position,
        "hash": event_digest(text),
        "bytes": len(text) if isinstance(text, bytes) else -1,
    }
    return json.dumps(document, separators=(",", ":"))


def letter_of(batch: str, event: int, at: datetime, said: str, raw: bytes) -> DeadLetter:
    """The dead letter that is stored."""
    found = json.loads(said)
    return DeadLetter(
        batch,
        event,
        at,
        str(DeadCode(found["code"])),
        found["field"],
        found["text"],
        raw,
        found["position"],
        found["hash"],
        found["bytes"] == len(raw),
    )


def digest_in(said: str) -> str:
    """What a dead letter is known by."""
    return str(json.loads(said)["hash"])
