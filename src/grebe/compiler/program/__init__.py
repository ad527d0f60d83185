"""compile_ivm: the same rules as a self-contained SQL program for DuckLake."""

from grebe.compiler.program.compile import compile_ivm
from grebe.compiler.program.naming import Naming
from grebe.compiler.program.utilities import (
    PendingMaintenance,
    SnapshotSafety,
    pending_maintenance_sql,
    safe_to_expire_sql,
)
from grebe.compiler.program.view import MaterializedView

__all__ = [
    "MaterializedView",
    "Naming",
    "PendingMaintenance",
    "SnapshotSafety",
    "compile_ivm",
    "pending_maintenance_sql",
    "safe_to_expire_sql",
]
