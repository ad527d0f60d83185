"""Materialized views on the open lakehouse, kept equal to their query at the cost of what changed."""

from importlib import import_module
from typing import TYPE_CHECKING

from grebe.errors import GrebeError, UnsupportedSQLError
from grebe.model import Outcome, Policy, TableName, Window

if TYPE_CHECKING:
    __version__: str
    from grebe.api import Project, View
    from grebe.compiler.text.pinned_queries import (
        add_affected_keys_filter,
        create_composite_key_in_clause,
        prepare_refresh_query,
        rewrite_query_with_snapshots,
    )
    from grebe.program import (
        MaterializedView,
        Naming,
        PendingMaintenance,
        SnapshotSafety,
        compile_ivm,
        pending_maintenance_sql,
        safe_to_expire_sql,
    )
    from grebe.program import MaterializedView as IVMPlan
    from grebe.udf import (
        Fail,
        Retry,
        Skip,
        fail_fast,
        retry_all,
        retry_transient,
        skip_on_error,
        udf,
        vector,
    )

    open = Project.open  # noqa: A001  grebe.open() is how it is read

__all__ = [
    "Fail",
    "GrebeError",
    "IVMPlan",
    "MaterializedView",
    "Naming",
    "Outcome",
    "PendingMaintenance",
    "Policy",
    "Project",
    "Retry",
    "Skip",
    "SnapshotSafety",
    "TableName",
    "UnsupportedSQLError",
    "View",
    "Window",
    "add_affected_keys_filter",
    "compile_ivm",
    "create_composite_key_in_clause",
    "fail_fast",
    "open",
    "pending_maintenance_sql",
    "prepare_refresh_query",
    "retry_all",
    "retry_transient",
    "rewrite_query_with_snapshots",
    "safe_to_expire_sql",
    "skip_on_error",
    "udf",
    "vector",
]


_FACE = ("Project", "View", "open")
_PINNED = (
    "add_affected_keys_filter",
    "create_composite_key_in_clause",
    "prepare_refresh_query",
    "rewrite_query_with_snapshots",
)


_FUNCTIONS = (
    "Fail",
    "Retry",
    "Skip",
    "fail_fast",
    "retry_all",
    "retry_transient",
    "skip_on_error",
    "udf",
    "vector",
)


def __getattr__(name: str) -> object:
    """The larger parts of the API, loaded when they are first used: parsers are slow to import."""
    if name == "__version__":
        return import_module("importlib.metadata").version("grebe")
    if name == "load_ipython_extension":  # what `%load_ext grebe` looks for
        return import_module("grebe.integrations.ipython").load_ipython_extension
    if name not in __all__:
        raise AttributeError(f'module "grebe" has no attribute "{name}"')
    if name in _FACE:
        api = import_module("grebe.api")
        return api.Project.open if name == "open" else getattr(api, name)
    if name in _PINNED:
        return getattr(import_module("grebe.compiler.text.pinned_queries"), name)
    if name in _FUNCTIONS:
        return getattr(import_module("grebe.udf"), name)
    exported = "MaterializedView" if name == "IVMPlan" else name
    return getattr(import_module("grebe.program"), exported)
