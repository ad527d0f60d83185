"""Poison: an event whose function kills its process, never returns, or eats memory is found alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from grebe.errors import DeclarationError
from grebe.streams.definition import declared_stream
from grebe.streams.event_text import text_of_event
from grebe.streams.isolate import IsolatedProcess, OwnProcess
from grebe.streams.landed import Batch, Incoming
from streams.feeding import definition, dying, stored, writer

POISON = definition(transform="streams.views_of_people:poison", filter={"id": {"$exists": True}})


def events(kind: str, place: int, count: int = 20) -> list[tuple[object, str]]:
    found = []
    for number in range(count):
        event: dict[str, object] = {"id": f"e{number}", "n": number}
        if number == place:
            event["poison"] = kind
        found.append((text_of_event(event), f"0:{number}"))
    return found


@pytest.mark.parametrize(
    ("kind", "place", "code"),
    [
        ("exit", 7, "crashed"),
        ("die", 0, "crashed"),
        ("segfault", 19, "crashed"),
        ("loop", 7, "timed-out"),
        ("eat", 12, "crashed"),
        ("raise", 3, "transform-failed"),
    ],
)
def test_the_poison_dies_alone(kind: str, place: int, code: str) -> None:
    seconds = 0.5 if kind == "loop" else 30.0
    maker = IsolatedProcess(POISON, "tests", seconds, 0.02, megabytes=300)
    try:
        found = maker.rows(events(kind, place))  # type: ignore[arg-type]
        dead = {number: item.dead.code for number, item in enumerate(found) if item.dead}
        assert dead == {place: code}
        assert [item.rows[0]["n"] for item in found if item.rows] == [
            number for number in range(20) if number != place
        ]
        assert maker.started <= 1 + 5  # twenty are halved five times, and each costs one process
    finally:
        maker.close()


def test_the_same_rows_come_from_a_worker_and_from_here() -> None:
    said = definition(transform="streams.views_of_people:doubled")
    from grebe.streams.callables import load_functions

    here = OwnProcess(said, load_functions(said, "tests"))
    there = IsolatedProcess(said, "tests")
    given = [(text_of_event(item), f"0:{n}") for n, item in enumerate([{"id": "a", "n": 2}, {"id": 7}, "{", {"id": "b", "n": 3.0}])]  # fmt: skip
    try:
        assert there.rows(given) == here.rows(given)
        assert there.rows([]) == []
    finally:
        there.close()


def test_poison_reaches_the_table_as_one_dead_letter(tmp_path: Path) -> None:
    one = writer(tmp_path, POISON)
    one.maker = IsolatedProcess(POISON, "tests", seconds=0.5)
    texts = events("exit", 2, 5)
    batch = Batch([Incoming(text, place) for text, place in texts], label="b", digest="1")  # type: ignore[arg-type]
    done = one.store(batch)
    assert (done.rows, done.dead) == (4, 1)
    assert len(stored(one.table)) == 4
    assert sum(dying(one.table).values()) == 1
    one.close()


def test_a_worker_that_cannot_import_says_so() -> None:
    said = declared_stream({**POISON.document, "$transform": "streams.no_such_module:f"})
    with pytest.raises(DeclarationError, match=r"\$transform"):
        IsolatedProcess(said, "tests").rows(events("exit", 2, 3))  # type: ignore[arg-type]
