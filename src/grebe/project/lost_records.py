"""Whether a registry was lost: tables of the project that no record names."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from grebe.errors import GrebeError
from grebe.project.ownership import PROPERTY, known_id
from grebe.stored_properties import KEYS

if TYPE_CHECKING:
    from grebe.project.workspace import Workspace


class _NotAskedError(Exception):
    """Only Spark could tell."""


def _nobody() -> NoReturn:
    raise _NotAskedError


def tables_without_record(workspace: Workspace) -> int:
    """How many storage tables of this project a new registry knows nothing of; looked at without Spark.

    A registry that knows any view is not asked: what it lacks is no loss of all.
    """
    own, found = known_id(workspace.settings), 0
    if own is None or workspace.records():
        return 0
    for catalog in workspace.settings.catalogs:
        try:
            for table in workspace.tables.stored(catalog.name, _nobody):
                properties = workspace.tables.properties(table, _nobody) or {}
                found += KEYS["view"] in properties and properties.get(PROPERTY, own) == own
        except (GrebeError, _NotAskedError):
            continue
    return found
