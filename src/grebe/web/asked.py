"""What people ask for over HTTP: a refresh, a look at a table. Both are written down; the loop does them."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from grebe.errors import DefinitionError, GrebeError
from grebe.web.answers import answering, body_of, failed, object_in
from grebe.web.served import Served

_ACCEPTED = 202


def routes(served: Served) -> Sequence[Route]:
    """`POST /api/v1/refresh/{view}` and `POST /api/v1/notify`."""

    def refresh(request: Request) -> Response:
        view = served.project.view(request.path_params["name"])
        view.ask()
        served.wake()
        return JSONResponse({"view": str(view.name), "asked": True}, _ACCEPTED)

    async def notify(request: Request) -> Response:
        try:
            source = object_in(await body_of(request)).get("source")
            if not isinstance(source, str):
                raise DefinitionError(
                    "the request names no source",
                    hint='send {"source": "sales.orders"}',
                    code="not-json",
                )
            await run_in_threadpool(served.project.notify, source)
        except GrebeError as error:
            return failed(error)
        served.wake()
        return JSONResponse({"source": source, "noted": True}, _ACCEPTED)

    return [
        Route("/api/v1/refresh/{name:path}", answering(refresh), methods=["POST"]),
        Route("/api/v1/notify", notify, methods=["POST"]),
    ]
