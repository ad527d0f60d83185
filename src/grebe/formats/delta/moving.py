"""Delta tables in a folder that was copied or moved.

A table names its files from its own folder; only the public name of a view holds a whole path.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from grebe.errors import GrebeError
from grebe.formats.files import local_path
from grebe.formats.folders import VIEW_FILE, read_view, write_view
from grebe.formats.moved_folders import Move, MovedTables, first_former
from grebe.model import CatalogAddress

_FOLDER = re.compile(r"\bdelta\.`((?:[^`]|``)+)`")


def is_embedded(place: CatalogAddress, folder: str) -> bool:
    """Whether the tables lie in the folder."""
    root = local_path(place.root or "") if place.root else None
    return root is not None and Path(root).is_relative_to(folder)


def stray(place: CatalogAddress, folder: str) -> str | None:
    """The folder that public names read in place of this one; None: they read this."""
    file = next(_shown(place, "*/*"), None)
    text = _text(file) if file else None
    found = _FOLDER.findall(text or "")
    return first_former([path.replace("``", "`") for path in found], folder)


def adopt(place: CatalogAddress, move: Move) -> MovedTables:
    """Every public name, with the folder of its storage table as it is."""
    done = MovedTables()
    for file in list(_shown(place, "**")):
        text = _text(file)
        if text is None:
            done.problems.append(f"{file}: it cannot be read")
        elif (moved := move.in_text(text)) != text:
            write_view(str(file.parent), moved)
            parts = file.parent.relative_to(local_path(place.root or "") or "").parts
            done.tables.append(".".join((place.catalog, *parts)))
            done.files += 1
    return done


def _shown(place: CatalogAddress, pattern: str) -> Iterator[Path]:
    root = Path(local_path(place.root or "") or "")
    return root.glob(f"{pattern}/{VIEW_FILE}") if root.is_dir() else iter(())


def _text(file: Path) -> str | None:
    try:
        return read_view(str(file.parent))
    except (OSError, GrebeError):
        return None
