"""What the server says of views and runs, without Spark."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from starlette.requests import Request

from grebe.api import Project
from grebe.errors import DefinitionError, RegistryError
from grebe.model import Outcome
from grebe.registry import RunRecord, activity_rows, polls
from grebe.web.answers import body_of, object_in
from web.conftest import Serve


def test_views_are_said_as_the_command_says_them(serve: Serve, project: Project) -> None:
    client = serve()
    assert client.get("/api/v1/views").json() == project.status().to_dict()
    one = client.get("/api/v1/views/main.one").json()
    assert (one["view"], one["state"]) == ("lake.main.one", "never refreshed")
    said = client.get("/api/v1/views/main.on")
    assert (said.status_code, said.json()["error"]["code"]) == (404, "unknown-view")
    assert said.json()["error"]["hint"] == 'did you mean "lake.main.one"?'


def test_runs_newest_first(serve: Serve, project: Project) -> None:
    for number in range(3):
        project.registry.begin(RunRecord(f"r{number}", "lake.main.one"))
        ended = RunRecord(f"r{number}", "lake.main.one", outcome=Outcome.FULL, seconds=1.5)
        project.registry.finish(ended)
    client = serve()
    assert [run["run_id"] for run in client.get("/api/v1/runs").json()] == ["r2", "r1", "r0"]
    asked = client.get("/api/v1/runs", params={"view": "main.one", "limit": 1}).json()
    assert [run["run_id"] for run in asked] == ["r2"]
    for limit in ("0", "x", "1001", "-1"):
        said = client.get("/api/v1/runs", params={"limit": limit})
        assert (said.status_code, said.json()["error"]["code"]) == (400, "bad-limit")
    text = client.get("/metrics").text
    assert 'grebe_recent_runs{view="lake.main.one",outcome="full"} 3' in text
    assert 'grebe_view_state{view="lake.main.one",state="never refreshed"} 1' in text
    assert 'grebe_last_run_seconds{view="lake.main.one"} 1.5' in text
    assert "main.bad" in text  # a broken file hides nothing


@pytest.mark.parametrize(
    ("sent", "code"),
    [([b"x" * 600, b"y" * 600], "request-too-large"), ([b"[1]"], "not-json"), ([b"{"], "not-json")],
)
def test_what_a_request_may_hold(sent: list[bytes], code: str) -> None:
    parts = [
        {"type": "http.request", "body": part, "more_body": part is not sent[-1]} for part in sent
    ]

    async def receive() -> Any:
        return parts.pop(0)

    async def read() -> object:
        return object_in(await body_of(Request({"type": "http"}, receive), 1000))

    with pytest.raises(DefinitionError) as caught:
        asyncio.run(read())
    assert caught.value.code == code


def test_a_loop_with_a_problem_or_a_registry_that_is_gone_is_not_ready(
    serve: Serve, project: Project
) -> None:
    assert serve(loop=lambda: {"running": True}).get("/readyz").json()["ready"]
    said = serve(loop=lambda: {"running": True, "problem": "registry"}).get("/readyz")
    assert (said.status_code, said.json()["ready"]) == (503, False)
    client = serve()
    project.registry.begin(RunRecord("r", "v"))

    def broken(*_: object, **__: object) -> None:
        raise RegistryError("the registry is gone")

    project.registry.runs = broken  # type: ignore[assignment]
    assert client.get("/readyz").status_code == 503
    assert client.get("/api/v1/runs").status_code == 503
    assert client.get("/healthz").status_code == 200


def test_what_people_ask_for_is_written_down_and_wakes_the_loop(
    serve: Serve, project: Project
) -> None:
    (project.settings.folder / "views" / "main.two.sql").write_text("SELECT a FROM main.orders")
    woken: list[bool] = []
    client = serve(wake=lambda: woken.append(True))
    assert client.post("/api/v1/refresh/main.one").status_code == 202
    said = client.post("/api/v1/refresh/main.on")
    assert (said.status_code, said.json()["error"]["code"]) == (404, "unknown-view")
    assert client.get("/api/v1/refresh/main.one").status_code == 405
    assert client.post("/api/v1/notify", json={"source": "main.orders"}).status_code == 202
    said = client.post("/api/v1/notify", json={"source": "main.order"})
    assert said.status_code == 404
    assert said.json()["error"]["hint"] == 'did you mean "lake.main.orders"?'
    for sent in ({}, {"source": 1}, []):
        assert client.post("/api/v1/notify", json=sent).status_code == 400
    assert len(woken) == 2
    with project.registry.database.reading() as connection:
        assert activity_rows.listed(connection)[1]["lake.main.one"].wanted
        assert polls.listed(connection)["lake.main.orders"].claimed_at == 0
