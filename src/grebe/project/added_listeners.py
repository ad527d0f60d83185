"""Listeners that packages add: named in [listeners], found by the entry point `grebe.listeners`.

An entry point names a callable that is given the settings of its table and the project's folder, and gives a listener.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Final

from grebe.config import Settings
from grebe.errors import ConfigError, did_you_mean
from grebe.events import Listener

GROUP: Final = "grebe.listeners"
Make = Callable[[Mapping[str, str], Path], Listener]

log = logging.getLogger(__name__)


def added_listeners(settings: Settings) -> list[Listener]:
    """The listeners that the settings name.

    Raises:
        ConfigError: no installed package knows one of the names.
    """
    if not settings.listeners:
        return []
    known = {point.name: point for point in entry_points(group=GROUP)}
    found: list[Listener] = []
    for name, options in settings.listeners:
        if name not in known:
            raise ConfigError(
                f'no installed package brings a listener "{name}"',
                detail=f"known: {', '.join(sorted(known)) or 'none'}",
                hint=did_you_mean(name, list(known))
                or f"install the package, or take [listeners.{name}] away",
                code="unknown-listener",
            )
        made = _made(known[name], dict(options), settings.folder)
        if made is not None:
            found.append(made)
    return found


def _made(point: EntryPoint, options: Mapping[str, str], folder: Path) -> Listener | None:
    """The listener; None, and a word about it, where its package cannot make it."""
    try:
        make: Make = point.load()
        return make(options, folder)
    except Exception as error:  # what listens never stops what it listens to
        log.warning("listener %s cannot be made: %s: %s", point.name, type(error).__name__, error)
        return None
