"""Questions to a person; a program is never asked."""

from __future__ import annotations

import sys

from grebe.cli.output import pause_progress
from grebe.errors import ConfigError


def confirm(question: str, *, yes: bool) -> bool:
    """True when a person says so, or said so beforehand.

    Raises:
        ConfigError: there is nobody to ask.
    """
    if yes:
        return True
    if not sys.stdin.isatty():
        raise ConfigError("there is nobody to ask", detail=question, hint="add --yes")
    pause_progress()
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
