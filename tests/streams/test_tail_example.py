"""`examples/tail`: golden rows, both forms of a transform, ids that never collide."""

from __future__ import annotations

import json
import os
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

import grebe
from grebe.project.stream_views import writer_of
from grebe.streams.callables import load_functions
from grebe.streams.definition import declared_stream
from grebe.streams.event_text import text_of_event
from grebe.streams.row_making import make_rows

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "tail"
GOLDEN = Path(__file__).parent / "golden" / "tail.json"
FUNCTIONS = {
    "logs": {"$transform": "tail_views:logs"},
    "errors": {"$transform": "tail_views:errors", "$filter": "tail_views:failed"},
    "requests": {"$transform": "tail_views:requests", "$filter": "tail_views:asked"},
}


def spec(name: str, *, by_function: bool) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((EXAMPLE / "views" / f"{name}.json").read_text())
    return {**found, **FUNCTIONS[name]} if by_function else found


def rows_of(name: str, events: list[Any], *, by_function: bool) -> list[Any]:
    definition = declared_stream(spec(name, by_function=by_function))
    functions = load_functions(definition, str(EXAMPLE))
    return [
        make_rows(definition, functions, text_of_event(event), f"0:{place}")
        for place, event in enumerate(events)
    ]


def example_events() -> list[Any]:
    return [json.loads(line) for line in (EXAMPLE / "data" / "events.ndjson").open()]


@pytest.mark.parametrize("by_function", [False, True])
def test_F239_F240_F241_the_rows_of_the_example(by_function: bool) -> None:
    found = {
        name: [
            {"rows": json.loads(json.dumps(item.rows, default=str)), "dead": item.dead and item.dead.code}
            for item in rows_of(name, example_events(), by_function=by_function)
        ]
        for name in FUNCTIONS
    }  # fmt: skip
    if os.environ.get("GREBE_GOLDEN") == "write":
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(json.dumps(found, indent=1) + "\n")
    assert found == json.loads(GOLDEN.read_text())


def generated(drawn: random.Random) -> dict[str, Any]:
    """An event as a worker sends it, with what may be missing missing and sometimes of another type."""

    def maybe(value: Any, *others: Any) -> Any:
        return drawn.choice([value, value, value, *others])

    url = maybe("https://a.example/b?c=1", "http://a.example", "no url", None, 7)
    request = {"method": maybe("GET", None), "url": url, "cf": maybe({"colo": "OSL"}, None, {})}
    logs = [
        {
            "level": maybe("log", 7),
            "message": maybe(["a", 1, None], "text", [], None, [True, {"x": 1.50}]),
            "timestamp": maybe(1763600000000 + number, "2026-01-31T09:30:00Z", True),
        }
        for number in range(drawn.randrange(3))
    ]
    return {
        "scriptName": maybe("api", None),
        "outcome": maybe("ok", "exception", "canceled"),
        "eventTimestamp": maybe(1763600000000, -1),
        "event": maybe({"request": request, "response": maybe({"status": 200}, None, {})}, None),
        "logs": maybe(logs, None),
        "exceptions": maybe([], [{"name": "E", "message": "m"}], [{"name": "E"}, {"name": "F"}]),
    }


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_both_forms_of_a_transform_make_the_same(name: str) -> None:
    drawn = random.Random(7)
    events = [generated(drawn) for _ in range(10_000)]
    one = rows_of(name, events, by_function=False)
    two = rows_of(name, events, by_function=True)
    for place, (mapped, made) in enumerate(zip(one, two, strict=True)):
        assert mapped.rows == made.rows, events[place]
        assert bool(mapped.dead) == bool(made.dead), events[place]
        if mapped.dead and mapped.dead.field:
            assert (mapped.dead.code, mapped.dead.field) == (made.dead.code, made.dead.field)
    ids = [row["$id"] for item in one for row in item.rows]
    assert len(ids) == len(set(ids)) > 1_000


def test_C40_two_logs_in_one_millisecond_have_two_ids() -> None:
    [first, *_] = rows_of("logs", example_events(), by_function=True)
    assert first.rows[0]["timestamp"] == first.rows[1]["timestamp"]
    assert first.rows[0]["$id"] != first.rows[1]["$id"]


def test_F244_the_project_of_the_example_runs(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "tail")
    with grebe.open(tmp_path / "tail") as project:
        for _ in range(2):
            found = project.ingest("tail", example_events(), batch="first")
        assert {item.duplicates for item in found.values()} == {5}
        counts = {item.view.rpartition(".")[2]: item.totals for item in project.streams()}
        assert {name: (item.rows, item.filtered, item.dead) for name, item in counts.items()} == {
            "WorkerErrors": (3, 2, 0),
            "WorkerLogs": (3, 2, 1),
            "WorkerRequests": (3, 1, 1),
        }
        assert all(item.adds_up for item in counts.values())
        writer = writer_of(project.workspace, project.workspace.named("WorkerRequests"))
        assert writer.table.rows(["pathname"]).num_rows == 4
