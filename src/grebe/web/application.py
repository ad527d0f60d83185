"""The application: rooms of routes behind one guard. A new room is a file and its line in `ROOMS`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from grebe.errors import GrebeError
from grebe.web import asked, health, stream_routes, views_json
from grebe.web.access import Guard
from grebe.web.answers import failed
from grebe.web.served import Served

ROOMS: Final[tuple[Callable[[Served], Sequence[BaseRoute]], ...]] = (
    health.routes,
    views_json.routes,
    stream_routes.routes,
    asked.routes,
)


def application(served: Served) -> Starlette:
    """Everything that the server answers."""
    return Starlette(
        routes=[route for room in ROOMS for route in room(served)],
        middleware=[Middleware(Guard, served=served)],
        exception_handlers={GrebeError: _told, Exception: _told},
    )


async def _told(_: Request, error: Exception) -> Response:
    return failed(error)
