"""The rows of a view: now, or as it was at a version or a time of its own."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from grebe.engine.public_name import shown_storage
from grebe.errors import GrebeError, HistoryExpiredError, RefreshError
from grebe.model import TableName, Version
from grebe.sql_text import PREFIX, quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from grebe.engine.compiled_view import CompiledView
    from grebe.project.definitions import Definition
    from grebe.project.workspace import Workspace


def compile_one(workspace: Workspace, view: Definition) -> CompiledView:
    """A view compiled with all that it reads; nothing is written."""
    done, failed = workspace.builder.compile_all(workspace.written(), [view.key])
    if failed:
        raise next(iter(failed.values()))
    return done[view.key]


def read(workspace: Workspace, view: Definition, as_of: str | int | datetime | None) -> DataFrame:
    """The rows that a view shows: those of its public name, whatever its definition says by now.

    Raises:
        RefreshError: the view was never refreshed.
        HistoryExpiredError: there is no such version any more.
    """
    from grebe.engine.public import STORED

    storage = _storage(workspace, view)
    position = workspace.tables.position(storage, workspace.session) if storage else None
    if storage is None or position is None or position.frontier is None or not position.version:
        raise RefreshError(
            f'view "{view.name}" was never refreshed',
            hint=f"grebe refresh {view.name}",
            code="never-refreshed",
        )
    version = _version(workspace, view, storage, as_of) if as_of is not None else position.version
    rows = _at_version(workspace, view, storage, version)
    stored = f"WITH {quote(STORED)} AS (SELECT * FROM {rows})"
    return workspace.spark.sql(f"{stored}\n{_select(workspace, view, storage)}")


def _storage(workspace: Workspace, view: Definition) -> TableName | None:
    """The table behind the public name; of one that a run could not show yet, its own."""
    shown = shown_storage(view.name, workspace.tables.shown(view.name, workspace.session))
    return shown or (view.facts.storage if view.facts else None)


def _select(workspace: Workspace, view: Definition, storage: TableName) -> str:
    """What the storage table keeps as the SELECT of its view, else what the view says now."""
    from grebe.engine.public import PUBLIC, STORED, public_sql

    kept = workspace.tables.properties(storage, workspace.session) or {}
    if PUBLIC in kept:
        return kept[PUBLIC]
    made = compile_one(workspace, view)
    if made.storage_name != storage:
        raise RefreshError(
            f'view "{view.name}" has another definition than its rows',
            hint=f"grebe refresh {view.name}",
            code="definition-changed",
        )
    return public_sql(made, STORED)


def _version(
    workspace: Workspace, view: Definition, storage: TableName, as_of: str | int | datetime
) -> Version:
    moment = _moment(as_of)
    if moment is None:
        return Version(str(as_of))
    found = workspace.tables.version_at(storage, moment, workspace.session)
    if found is None:
        raise HistoryExpiredError(
            f'view "{view.name}" cannot be read as of "{as_of}"',
            detail="no version from that time or before is left",
            hint="`grebe history` names the runs",
        )
    return found


def _at_version(
    workspace: Workspace, view: Definition, storage: TableName, version: Version
) -> str:
    source = workspace.tables.source(storage, workspace.session)
    try:
        ids = [column.id for column in source.schema_at(version).columns]
        rows = source.read_at(version, ids)
    except (GrebeError, ValueError) as error:
        raise HistoryExpiredError(
            f'view "{view.name}" has no version "{version}"',
            detail=str(error),
            hint="`grebe history` names the runs",
        ) from error
    name = f"{PREFIX}read_{abs(hash((str(storage), version)))}"
    rows.createOrReplaceTempView(name)
    return quote(name)


def _moment(as_of: str | int | datetime) -> datetime | None:
    """The time that is meant; None when it is a version."""
    if isinstance(as_of, str) and not as_of.lstrip("-").isdecimal():
        try:
            as_of = datetime.fromisoformat(as_of)
        except ValueError:
            return None
    if not isinstance(as_of, datetime):
        return None
    return as_of if as_of.tzinfo else as_of.replace(tzinfo=UTC)
