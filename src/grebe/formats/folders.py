"""Tables that are folders under a root: where they lie, and what stands beside them."""

from __future__ import annotations

import json
import os
import shutil
import uuid
from contextlib import suppress
from pathlib import Path

from grebe.errors import ConfigError, UnknownTableError
from grebe.formats.base import holds_view
from grebe.formats.files import local_path, torn
from grebe.model import CatalogAddress, TableName
from grebe.sql_text import PREFIX

VIEW_FILE = "_grebe_view.json"
"""The file behind a public name: the SELECT that shows the view."""


def folder_of(place: CatalogAddress, name: TableName) -> str:
    """The folder of a table: root, schema, name."""
    if not place.root:
        raise ConfigError(
            f'catalog "{place.catalog}" has no folder',
            hint="give it a root, or the name of a catalog that Spark has",
        )
    parts = [*name.schema.split("."), name.name]
    if any(part in ("", ".", "..") or "/" in part or "\\" in part for part in parts):
        raise UnknownTableError(f'table "{name}" cannot be a folder')
    root = place.root.rstrip("/")
    return "/".join([root.removeprefix("file://") if root.startswith("file:///") else root, *parts])


def write_view(folder: str, select: str) -> None:
    """Put the SELECT of a public name in place of the one before, in one step."""
    local = local_path(folder)
    if local is None:
        raise ConfigError(
            f'a view in folder "{folder}" has no place for its public name',
            hint="keep views in a catalog, or under a root on this machine",
        )
    target = Path(local) / VIEW_FILE
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{VIEW_FILE}.{uuid.uuid4().hex}")
    with draft.open("w", encoding="utf-8") as stream:
        json.dump({"sql": select}, stream, ensure_ascii=False)
        stream.flush()
        os.fsync(stream.fileno())
    draft.replace(target)


def read_view(folder: str) -> str | None:
    """The SELECT of a public name; None when there is none."""
    local = local_path(folder)
    if local is None or not (file := Path(local) / VIEW_FILE).is_file():
        return None
    try:
        return str(json.loads(file.read_text(encoding="utf-8"))["sql"])
    except (ValueError, KeyError) as error:
        raise torn(str(file), error) from error


def remove_view(folder: str) -> None:
    """Remove the SELECT of a public name, and its folder if nothing else is there."""
    local = local_path(folder)
    if local is None or not Path(local).is_dir():
        return
    (Path(local) / VIEW_FILE).unlink(missing_ok=True)
    with suppress(OSError):
        Path(local).rmdir()


def stored_below(place: CatalogAddress, schema: str | None = None) -> list[TableName]:
    """The folders that hold views, below the root or in one schema, on this machine's disk."""
    beside = folder_of(place, TableName(place.catalog, schema or "x", "x"))
    local = local_path(beside)
    if local is None:
        return []
    root = Path(place.root or "") if schema is None else Path(local).parent
    top = Path(local_path(str(root)) or "")
    found = []
    for folder, below, _ in os.walk(top):
        here = Path(folder)
        held = [name for name in below if holds_view(name)]
        inner = ".".join(here.relative_to(top).parts)
        found += [TableName(place.catalog, schema or inner, name) for name in sorted(held)]
        # What lies inside a table is no schema.
        inside = "_delta_log" in below or schema is not None
        below[:] = [] if inside else [name for name in below if not name.startswith(PREFIX)]
    return [name for name in sorted(found) if name.schema]


def folders_beside(folder: str, prefix: str) -> list[str]:
    """The names of the folders beside one that begin with a text, on this machine's disk."""
    local = local_path(folder)
    parent = Path(local).parent if local else None
    if parent is None or not parent.is_dir():
        return []
    return sorted(entry.name for entry in parent.iterdir() if entry.name.startswith(prefix))


def remove_folder(folder: str) -> None:
    """Remove a folder of this machine; others are left to their owner."""
    local = local_path(folder)
    if local is not None:
        shutil.rmtree(local, ignore_errors=True)
