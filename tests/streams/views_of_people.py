"""Functions as people write them: good ones, and every bad one."""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Any

FACTOR = 2


def doubled(event: dict[str, Any]) -> dict[str, Any]:
    """One row."""
    return {"id": event["id"], "n": scaled(event["n"])}


def scaled(number: int) -> int:
    return number * FACTOR


def kept(event: dict[str, Any]) -> bool:
    return bool(event["n"] >= 0)


def shaped(event: dict[str, Any]) -> Any:
    """What the event asks for."""
    return {
        "one": {"id": "a", "n": 1},
        "many": [{"id": "a", "n": 1}, {"id": "b", "n": 2}],
        "none": None,
        "empty": [],
        "text": "a row",
        "number": 7,
        "texts": ["a", "b"],
        "generator": (row for row in ({"id": "a", "n": 1},)),
        "tuple": ({"id": "a", "n": 1},),
    }[event["shape"]]


def mutating(event: dict[str, Any]) -> dict[str, Any]:
    n = event.pop("n")
    event["id"] = "changed"
    return {"id": event["id"], "n": n}


def mutating_filter(event: dict[str, Any]) -> bool:
    event["n"] = -1
    return True


def poison(event: dict[str, Any]) -> dict[str, Any]:
    """Ends its process in the way that the event asks for."""
    match event.get("poison"):
        case "exit":
            sys.exit(3)
        case "die":
            os._exit(7)
        case "segfault":
            ctypes.string_at(0)
        case "loop":
            while True:
                pass
        case "eat":
            eaten = []
            while True:
                eaten.append(bytearray(16_000_000))
        case "raise":
            raise ValueError("no such thing")
    return {"id": event["id"], "n": event["n"]}
