"""The project that a command means: the folder it is given in, or the nearest one above, as git looks for it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from grebe.config.settings_model import FILE_NAME, HOME_NAME
from grebe.errors import ConfigError

_VIEWS: Final = "views"


def find_project(start: str | Path) -> Path:
    """The folder of a project, or the TOML file that was given.

    Without a grebe.toml anywhere, a folder that holds views, or that grebe has worked in, is a project too.

    Raises:
        ConfigError: there is none, here or above.
    """
    place = Path(start).expanduser().resolve()
    if place.is_file():
        return place
    if not place.is_dir():
        raise ConfigError(
            f"there is no folder {place}", hint=f"grebe init {start}", code="no-project"
        )
    for folder in (place, *place.parents):
        if (folder / FILE_NAME).is_file() or (folder / HOME_NAME).is_dir():
            return folder
    if (place / _VIEWS).is_dir():
        return place
    raise ConfigError(
        f"no {FILE_NAME} here or above",
        detail=f"looked in {place} and in every folder that it lies in",
        hint="grebe init makes a project here; -C FOLDER names another folder",
        code="no-project",
    )
