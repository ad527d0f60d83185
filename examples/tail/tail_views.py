"""The three views as functions: what `views/*.json` say as mappings.

`examples/tail/README.md` runs both. A row's id is the position of its event in the stream with the
ordinal of the line: never two timestamps, which collide.
"""

from __future__ import annotations

from typing import Any

from grebe.streams.row_making import EventPosition
from grebe.streams.transform import joined_text, url_part


def request_of(event: dict[str, Any]) -> dict[str, Any]:
    return (event.get("event") or {}).get("request") or {}


def colo(event: dict[str, Any]) -> object:
    return (request_of(event).get("cf") or {}).get("colo")


def logs(event: dict[str, Any]) -> list[dict[str, Any]]:
    """A row for every line."""
    return [
        {
            "$id": EventPosition(),
            "scriptName": event.get("scriptName"),
            "level": line.get("level"),
            "message": joined_text(line.get("message")),
            "timestamp": line.get("timestamp"),
            "colo": colo(event),
            "url": request_of(event).get("url"),
        }
        for line in event.get("logs") or []
    ]


def failed(event: dict[str, Any]) -> bool:
    return event.get("outcome") != "ok" or bool(event.get("exceptions"))


def errors(event: dict[str, Any]) -> dict[str, Any]:
    """A row for an event that failed; of several exceptions the first."""
    first = (event.get("exceptions") or [{}])[0]
    response = (event.get("event") or {}).get("response") or {}
    return {
        "$id": EventPosition(),
        "scriptName": event.get("scriptName"),
        "outcome": event.get("outcome"),
        "exceptionName": first.get("name"),
        "exceptionMessage": first.get("message"),
        "timestamp": event.get("eventTimestamp"),
        "url": request_of(event).get("url"),
        "status": response.get("status"),
        "colo": colo(event),
    }


def asked(event: dict[str, Any]) -> bool:
    return event.get("event") is not None


def requests(event: dict[str, Any]) -> dict[str, Any]:
    """A row for an event that answers a request."""
    request, response = request_of(event), event["event"].get("response") or {}
    url = request.get("url")
    return {
        "$id": EventPosition(),
        "scriptName": event.get("scriptName"),
        "method": request.get("method"),
        "url": url,
        "pathname": url_part(url, "pathname"),
        "status": 0 if response.get("status") is None else response["status"],
        "outcome": event.get("outcome"),
        "colo": "unknown" if colo(event) is None else colo(event),
        "country": (request.get("cf") or {}).get("country"),
        "timestamp": event.get("eventTimestamp"),
    }
