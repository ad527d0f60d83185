"""A DuckLake catalog in a folder that was copied or moved: its files are found below one path."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from grebe.errors import MissingExtraError, SourceError
from grebe.formats.ducklake.catalog import address_of
from grebe.formats.moved_folders import Move, MovedTables, first_former
from grebe.model import CatalogAddress

_WITH_PATHS = (
    "ducklake_schema",
    "ducklake_table",
    "ducklake_data_file",
    "ducklake_delete_file",
    "ducklake_files_scheduled_for_deletion",
)
Run = Callable[[str, list[object]], list[tuple[Any, ...]]]


def catalog_file(place: CatalogAddress) -> Path | None:
    """The file that a catalog is; None for one in a server."""
    address = address_of(place)
    return None if address.kind == "postgres" else Path(address.metadata)


def is_embedded(place: CatalogAddress, folder: str) -> bool:
    """Whether the list of tables lies in the folder."""
    file = catalog_file(place)
    return file is not None and file.is_relative_to(folder)


def stray(place: CatalogAddress, folder: str) -> str | None:
    """The folder that the catalog names in place of this one; None: it names this, or nothing."""
    file = catalog_file(place)
    if file is None or not file.is_file():
        return None
    try:
        with _opened(place, file, writes=False) as run:
            return first_former([path.rstrip("/") for path in _data_paths(run)], folder)
    except (SourceError, MissingExtraError):
        return None  # whoever opens the catalog tells what is wrong with it


def outside(place: CatalogAddress, move: Move) -> list[str]:
    """The folder of all files, where it lies elsewhere than the catalog."""
    file = catalog_file(place)
    if file is None or not file.is_file():
        return []
    with _opened(place, file, writes=False) as run:
        return [
            path
            for path in _data_paths(run)
            if not move.touches(path) and not path.startswith(f"{move.new}/")
        ]


def adopt(place: CatalogAddress, move: Move) -> MovedTables:
    """The catalog, with the folder of its files where they are: one transaction."""
    done = MovedTables()
    file = catalog_file(place)
    if file is None or not file.is_file():
        return done
    with _opened(place, file, writes=True) as run:
        run("BEGIN", [])
        for path in [path for path in _data_paths(run) if move.touches(path)]:
            run(
                "UPDATE ducklake_metadata SET value = ? WHERE key = 'data_path' AND value = ?",
                [move.of(path), path],
            )
            done.tables.append(f"{place.catalog} (DuckLake)")
        for table in _WITH_PATHS:
            for (path,) in _absolute(run, table):
                if move.touches(str(path)):
                    run(
                        f"UPDATE {table} SET path = ? WHERE path = ? AND NOT path_is_relative",
                        [move.of(str(path)), path],
                    )
        run("COMMIT", [])
    return done


def _data_paths(run: Run) -> list[str]:
    return [
        str(row[0])
        for row in run("SELECT value FROM ducklake_metadata WHERE key = 'data_path'", [])
    ]


def _absolute(run: Run, table: str) -> list[tuple[Any, ...]]:
    return run(f"SELECT DISTINCT path FROM {table} WHERE NOT path_is_relative", [])


@contextmanager
def _opened(place: CatalogAddress, file: Path, *, writes: bool) -> Iterator[Run]:
    """The catalog's own tables, without DuckLake: it would refuse a folder that is not there."""
    if address_of(place).kind == "sqlite":
        with _sqlite(file, writes=writes) as run:
            yield run
    else:
        with _duckdb(file, writes=writes) as run:
            yield run


@contextmanager
def _sqlite(file: Path, *, writes: bool) -> Iterator[Run]:
    uri = f"{file.as_uri()}?mode={'rw' if writes else 'ro'}"
    try:
        with closing(sqlite3.connect(uri, uri=True, timeout=10, isolation_level=None)) as found:
            yield lambda sql, values: found.execute(sql, values).fetchall()
    except sqlite3.Error as error:
        raise _unusable(file, error) from error


@contextmanager
def _duckdb(file: Path, *, writes: bool) -> Iterator[Run]:
    try:
        import duckdb
    except ImportError as error:
        raise MissingExtraError.of("duckdb", "ducklake") from error
    try:
        with duckdb.connect(str(file), read_only=not writes) as found:
            yield lambda sql, values: found.execute(sql, values).fetchall()
    except duckdb.Error as error:
        raise _unusable(file, error) from error


def _unusable(file: Path, error: Exception) -> SourceError:
    detail = str(error).partition("\n")[0]
    return SourceError(f'the DuckLake catalog "{file}" cannot be used', detail=detail)
