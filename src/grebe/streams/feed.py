"""Events of a program as batches: slices of what it gives, each kept until it is stored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from grebe.errors import DefinitionError
from grebe.streams.event_text import Dead, digest_of_events, text_of_event
from grebe.streams.ingest import EventWriter
from grebe.streams.landed import Batch, Incoming, label_of
from grebe.streams.totals import Ingested

BATCH_SIZE: Final = 1000
"""Events of one commit, where somebody gives more at once."""


def feed_events(
    writer: EventWriter,
    events: Iterable[object],
    *,
    batch: str | None = None,
    on_error: str = "dead",
    size: int = BATCH_SIZE,
) -> Ingested:
    """Store events, slice after slice; what was stored before an error stays stored.

    Raises:
        RefreshError: a slice cannot be stored, or holds an event that dies and `on_error` is "stop".
    """
    if on_error not in ("dead", "stop"):
        raise DefinitionError(f'on_error is "{on_error}"', hint='write "dead" or "stop"')
    found: Ingested | None = None
    for part in slices(events, batch, size):
        done = writer.store(part, stop=on_error == "stop")
        found = done if found is None else found.plus(done)
    if found is None:
        once = batch is not None or writer.definition.key is not None
        return Ingested(exactly_once=once, version=writer.position().version)
    return found


def slices(
    events: Iterable[object], batch: str | None = None, size: int = BATCH_SIZE
) -> Iterator[Batch]:
    """Batches of at most so many events; a generator is read once, and never again."""
    if isinstance(events, (str, bytes, dict)):
        raise DefinitionError(
            "events are several", hint="give a list of events, or any other iterable of them"
        )
    given = iter(events)
    number = 0
    while texts := [text_of_event(event) for event in islice(given, size)]:
        yield batch_of(texts, batch, number)
        number += 1


def batch_of(texts: list[bytes | Dead], batch: str | None, number: int = 0) -> Batch:
    """The batch of some events; the id of a part of it has its number."""
    if batch is None:
        return Batch([Incoming(text, f"event:{place}") for place, text in enumerate(texts)])
    label = label_of(batch, number)
    plain = (text if isinstance(text, bytes) else text.text.encode() for text in texts)
    return Batch(
        [Incoming(text, f"{label}:{place}") for place, text in enumerate(texts)],
        label=label,
        digest=digest_of_events(plain),
    )
