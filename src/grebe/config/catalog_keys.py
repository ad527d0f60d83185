"""Catalogs as grebe.toml describes them: what belongs together, and where their tables lie."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from grebe.config.settings_model import EMBEDDED_CATALOG, HOME_NAME, CatalogSettings, TableFormat
from grebe.config.written_values import Checked, dotted
from grebe.errors import ConfigError

_LAKE_FILE = re.compile(r"(ducklake:|(?:ducklake:)?sqlite:)?([^:]+)")
"""A file behind DuckLake's prefixes, or a bare path."""
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
            detail=f"allowed: {', '.join(TableFormat)}",
            hint=f'write [catalogs.{name}] format = "iceberg"',
        )
    form = TableFormat(keys["format"])
    _refuse_contradiction(where, form, keys)
    root = _absolute(file.parent, keys["root"]) if "root" in keys else None
    uri = _absolute_uri(file.parent, keys["uri"]) if "uri" in keys else None
    kind = keys.get("type")
    if form is TableFormat.ICEBERG and "spark_catalog" not in keys:
        if kind is None:
            kind = _iceberg_type(uri)
        if uri is None and kind == "jdbc":
            uri = f"jdbc:sqlite:{root}/catalog.db?journal_mode=WAL"
    return CatalogSettings(name, form, uri, root, keys.get("spark_catalog"), kind, options)


def _refuse_contradiction(where: str, form: TableFormat, keys: Mapping[str, str]) -> None:
    if "spark_catalog" in keys:
        if extra := sorted(keys.keys() & {"uri", "root", "type"}):
            raise ConfigError(
                f"{where} has both spark_catalog and {extra[0]}",
                detail="a catalog that Spark already has brings its own place",
            )
        if form is TableFormat.DUCKLAKE:
            raise ConfigError(f"{where}: DuckLake is no Spark catalog", hint="give a uri")
    elif form is TableFormat.DUCKLAKE:
        if "uri" not in keys:
            raise ConfigError(f"{where} has no uri", hint='write uri = "catalog.ducklake"')
    elif "root" not in keys and (form is not TableFormat.ICEBERG or "uri" not in keys):
        raise ConfigError(
            f"{where} has no place", hint='give a root folder, a uri, or spark_catalog = "…"'
        )
    if "type" in keys and form is not TableFormat.ICEBERG:
        raise ConfigError(f"{where}: key type is for Iceberg only")


def _iceberg_type(uri: str | None) -> str:
    match (uri or "jdbc:").partition(":")[0]:
        case "http" | "https":
            return "rest"
        case "thrift":
            return "hive"
    return "jdbc"


def _absolute(base: Path, text: str) -> str:
    return text if "://" in text else str((base / Path(text).expanduser()).resolve())


def _absolute_uri(base: Path, uri: str) -> str:
    scheme = "jdbc:sqlite:"
    if uri.startswith(scheme):
        file, mark, parameters = uri.removeprefix(scheme).partition("?")
        place = file if file.startswith((":", "file:")) else _absolute(base, file)
        # WAL lets a reader of the catalog go on beside the writer.
        return f"{scheme}{place}?{parameters if mark else 'journal_mode=WAL'}"
    lake = _LAKE_FILE.fullmatch(uri)
    return f"{lake[1] or ''}{_absolute(base, lake[2])}" if lake else uri


def embedded(folder: Path) -> CatalogSettings:
    """The catalog of a project that describes none."""
    home = folder / HOME_NAME
    return CatalogSettings(
        name=EMBEDDED_CATALOG,
        format=TableFormat.ICEBERG,
        uri=f"jdbc:sqlite:{home}/catalog.db?journal_mode=WAL",
        root=f"{home}/warehouse",
        type="jdbc",
    )
