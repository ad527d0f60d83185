"""Whether the server lives, whether it can do its work, and what can be measured of it."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from grebe.errors import GrebeError
from grebe.web.answers import answering, failed
from grebe.web.metrics import metrics_text
from grebe.web.served import Served

_AWAY = 503


def routes(served: Served) -> Sequence[Route]:
    """`/healthz`, `/readyz` and `/metrics`."""

    def alive(_: Request) -> dict[str, object]:
        return {"alive": True}

    def ready(_: Request) -> Response:
        doing = served.loop()
        try:
            if served.project.workspace.has_registry():
                served.project.registry.runs(limit=1)
        except GrebeError as error:
            return failed(error, _AWAY)
        well = not doing.get("problem")
        return JSONResponse({"ready": well, "loop": doing}, 200 if well else _AWAY)

    def measured(_: Request) -> Response:
        text = metrics_text(served.project.status(), served.project.history(limit=1000))
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4")

    return [
        Route("/healthz", answering(alive)),
        Route("/readyz", answering(ready)),
        Route("/metrics", answering(measured)),
    ]
