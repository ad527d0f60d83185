"""A journal of views, runs and leases in SQLite or PostgreSQL. Correctness never depends on it.

Records load nothing; `Registry` loads SQLAlchemy when it is first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from grebe.registry.records import (
    CheckRecord,
    Counts,
    Lease,
    RunRecord,
    SourceRecord,
    ViewRecord,
)

if TYPE_CHECKING:
    from grebe.registry.journal import Registry

__all__ = [
    "CheckRecord",
    "Counts",
    "Lease",
    "Registry",
    "RunRecord",
    "SourceRecord",
    "ViewRecord",
]


def __getattr__(name: str) -> object:
    """The registry itself, loaded at first use: SQLAlchemy takes a third of a second."""
    if name != "Registry":
        raise AttributeError(f'module "grebe.registry" has no attribute "{name}"')
    return import_module("grebe.registry.journal").Registry
