"""Catalogs as grebe.toml describes them: what belongs together, and where their tables lie."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from grebe.config.settings_model import EMBEDDED_CATALOG, HOME_NAME, CatalogSettings
from grebe.config.written_values import Checked, dotted
from grebe.errors import ConfigError
from grebe.formats.table_format import TableFormat, table_format, table_formats
from grebe.known_formats import format_names

_CATALOG_NAME = re.compile(r"[A-Za-z_][\w-]*", re.ASCII)


def free_keys(checked: Checked, *prefix: str) -> tuple[tuple[str, str], ...]:
    """The keys below a prefix that may have any name, sorted."""
    size = len(prefix)
    return tuple(
        sorted(
            (dotted(path[size:]), str(value))
            for path, value in checked.items()
            if path[:size] == prefix and len(path) > size
        )
    )


def catalogs_of(checked: Checked, file: Path) -> Iterator[CatalogSettings]:
    """The catalogs that are described, each checked."""
    for name in dict.fromkeys(path[1] for path in checked if path[0] == "catalogs"):
        keys = {
            p[2]: str(v) for p, v in checked.items() if p[:2] == ("catalogs", name) and len(p) == 3
        }
        yield _catalog(name, keys, free_keys(checked, "catalogs", name, "options"), file)


def _catalog(
    name: str, keys: Mapping[str, str], options: tuple[tuple[str, str], ...], file: Path
) -> CatalogSettings:
    where = f"{file}: catalog {name}"
    if not _CATALOG_NAME.fullmatch(name):
        raise ConfigError(
            f"{where} has no name that Spark can be told",
            detail="it may hold letters, digits, _ and -",
            hint="give it another name",
        )
    if "format" not in keys:
        raise ConfigError(
            f"{where} has no format",
            detail=f"allowed: {', '.join(format_names())}",
            hint=f'write [catalogs.{name}] format = "iceberg"',
        )
    form = table_format(keys["format"])
    _refuse_contradiction(where, form, keys)
    root = _absolute(file.parent, keys["root"]) if "root" in keys else None
    uri = keys.get("uri")
    if uri is not None:
        uri = form.absolute_uri(uri, partial(_absolute, file.parent))
    kind = keys.get("type")
    if "spark_catalog" not in keys:
        uri, kind = form.completed(uri, root, kind)
    return CatalogSettings(name, form, uri, root, keys.get("spark_catalog"), kind, options)


def _refuse_contradiction(where: str, form: TableFormat, keys: Mapping[str, str]) -> None:
    if "spark_catalog" in keys:
        if extra := sorted(keys.keys() & {"uri", "root", "type"}):
            raise ConfigError(
                f"{where} has both spark_catalog and {extra[0]}",
                detail="a catalog that Spark already has brings its own place",
            )
        if not form.in_spark:
            raise ConfigError(f"{where}: {form.title} is no Spark catalog", hint="give a uri")
    elif not keys.keys() & set(form.places):
        missing, hint = form.no_place
        raise ConfigError(f"{where} {missing}", hint=hint)
    if "type" in keys and not form.types:
        titles = " and ".join(other.title for other in table_formats() if other.types)
        raise ConfigError(f"{where}: key type is for {titles} only")


def _absolute(base: Path, text: str) -> str:
    return text if "://" in text else str((base / Path(text).expanduser()).resolve())


def embedded(folder: Path) -> CatalogSettings:
    """The catalog of a project that describes none."""
    home = folder / HOME_NAME
    form = table_format("iceberg")
    uri = form.absolute_uri("jdbc:sqlite:catalog.db", lambda file: str(home / file))
    return CatalogSettings(EMBEDDED_CATALOG, form, uri, root=f"{home}/warehouse", type="jdbc")
