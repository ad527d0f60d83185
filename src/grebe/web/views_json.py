"""Views and runs as JSON: the same documents as `grebe status -o json` and `grebe history -o json`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.routing import Route

from grebe.errors import DefinitionError
from grebe.sql_text import quote
from grebe.web.answers import answering
from grebe.web.served import Served

MOST = 1000
"""Runs in one answer."""


def routes(served: Served) -> Sequence[Route]:
    """`/api/v1/views` and `/api/v1/runs`."""

    def views(_: Request) -> list[dict[str, object]]:
        return served.project.status().to_dict()

    def view(request: Request) -> dict[str, object]:
        name = served.project.view(request.path_params["name"]).name
        return served.project.status(quote(str(name)))[0].to_dict()

    def runs(request: Request) -> list[dict[str, Any]]:
        asked = request.query_params.get("view")
        chosen = None if asked is None else str(served.project.view(asked).name)
        return served.project.history(chosen, limit=_limit(request)).to_dict()

    return [
        Route("/api/v1/views", answering(views)),
        Route("/api/v1/views/{name:path}", answering(view)),
        Route("/api/v1/runs", answering(runs)),
    ]


def _limit(request: Request) -> int:
    text = request.query_params.get("limit", "50")
    if text.isascii() and text.isdecimal() and 1 <= int(text) <= MOST:
        return int(text)
    raise DefinitionError(
        f'limit "{text}" is not a number of runs', hint=f"write 1 to {MOST}", code="bad-limit"
    )
