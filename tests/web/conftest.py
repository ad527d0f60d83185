"""A server over a project in which Spark cannot be started: asked over a real socket."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from grebe.api import Project
from grebe.web.access import LOOPBACK
from grebe.web.served import Served
from grebe.web.server import Server, bind

Serve = Callable[..., httpx.Client]


@pytest.fixture(autouse=True)
def no_jvm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever starts Spark fails."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr("grebe.engine.engine.open_session", refuse)


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:  # type: ignore[override]
    (tmp_path / "views").mkdir()
    (tmp_path / "views" / "main.one.sql").write_text(
        "CREATE MATERIALIZED VIEW main.one TRIGGER ON UPDATE AS SELECT 1 AS a"
    )
    (tmp_path / "views" / "main.bad.sql").write_text("CREATE MATERIALIZED")
    with Project.open(tmp_path) as opened:
        yield opened


@pytest.fixture
def serve(project: Project) -> Iterator[Serve]:
    """Begins a server and gives a client of it."""
    with ExitStack() as closing:

        def begin(**options: Any) -> httpx.Client:
            served = Served(project, **{"hosts": LOOPBACK, **options})
            server = closing.enter_context(Server(served, bind("127.0.0.1", 0)))
            host, port = server.address
            return closing.enter_context(httpx.Client(base_url=f"http://{host}:{port}"))

        yield begin
