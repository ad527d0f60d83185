"""Views that a person stops and lets go on: kept in the registry, and with the view's own table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grebe.errors import GrebeError
from grebe.project.definitions import Definition
from grebe.registry import activity_rows, polls
from grebe.stored_properties import StoredProperties

if TYPE_CHECKING:
    from grebe.project.workspace import Workspace


def suspend(workspace: Workspace, view: Definition, reason: str) -> None:
    """Let no run of a view begin by itself any more."""
    said = reason.strip() or "a person stopped it"
    with workspace.registry.database.writing() as connection:
        activity_rows.suspend(connection, view.key, said)
    _keep(workspace, view, said)


def resume(workspace: Workspace, view: Definition) -> bool:
    """Let a view go on: it is due, and what failed is forgotten. False when it was not stopped."""
    with workspace.registry.database.writing() as connection:
        was = activity_rows.resume(connection, view.key)
    _keep(workspace, view, "")
    return was


def ask(workspace: Workspace, view: Definition) -> None:
    """Make a view due: whoever schedules refreshes it next."""
    with workspace.registry.database.writing() as connection:
        activity_rows.want(connection, view.key)


def hint(workspace: Workspace, source: str) -> None:
    """Say that a table moved: it is looked at next, and only what is seen counts.

    Raises:
        UnknownTableError: no view reads such a table.
    """
    name = str(workspace.settings.resolve(source))
    views = workspace.written()
    read = {table for view in views.values() for table in view.tables if table not in views}
    if name not in read:
        from grebe.errors import UnknownTableError

        raise UnknownTableError.named(name, sorted(read))
    with workspace.registry.database.writing() as connection:
        polls.hint(connection, name)


def _keep(workspace: Workspace, view: Definition, reason: str) -> None:
    """A lost registry is written again from the storage table, where that can be reached now."""
    if view.facts is None or view.facts.storage is None:
        return
    try:
        if workspace.tables.position(view.facts.storage, workspace.session) is None:
            return
        kept = StoredProperties(suspended=reason).to_properties()
        workspace.tables.keep(view.facts.storage, workspace.session, kept)
    except GrebeError as error:
        workspace.say(f"the table of {view.name} does not say so yet: {error}")
