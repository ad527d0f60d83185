"""A stream view without a project: its table, and what stores events in it."""

from __future__ import annotations

import json
import multiprocessing
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from grebe.formats.delta.event_table import DeltaEvents
from grebe.formats.event_tables import DEAD, EventTable
from grebe.formats.failpoints import VARIABLE
from grebe.model import CatalogAddress, TableName
from grebe.streams.definition import StreamDefinition, declared_stream
from grebe.streams.event_columns import stored_schema
from grebe.streams.event_memory import dead_letters
from grebe.streams.event_text import digest_of_events
from grebe.streams.ingest import EventWriter
from grebe.streams.isolate import row_maker
from grebe.streams.landed import Batch, Incoming, SourceWindow, label_of

SPEC: dict[str, Any] = {
    "$type": "V",
    "$stream": "tail",
    "$schema": {"id": "string!", "n": "int"},
    "$filter": {"skip": {"$ne": True}},
}
KINDS = ("label", "offset", "key")
NAME = TableName("ev", "s", "__grebe_V_01234567")


def definition(**directives: Any) -> StreamDefinition:
    return declared_stream({**SPEC, **{f"${key}": item for key, item in directives.items()}})


def delta_table(folder: Path, name: TableName = NAME) -> EventTable:
    return DeltaEvents(CatalogAddress("ev", str(folder), root=str(folder)), name)


def writer(folder: Path, said: StreamDefinition | None = None, **more: Any) -> EventWriter:
    """A new consumer, as a process that has just started."""
    said = said or definition()
    table = delta_table(folder)
    table.create(stored_schema(said.columns), {})
    made = EventWriter(said, "digest", "print", table, row_maker(said, "tests"), **more)
    made.begin()
    return made


def event(number: int) -> dict[str, Any]:
    """Every fifth is dead, every seventh does not count."""
    made: dict[str, Any] = {"id": f"e{number}", "n": number}
    if number % 5 == 4:
        made["n"] = "dead"
    if number % 7 == 6:
        made["skip"] = True
    return made


def text(number: int) -> bytes:
    return json.dumps(event(number)).encode()


def labelled(name: str, numbers: Sequence[int]) -> Batch:
    texts = [text(number) for number in numbers]
    label = label_of(name)
    items = [Incoming(item, f"{label}:{place}") for place, item in enumerate(texts)]
    return Batch(items, label=label, digest=digest_of_events(texts))


def window(begin: int, end: int, partition: str = "0") -> Batch:
    items = [Incoming(text(n), f"{partition}:{n}", partition, n) for n in range(begin, end)]
    return Batch(items, SourceWindow("topic", {partition: begin}, {partition: end}))


def plain(numbers: Sequence[int]) -> Batch:
    return Batch([Incoming(text(number), f"x:{number}") for number in numbers])


def stored(table: EventTable) -> Counter[tuple[str, int | None]]:
    """The rows, as a bag."""
    rows = table.rows(["id", "n", DEAD]).to_pylist()
    return Counter((row["id"], row["n"]) for row in rows if row[DEAD] is None)


def dying(table: EventTable) -> Counter[str]:
    return Counter(item.raw.decode() for item in dead_letters(table))


def wanted(numbers: Sequence[int]) -> tuple[Counter[tuple[str, int | None]], Counter[str]]:
    """What must be stored of some events, each once."""
    rows: Counter[tuple[str, int | None]] = Counter()
    dead: Counter[str] = Counter()
    for number in set(numbers):
        found = event(number)
        if found.get("skip"):
            continue
        if isinstance(found["n"], str):
            dead[json.dumps(found)] += 1
        else:
            rows[found["id"], found["n"]] += 1
    return rows, dead


def check(table: EventTable, numbers: Sequence[int]) -> None:
    """Every event once: its row, or its dead letter."""
    rows, dead = wanted(numbers)
    assert stored(table) == rows
    assert dying(table) == dead


def batch_of(kind: str, number: int, size: int = 6) -> Batch:
    """The events from number * size on, as a source of that kind would give them."""
    numbers = range(number * size, (number + 1) * size)
    match kind:
        case "label":
            return labelled(f"batch-{number}", numbers)
        case "offset":
            return window(number * size, (number + 1) * size)
    return plain(numbers)


def fed(folder: Path, kind: str) -> EventWriter:
    return writer(folder, definition(key="id") if kind == "key" else None)


def consume_killed(folder: str, kind: str, number: int, place: str) -> None:
    """In a process of its own: it ends at that place."""
    one = fed(Path(folder), kind)
    os.environ[VARIABLE] = f"{place}=kill"
    one.store(batch_of(kind, number))


def killed_once(folder: Path, kind: str, number: int, place: str, broken: str) -> int | None:
    """The end of a process that is killed at a place, with a rule broken in it."""
    process = multiprocessing.get_context("spawn").Process(
        target=consume_broken, args=(str(folder), kind, number, place, broken)
    )
    process.start()
    process.join(120)
    return process.exitcode


def consume_broken(folder: str, kind: str, number: int, place: str, broken: str) -> None:
    """In a process of its own."""
    if broken:
        import importlib

        import pytest

        module, _, name = broken.partition(":")
        getattr(importlib.import_module(module), name)(pytest.MonkeyPatch())
    consume_killed(folder, kind, number, place)
