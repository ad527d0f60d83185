"""Where a project lies, and whether that is where its tables say.

The paths inside an embedded catalog are absolute. In a copy of a project's folder they are those of
the original: whatever wrote there, or removed files, would do it to the original.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from grebe.config import HOME_NAME, PLACE_NAME, Settings, Site
from grebe.errors import ProjectMovedError
from grebe.formats.moved_folders import write_file
from grebe.formats.table_format import TableFormat
from grebe.model import CatalogAddress


def moved_from(settings: Settings) -> Path | None:
    """The folder that the project's own tables name in place of the one it lies in; or None.

    It is what the project wrote down. One that never did, or whose tables were brought from
    elsewhere, is recognised by files of its own that its catalogs name in another folder.
    """
    site = settings.site
    if site is not None and site.folder != settings.folder:
        return site.folder
    # A place that is written down vouches for what is slow to look at.
    return stray_of(settings, quickly=site is not None)


def stray_of(settings: Settings, *, quickly: bool = False) -> Path | None:
    """The folder that some catalog in the project's folder names in place of that; or None."""
    for form, place in embedded(settings):
        if (form.is_quickly_placed or not quickly) and (found := form.stray(place)):
            return Path(found)
    return None


def embedded(settings: Settings) -> Iterator[tuple[TableFormat, CatalogAddress]]:
    """The catalogs whose lists of tables lie in the project's folder; others are nobody's copy."""
    folder = str(settings.folder)
    for catalog in settings.catalogs:
        place = settings.address(catalog)
        if catalog.spark_catalog is None and catalog.format.is_embedded(place, folder):
            yield catalog.format, place


def is_there(folder: Path) -> bool:
    """Whether a project still lies in a folder, as far as this machine can tell."""
    try:
        return (folder / HOME_NAME).is_dir()
    except OSError:
        return True  # it may not be looked at, so something is there


def refuse_moved(settings: Settings) -> None:
    """Nothing for a project that lies where its tables say.

    Raises:
        ProjectMovedError: it was copied or moved; nothing was touched.
    """
    former = moved_from(settings)
    if former is None:
        return
    fate = "still lies there" if is_there(former) else "is gone from there"
    raise ProjectMovedError(
        f'the project in "{settings.folder}" was copied or moved',
        detail=f'its tables name files in "{former}"; what was there {fate}',
        hint="`grebe adopt` makes it a project of this folder; the other one is not touched",
    )


def write_site_once(settings: Settings) -> None:
    """Write down where a project lies, once; in a folder that cannot be written to, nothing."""
    if settings.site is None and settings.home.is_dir():
        with suppress(OSError):
            write_site(settings, Site(settings.folder, settings.folder))


def write_site(settings: Settings, site: Site) -> None:
    """Write down where the project lies."""
    document = {"folder": str(site.folder), "first": str(site.first)}
    write_file(str(settings.home / PLACE_NAME), json.dumps(document).encode())
