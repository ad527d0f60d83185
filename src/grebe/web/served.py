"""What the routes of the server stand on: a project, who may ask, and the loop beside it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grebe.api import Project


def _no_loop() -> dict[str, Any]:
    return {"running": False}


def _nobody() -> None:
    return


@dataclass(frozen=True, slots=True)
class Served:
    """Given to every room of routes."""

    project: Project
    token: str | None = field(default=None, repr=False)
    """What whoever asks must show; None: only this machine can ask."""
    hosts: frozenset[str] = frozenset()
    """The names under which the server may be asked; empty: any, as a token is asked for."""
    loop: Callable[[], dict[str, Any]] = _no_loop
    """What the loop beside the server does now; `running` and `problem` decide on readiness."""
    closing: ExitStack = field(default_factory=ExitStack, repr=False, compare=False)
    """What ends with the server."""
    wake: Callable[[], None] = _nobody
    """Tells the loop to look again at once."""
