"""DuckDB's extensions, loaded from installed packages: `LOAD name` alone would ask the network."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from grebe.errors import MissingExtraError
from grebe.program.duckdb_text import literal

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def load_extensions(connection: DuckDBPyConnection, *names: str) -> None:
    """Load extensions, `ducklake` unless others are named.

    Raises:
        MissingExtraError: when the package of an extension is not installed.
    """
    for name in names or ("ducklake",):
        connection.execute(f"LOAD {literal(str(extension_file(name)))}")


def extension_file(name: str) -> Path:
    """The file of an extension inside its package."""
    package = f"duckdb_extension_{name}"
    found = find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise MissingExtraError.of(package.replace("_", "-"), "ducklake")
    folder = Path(found.submodule_search_locations[0])
    files = sorted(folder.rglob(f"{name}.duckdb_extension"))
    if not files:
        raise MissingExtraError.of(package.replace("_", "-"), "ducklake")
    return files[-1]
