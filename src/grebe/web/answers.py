"""How the server answers: JSON, and errors with the status that fits their code."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from grebe.errors import (
    DefinitionError,
    GrebeError,
    LeaseHeldError,
    RegistryError,
    UnknownTableError,
)
from grebe.tabular import error_to_dict

LARGEST: Final = 1_000_000
"""Bytes of a request's body, where a route sets no limit of its own."""
_BAD, _MISSING, _HELD, _BROKEN, _AWAY = 400, 404, 409, 500, 503


def failed(error: BaseException, status: int | None = None) -> Response:
    """The answer to what went wrong."""
    return JSONResponse({"error": error_to_dict(error)}, status or _status(error))


def _status(error: BaseException) -> int:
    match error:
        case UnknownTableError():
            return _MISSING
        case LeaseHeldError():
            return _HELD
        case RegistryError():
            return _AWAY
        case DefinitionError():
            return _BAD
    return _BROKEN


def answering(make: Callable[[Request], Any]) -> Callable[[Request], Response]:
    """An endpoint from a function that gives plain values, or raises; it runs in a thread."""

    def endpoint(request: Request) -> Response:
        try:
            made = make(request)
        except GrebeError as error:
            return failed(error)
        return made if isinstance(made, Response) else JSONResponse(made)

    return endpoint


async def body_of(request: Request, largest: int = LARGEST) -> bytes:
    """The body of a request.

    Raises:
        DefinitionError: it is larger than allowed.
    """
    read = bytearray()
    async for part in request.stream():
        read += part
        if len(read) > largest:
            raise DefinitionError(
                f"the request is larger than {largest:,} bytes",
                hint="send it in parts",
                code="request-too-large",
            )
    return bytes(read)


def object_in(body: bytes) -> dict[str, Any]:
    """The JSON object that a body holds.

    Raises:
        DefinitionError: it holds something else.
    """
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise DefinitionError(
            "the request is not JSON", detail=str(error), hint="send one object", code="not-json"
        ) from None
    if not isinstance(found, dict):
        raise DefinitionError("the request is not a JSON object", hint="send {…}", code="not-json")
    return found
