"""Materialized views on the open lakehouse, kept equal to their query at the cost of what changed."""

from importlib import import_module
from typing import TYPE_CHECKING

from grebe.errors import GrebeError, UnsupportedSQLError
from grebe.model import Outcome, Policy, TableName, Window

if TYPE_CHECKING:
    from grebe.compiler.program import (
        MaterializedView,
        Naming,
        PendingMaintenance,
        SnapshotSafety,
        compile_ivm,
        pending_maintenance_sql,
        safe_to_expire_sql,
    )
    from grebe.compiler.program import MaterializedView as IVMPlan

__all__ = [
    "GrebeError",
    "IVMPlan",
    "MaterializedView",
    "Naming",
    "Outcome",
    "PendingMaintenance",
    "Policy",
    "SnapshotSafety",
    "TableName",
    "UnsupportedSQLError",
    "Window",
    "compile_ivm",
    "pending_maintenance_sql",
    "safe_to_expire_sql",
]


def __getattr__(name: str) -> object:
    """The compiler's part of the API, loaded when it is first used: parsers are slow to import."""
    if name not in __all__:
        raise AttributeError(f'module "grebe" has no attribute "{name}"')
    exported = "MaterializedView" if name == "IVMPlan" else name
    return getattr(import_module("grebe.compiler.program"), exported)
