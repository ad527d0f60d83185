"""Can a view's storage table still be used, whatever somebody did to it?

One that cannot is given up: the rows go into another table beside it, and the public name moves.
So no state of a table exists that a full refresh does not lead out of, and readers see what they
saw until then.
"""

from __future__ import annotations

from grebe.engine.compiled_view import GENERATIONS, CompiledView
from grebe.engine.tables import Tables
from grebe.errors import GrebeError, InternalError, UnknownTableError
from grebe.formats.base import Session
from grebe.model import Position, Reason, Schema, TableName

ALTERED = "foreign-write"
UNREADABLE = "storage-unreadable"
_WIDER = {"tinyint": "int", "smallint": "int"}
"""Types that a format may keep as wider ones."""


def is_there(name: TableName, tables: Tables, spark: Session) -> bool:
    """Whether there is a storage table, be it one that nobody can read."""
    try:
        return tables.position(name, spark) is not None
    except GrebeError:
        return True


def altered(
    view: CompiledView, position: Position, tables: Tables, spark: Session
) -> Reason | None:
    """Why rows of the view no longer fit into its storage table, if so.

    Raises:
        GrebeError: the table cannot be read.
    """
    if position.frontier is not None and not (position.foreign or position.unproven):
        return None  # whoever changes columns shows in the table's own history
    try:
        found = tables.source(view.storage_name, spark).head().schema
    except UnknownTableError:
        return None
    if found.names == view.stored.names and not (position.foreign and _retyped(view, found)):
        return None
    message = f"somebody else changed the columns of {view.storage_name.name}"
    return Reason(ALTERED, f"{message}: {', '.join(found.names)}")


def next_usable(view: CompiledView, tables: Tables, spark: Session) -> CompiledView:
    """The view in the next of its tables that is not there yet, or is as it was made."""
    for generation in range(view.definition.generation + 1, GENERATIONS):
        made = view.next_generation(generation)
        try:
            position = tables.position(made.storage_name, spark)
            if position is None or altered(made, position, tables, spark) is None:
                return made
        except GrebeError:  # broken as well
            continue
    raise InternalError.broken(f"all storage tables of {view.name} were broken")


def _retyped(view: CompiledView, found: Schema) -> bool:
    own = [_kept(column.type) for column in view.stored.columns]
    return own != [_kept(column.type) for column in found.columns]


def _kept(kind: str) -> str:
    return _WIDER.get(kind, kind)
