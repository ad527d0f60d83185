"""`POST /streams/{name}`: events of producers, answered when they are stored and not before."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import threading
import zlib
from collections.abc import Sequence
from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from grebe.config import StreamSettings
from grebe.errors import DefinitionError, GrebeError, UnknownTableError
from grebe.project.stream_feed import FullError, StreamFeed
from grebe.project.stream_sources import stream_settings
from grebe.project.stream_views import views_of
from grebe.streams.feed import batch_of
from grebe.streams.landed import Batch
from grebe.web.access import shown_token
from grebe.web.answers import body_of, failed
from grebe.web.served import Served

LARGEST: Final = 8 * 1024 * 1024
"""Bytes of a request, unpacked."""
_UNKNOWN, _TOO_LARGE, _TOO_MANY, _DIFFERS, _LATER = 401, 413, 429, 409, 503
_SIGNATURE: Final = "x-grebe-signature"


def routes(served: Served) -> Sequence[Route]:
    """`/streams/{name}`."""
    feeds: dict[str, StreamFeed] = {}
    lock = threading.Lock()

    def feed_of(stream: str) -> StreamFeed:
        with lock:
            known = feeds.get(stream)
            if known is None:
                workspace = served.project.workspace
                if not views_of(workspace, stream):
                    raise UnknownTableError(
                        f'no view is of stream "{stream}"', code="unknown-stream"
                    )
                settings = stream_settings(workspace, stream)
                known = feeds[stream] = StreamFeed(workspace, stream, settings).start()
                served.closing.callback(known.close)
            return known

    async def post(request: Request) -> Response:
        stream = request.path_params["name"]
        settings = stream_settings(served.project.workspace, stream)
        try:
            body = await body_of(request, LARGEST)
            refuse_stranger(request, body, settings, served.token)
            batch = await asyncio.to_thread(batch_in, request, body)
            feed = await asyncio.to_thread(feed_of, stream)
            count = await asyncio.wrap_future(feed.accept(batch))
        except GrebeError as error:
            return _refused(error)
        except Exception as error:
            return failed(error, _LATER)
        return JSONResponse({"received": len(batch.events), "stored": count})

    return [Route("/streams/{name}", post, methods=["POST"])]


def _refused(error: GrebeError) -> Response:
    match error.code:
        case "wrong-token":
            return failed(error, _UNKNOWN)
        case "request-too-large":
            return failed(error, _TOO_LARGE)
        case "batch-differs":
            return failed(error, _DIFFERS)
    if isinstance(error, FullError):
        answer = failed(error, _TOO_MANY)
        answer.headers["retry-after"] = "1"
        return answer
    if isinstance(error, DefinitionError):
        return failed(error)
    return failed(error, _LATER)


def refuse_stranger(
    request: Request, body: bytes, settings: StreamSettings, token: str | None
) -> None:
    """Nothing for a producer that shows the stream's token, or signs what it sends.

    Raises:
        GrebeError: with the code `wrong-token`.
    """
    if settings.secret:
        wanted = hmac.new(settings.secret.encode(), body, hashlib.sha256).hexdigest()
        given = request.headers.get(_SIGNATURE, "").removeprefix("sha256=")
        if hmac.compare_digest(given.encode(), wanted.encode()):
            return
    elif settings.token or token:
        wanted = settings.token or token or ""
        if hmac.compare_digest(shown_token(request).encode(), wanted.encode()):
            return
    else:
        return
    raise GrebeError(
        "the token or the signature is missing or wrong",
        hint=f"send Authorization: Bearer …, or {_SIGNATURE}: sha256=<HMAC of the body>",
        code="wrong-token",
    )


def batch_in(request: Request, body: bytes) -> Batch:
    """The events of a request, each as the text that it came as.

    Raises:
        DefinitionError: the body is no JSON, or holds nothing.
    """
    texts = texts_in(unpacked(request, body), request.headers.get("content-type", ""))
    if not texts:
        raise _no_json("the request holds no events")
    return batch_of(list(texts), request.headers.get("idempotency-key"))


def unpacked(request: Request, body: bytes) -> bytes:
    """The body, unpacked where it was packed; never more than is allowed."""
    if request.headers.get("content-encoding", "").lower() != "gzip":
        return body
    unpack = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        found = unpack.decompress(body, LARGEST + 1)
    except zlib.error as error:
        raise _no_json(f"the request is not gzip: {error}") from None
    if len(found) > LARGEST:
        raise DefinitionError(
            f"the request is larger than {LARGEST:,} bytes",
            hint="send it in parts",
            code="request-too-large",
        )
    return found


def texts_in(body: bytes, kind: str) -> list[bytes]:
    """The events of a body: an array, one object, or a line for each."""
    if "ndjson" in kind or "jsonlines" in kind:
        return [line for line in body.splitlines() if line.strip()]
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _no_json(f"the request is not UTF-8: {error.reason}") from None
    try:
        return [item.encode() for item in _items(text)]
    except (ValueError, RecursionError) as error:
        raise _no_json(str(error)) from None


def _items(text: str) -> list[str]:
    """The texts of the elements of an array, or the text itself; as they were written."""
    decoder = json.JSONDecoder()
    place = _skipped(text, 0)
    if text[place : place + 1] != "[":
        _, end = decoder.raw_decode(text, place)
        if _skipped(text, end) != len(text):
            raise ValueError(f"something follows the document at {end}")
        return [text[place:end]]
    found = []
    place = _skipped(text, place + 1)
    while text[place : place + 1] != "]":
        _, end = decoder.raw_decode(text, place)
        found.append(text[place:end])
        place = _skipped(text, end)
        if text[place : place + 1] == ",":
            place = _skipped(text, place + 1)
        elif text[place : place + 1] != "]":
            raise ValueError(f"the array has no end at {place}")
    if _skipped(text, place + 1) != len(text):
        raise ValueError(f"something follows the array at {place}")
    return found


def _skipped(text: str, place: int) -> int:
    while place < len(text) and text[place] in " \t\r\n":
        place += 1
    return place


def _no_json(detail: str) -> DefinitionError:
    return DefinitionError(
        "the request holds no events",
        detail=detail,
        hint="send a JSON array, one object, or lines with content-type application/x-ndjson",
        code="not-json",
    )
