"""Whose views these are: several projects may keep theirs in one catalog."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

from grebe.config import Settings
from grebe.errors import ConfigError
from grebe.stored_properties import KEYS

FILE = "project-id"
PROPERTY = KEYS["project"]
"""Of a storage table: the project that made it."""


def project_id(settings: Settings) -> str:
    """What `[project] id` says, or a word made up once and kept in the project's own folder.

    Raises:
        ConfigError: it cannot be written down.
    """
    if settings.project.id:
        return settings.project.id
    file = settings.home / FILE
    try:
        return _kept(file) or _make(file)
    except OSError as error:
        raise ConfigError(f"{file} cannot be written", detail=str(error)) from error


def known_id(settings: Settings) -> str | None:
    """The same, if it was written down; looking makes none."""
    return settings.project.id or _kept(settings.home / FILE) or None


def _kept(file: Path) -> str:
    return file.read_text("utf-8").strip() if file.exists() else ""


def _make(file: Path) -> str:
    """A new one, or the one that somebody else wrote down meanwhile: a link is made only once."""
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f"{FILE}.{uuid.uuid4().hex[:8]}")
    draft.write_text(uuid.uuid4().hex[:12], "utf-8")
    try:
        os.link(draft, file)
    except FileExistsError:
        pass
    finally:
        draft.unlink()
    return _kept(file)
