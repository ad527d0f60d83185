"""Events over HTTP: answered when they are stored, once however often they are sent."""

from __future__ import annotations

import gzip
import hashlib
import hmac
import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from grebe.api import Project
from grebe.formats.failpoints import VARIABLE
from grebe.model import TableName
from grebe.project.stream_sources import inbox_of
from grebe.project.stream_views import writer_of
from grebe.web.served import Served
from grebe.web.server import Server, bind

TOML = """
[catalogs.events]
format = "delta"
root = "events"
[defaults]
catalog = "events"
schema = "tail"
"""
VIEW: dict[str, Any] = {
    "$type": "Logs",
    "$stream": "tail",
    "$schema": {"id": "string!", "n": "int"},
}


class Site:
    """A project with a server that can be stopped and begun again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.closing = ExitStack()

    def begin(self, toml: str = "", **options: Any) -> httpx.Client:
        (self.folder / "grebe.toml").write_text(TOML + toml)
        self.project = self.closing.enter_context(Project.open(self.folder))
        for name in ("Logs", "Others"):
            self.project.define_stream_view({**VIEW, "$type": name})
        server = self.closing.enter_context(
            Server(Served(self.project, **options), bind("127.0.0.1", 0))
        )
        host, port = server.address
        return self.closing.enter_context(
            httpx.Client(base_url=f"http://{host}:{port}", timeout=60)
        )

    def stop(self) -> None:
        self.closing.close()
        self.closing = ExitStack()

    def inbox(self) -> Counter[str]:
        """What the inbox holds, by a reader of its own."""
        with Project.open(self.folder) as project:
            table = inbox_of(project.workspace, TableName("events", "tail", "x"), "tail").table
            return Counter(row["event"].decode() for row in table.rows(["event"]).to_pylist())

    def rows(self, view: str = "Logs") -> Counter[str]:
        """What a view holds, as soon as it holds all of the inbox."""
        for _ in range(600):
            with Project.open(self.folder) as project:
                writer = writer_of(project.workspace, project.workspace.named(view))
                frontier = writer.position().frontier
                point = frontier.sources[0][1] if frontier else None
                if point and point.version == f'{{"0":{sum(self.inbox().values())}}}':
                    table = writer.table.rows(["id", "__grebe_dead"]).to_pylist()
                    return Counter(r["id"] for r in table if r["__grebe_dead"] is None)
            time.sleep(0.1)
        raise AssertionError(f"{view} does not come to the end of the inbox")


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path)
    yield made
    made.stop()


def event(number: int) -> dict[str, Any]:
    return {"id": f"e{number}", "n": number}


def test_events_are_in_the_inbox_when_the_answer_comes(site: Site) -> None:
    client = site.begin()
    answer = client.post("/streams/tail", json=[event(1), event(2)])
    assert (answer.status_code, answer.json()) == (200, {"received": 2, "stored": 2})
    assert sum(site.inbox().values()) == 2
    assert site.rows() == site.rows("Others") == Counter(["e1", "e2"])


def test_every_form_of_a_body(site: Site) -> None:
    client = site.begin()
    assert client.post("/streams/tail", json=event(1)).json()["stored"] == 1
    lines = b'{"id": "e2", "n": 1.0}\n\nno json\n'
    kind = {"content-type": "application/x-ndjson"}
    assert client.post("/streams/tail", content=lines, headers=kind).json()["stored"] == 2
    packed = gzip.compress(json.dumps([event(3)]).encode())
    assert client.post("/streams/tail", content=packed, headers={"content-encoding": "gzip"}).json()["stored"] == 1  # fmt: skip
    assert site.rows() == Counter(["e1", "e2", "e3"])
    assert len(site.project.view("Logs").dead_letters()) == 1


@pytest.mark.parametrize(
    ("content", "headers", "status", "code"),
    [
        (b"", {}, 400, "not-json"),
        (b"[]", {}, 400, "not-json"),
        (b"no json", {}, 400, "not-json"),
        (b"[1, 2", {}, 400, "not-json"),
        (b"[1] 2", {}, 400, "not-json"),
        (b"\xff", {}, 400, "not-json"),
        (b"x", {"content-encoding": "gzip"}, 400, "not-json"),
        (b'"' + b"x" * (8 << 20) + b'"', {}, 413, "request-too-large"),
        (gzip.compress(b"[" + b" " * (9 << 20) + b"1]"), {"content-encoding": "gzip"}, 413, "request-too-large"),
    ],
    ids=["empty", "none", "text", "torn", "more", "no utf-8", "no gzip", "large", "bomb"],
)  # fmt: skip
def test_a_body_that_is_none_is_refused_and_nothing_is_stored(
    site: Site, content: bytes, headers: dict[str, str], status: int, code: str
) -> None:
    client = site.begin()
    answer = client.post("/streams/tail", content=content, headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert site.inbox() == Counter()


def test_eight_clients_that_send_everything_twice(site: Site) -> None:
    client = site.begin('[streams.tail]\nlinger = "5ms"\n')
    statuses: list[int] = []

    def send(who: int) -> None:
        with httpx.Client(base_url=client.base_url, timeout=60) as own:
            for number in range(6):
                events = [event(who * 1000 + number * 10 + place) for place in range(5)]
                for _ in range(2):
                    key = {"idempotency-key": f"{who}-{number}"}
                    statuses.append(own.post("/streams/tail", json=events, headers=key).status_code)

    threads = [threading.Thread(target=send, args=[who]) for who in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(statuses) == {200}
    wanted = Counter(
        f"e{who * 1000 + n * 10 + place}"
        for who in range(8)
        for n in range(6)
        for place in range(5)
    )
    assert site.rows() == wanted
    assert set(site.inbox().values()) == {1}


def test_a_key_with_other_events_is_refused(site: Site) -> None:
    client = site.begin()
    key = {"idempotency-key": "k"}
    assert client.post("/streams/tail", json=[event(1)], headers=key).status_code == 200
    answer = client.post("/streams/tail", json=[event(2)], headers=key)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "batch-differs")
    assert client.post("/streams/tail", json=[event(1)], headers=key).json()["stored"] == 0


def test_a_server_that_was_stopped_goes_on_where_it_was(site: Site) -> None:
    client = site.begin()
    client.post("/streams/tail", json=[event(1)], headers={"idempotency-key": "a"})
    site.stop()
    client = site.begin()
    again = client.post("/streams/tail", json=[event(1)], headers={"idempotency-key": "a"})
    assert again.json()["stored"] == 0
    client.post("/streams/tail", json=[event(2)], headers={"idempotency-key": "b"})
    assert site.rows() == Counter(["e1", "e2"])


def test_F242_a_failing_view_stops_no_other_and_loses_nothing(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    (site.folder / "tail_gone.py").write_text("def f(event):\n    return event\n")
    client = site.begin()
    site.project.define_stream_view({**VIEW, "$type": "Broken", "$transform": "tail_gone:f"})
    site.project.workspace.stream_writers.pop("events.tail.Broken", None)
    (site.folder / "tail_gone.py").write_text("import no_such_module_anywhere\n")
    import sys

    sys.modules.pop("tail_gone", None)
    assert client.post("/streams/tail", json=[event(1)]).status_code == 200
    assert site.rows() == site.rows("Others") == Counter(["e1"])
    (site.folder / "tail_gone.py").write_text("def f(event):\n    return event\n\n\n# mended\n")
    sys.modules.pop("tail_gone", None)
    assert site.rows("Broken") == Counter(["e1"])


def test_without_an_inbox_the_answer_waits_for_every_view(site: Site) -> None:
    client = site.begin("[streams.tail]\ninbox = false\n")
    answer = client.post("/streams/tail", json=[event(1)], headers={"idempotency-key": "a"})
    assert (answer.status_code, answer.json()["stored"]) == (200, 1)
    for name in ("Logs", "Others"):
        writer = writer_of(site.project.workspace, site.project.workspace.named(name))
        assert writer.totals().rows == 1


def test_an_error_of_storage_is_no_acknowledgement(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = site.begin()
    monkeypatch.setenv(VARIABLE, "inbox.begun=raise")
    assert client.post("/streams/tail", json=[event(1)]).status_code == 503
    monkeypatch.delenv(VARIABLE)
    assert client.post("/streams/tail", json=[event(1)]).status_code == 200
    assert site.rows() == Counter(["e1"])


def test_a_full_queue_says_when_to_come_again(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    import queue

    from grebe.project import stream_feed

    client = site.begin()
    client.post("/streams/tail", json=[event(0)])

    def full(*_: object) -> None:
        raise queue.Full

    monkeypatch.setattr(stream_feed.queue.Queue, "put_nowait", full)
    answer = client.post("/streams/tail", json=[event(1)])
    assert (answer.status_code, answer.json()["error"]["code"]) == (429, "queue-full")
    assert answer.headers["retry-after"] == "1"
    monkeypatch.undo()
    assert site.rows() == Counter(["e0"])


def test_a_token_or_a_signature_is_asked_for(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAIL_TOKEN", "t" * 40)
    client = site.begin('[streams.tail]\ntoken = "${TAIL_TOKEN}"\n')
    assert client.post("/streams/tail", json=[event(1)]).status_code == 401
    bad = {"authorization": f"Bearer {'u' * 40}"}
    assert client.post("/streams/tail", json=[event(1)], headers=bad).status_code == 401
    good = {"authorization": f"Bearer {'t' * 40}"}
    assert client.post("/streams/tail", json=[event(1)], headers=good).status_code == 200
    site.stop()
    client = site.begin('[streams.tail]\nsecret = "${TAIL_TOKEN}"\n', token="s" * 40)
    body = json.dumps([event(2)]).encode()
    sign = hmac.new(b"t" * 40, body, hashlib.sha256).hexdigest()
    kinds = {"x-grebe-signature": f"sha256={sign}"}
    assert client.post("/streams/tail", content=body, headers=kinds).status_code == 200
    assert client.post("/streams/tail", content=body + b" ", headers=kinds).status_code == 401
    assert site.rows() == Counter(["e1", "e2"])


def test_F243_events_of_the_ingest_itself_are_left_out(site: Site) -> None:
    client = site.begin('[streams.tail]\nexclude.script = "grebe-ingest"\n')
    own = {**event(1), "script": "grebe-ingest"}
    assert client.post("/streams/tail", json=[own, event(2)]).json()["stored"] == 1
    assert site.rows() == Counter(["e2"])


def test_a_stream_of_no_view_is_told(site: Site) -> None:
    client = site.begin()
    answer = client.post("/streams/other", json=[event(1)])
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "unknown-stream")
