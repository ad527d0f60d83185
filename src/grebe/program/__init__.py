"""`compile_ivm`, the same rules as a self-contained SQL program for DuckLake, and its runner.

Parts are loaded when they are first used: whoever only attaches a catalog needs no compiler.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grebe.program.duckdb_judge import same_to
    from grebe.program.extensions import extension_file, load_extensions
    from grebe.program.make_program import compile_ivm
    from grebe.program.naming import Naming
    from grebe.program.program_view import MaterializedView
    from grebe.program.runner import Maintained, Views
    from grebe.program.utilities import (
        PendingMaintenance,
        SnapshotSafety,
        pending_maintenance_sql,
        safe_to_expire_sql,
    )

_ROOMS = {
    "Maintained": "runner",
    "MaterializedView": "program_view",
    "Naming": "naming",
    "PendingMaintenance": "utilities",
    "SnapshotSafety": "utilities",
    "Views": "runner",
    "compile_ivm": "make_program",
    "extension_file": "extensions",
    "load_extensions": "extensions",
    "pending_maintenance_sql": "utilities",
    "safe_to_expire_sql": "utilities",
    "same_to": "duckdb_judge",
}

__all__ = [
    "Maintained",
    "MaterializedView",
    "Naming",
    "PendingMaintenance",
    "SnapshotSafety",
    "Views",
    "compile_ivm",
    "extension_file",
    "load_extensions",
    "pending_maintenance_sql",
    "safe_to_expire_sql",
    "same_to",
]


def __getattr__(name: str) -> object:
    """A part of the room, loaded now."""
    if name not in _ROOMS:
        raise AttributeError(f'module "grebe.program" has no attribute "{name}"')
    return getattr(import_module(f"grebe.program.{_ROOMS[name]}"), name)
