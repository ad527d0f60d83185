"""Named places where a test can stop, kill or fail a commit. Dead without `GREBE_FAILPOINTS`.

The variable holds `place=action` pairs separated by `;`. Actions: `kill` (SIGKILL to this
process), `raise` (a lost connection; `raise:once` only at the first time) and `pause:<socket>` (say
the place's name on a Unix socket and go on when an answer comes or the other side is gone).
"""

from __future__ import annotations

import os
import signal
import socket

VARIABLE = "GREBE_FAILPOINTS"


class FailpointError(ConnectionError):
    """Raised by the action `raise`: what a caller sees when a reply never comes."""


def reach(place: str) -> None:
    """Nothing, unless the environment asks for something to happen at this place."""
    text = os.environ.get(VARIABLE)
    if not text:
        return
    for pair in text.split(";"):
        name, _, action = pair.partition("=")
        if name == place:
            _act(place, action)


def _act(place: str, action: str) -> None:
    verb, _, argument = action.partition(":")
    match verb:
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "raise":
            if argument == "once":
                _forget(f"{place}={action}")
            raise FailpointError(f"connection lost at {place}")
        case "pause":
            _pause(place, argument)
        case _:
            raise ValueError(f"{VARIABLE}: unknown action {action!r}; use kill, raise or pause")


def _forget(pair: str) -> None:
    pairs = os.environ[VARIABLE].split(";")
    pairs.remove(pair)
    os.environ[VARIABLE] = ";".join(pairs)


def _pause(place: str, address: str) -> None:
    with socket.socket(socket.AF_UNIX) as barrier:
        barrier.connect(address)
        barrier.sendall(f"{place}\n".encode())
        barrier.recv(1)
